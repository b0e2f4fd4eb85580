import { closeSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { type CopyTarget, copyFile, copyLink } from "./copy-entry.js";
import type { WorkspaceHandle } from "./descriptor-walk.js";
import { makeDirectories } from "./descriptor-walk.js";
import type { RelativePath } from "./relative-path.js";

const ENTRIES_PER_SLICE = 64;

/** A file or link of the host, and where it goes in the workspace. */
export interface Copy {
  readonly from: CopyTarget;
  readonly to: RelativePath;
}

/** Where a bootstrap puts what it copies. `denyWrite` does not apply: this is how protected files get there. */
export interface BootstrapTarget {
  /** Parents come before their children; one that is there is fine. */
  makeDirectories(paths: readonly RelativePath[]): Promise<void>;
  /** With their modes. What stands at a target is replaced. */
  copyFiles(copies: readonly Copy[]): Promise<void>;
  /** Only links that stay inside their own tree. */
  copyLinks(copies: readonly Copy[]): Promise<void>;
}

/** Copies from descriptor to descriptor; modification times are kept. */
export function createDescriptorTarget(workspace: WorkspaceHandle): BootstrapTarget {
  const { owner } = workspace;
  return {
    makeDirectories: (paths) =>
      inSlices(paths, ({ components }) =>
        closeSync(makeDirectories(workspace.descriptor, components, owner)),
      ),
    copyFiles: (copies) =>
      inSlices(copies, ({ from, to }) => copyFile(from, { fd: workspace.descriptor, path: to }, owner)),
    copyLinks: (copies) =>
      inSlices(copies, ({ from, to }) => copyLink(from, { fd: workspace.descriptor, path: to }, owner)),
  };
}

/** Other sessions get their turn in between. */
async function inSlices<T>(items: readonly T[], action: (item: T) => void): Promise<void> {
  for (const [index, item] of items.entries()) {
    if (index % ENTRIES_PER_SLICE === ENTRIES_PER_SLICE - 1) await setImmediate();
    action(item);
  }
}

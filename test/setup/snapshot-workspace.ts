import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";
import { RunnerWorkspace } from "../../src/runtime/sandbox/guest-files/runner-workspace.js";
import { AgentWorkspace, type FileRules, type WorkspaceFiles } from "../../src/runtime/workspace/index.js";
import { keepTree } from "../../src/runtime/workspace/snapshots/keep-tree.js";
import { type RestoreReport, restoreTree } from "../../src/runtime/workspace/snapshots/restore-tree.js";
import type { SnapshotInfo, SnapshotLimits } from "../../src/runtime/workspace/snapshots/snapshot.js";
import { type AddOptions, SnapshotStore } from "../../src/runtime/workspace/snapshots/snapshot-store.js";
import { temporaryDirectory } from "./clean-up.js";
import { type StartedGuest, startGuest } from "./start-guest.js";

export const LIMITS: SnapshotLimits = { maxBytes: 64 * 2 ** 20, maxFiles: 10_000, maxStoredBytes: 2 ** 30 };

/** A workspace, and beside it the store of its snapshots. */
export class SnapshotWorkspace {
  readonly base = temporaryDirectory();
  readonly root = join(this.base, "workspace");
  readonly directory = join(this.base, "snapshots");
  #guest: StartedGuest | undefined;

  constructor() {
    mkdirSync(this.root);
  }

  /** Its files as a sandbox without a shared directory has them; these programs stand before its own. */
  async throughGuest(rules: FileRules = {}, programs: Record<string, string> = {}): Promise<WorkspaceFiles> {
    this.#guest ??= await startGuest(this.base, programs);
    return new RunnerWorkspace(this.#guest, rules);
  }

  async directly(rules: FileRules = {}): Promise<WorkspaceFiles> {
    return AgentWorkspace.open(this.root, rules);
  }

  /** Another one is as good as another process's. */
  store(limits: Partial<SnapshotLimits> = {}): SnapshotStore {
    return new SnapshotStore(() => this.directory, { ...LIMITS, ...limits });
  }

  async stop(): Promise<void> {
    await this.#guest?.stop();
    this.#guest = undefined;
  }

  /** Contents on disk, and whatever is neither a snapshot nor the lock. */
  onDisk(): { readonly blobs: string[]; readonly others: string[] } {
    const isBlob = (path: string) => /^[0-9a-f]{2}\/[0-9a-f]{64}$/.test(path);
    const paths = readdirSync(join(this.directory, "blobs"), { recursive: true, encoding: "utf8" });
    const known = /^(?:snap-[0-9a-f]{16}\.(?:json|entries)|blobs|writer)$/;
    return {
      blobs: paths
        .filter(isBlob)
        .map((path) => path.slice(3))
        .sort(),
      others: readdirSync(this.directory).filter((name) => !known.test(name)),
    };
  }
}

export let kept: SnapshotWorkspace;

/** Every test of the file has one of its own. */
export function useSnapshotWorkspace(): void {
  beforeEach(() => {
    kept = new SnapshotWorkspace();
  });
  afterEach(() => kept.stop());
}

/** Takes a snapshot of a workspace. */
export function keep(
  store: SnapshotStore,
  { tree }: WorkspaceFiles,
  options: Partial<AddOptions> & { readonly excluded?: readonly string[]; readonly timeoutMs?: number } = {},
): Promise<SnapshotInfo> {
  const { excluded = [], timeoutMs, signal, ...rest } = options;
  return store.add({ sessionId: "test", signal, ...rest }, (stage) =>
    keepTree(tree, stage, { limits: store.limits, excluded: new Set(excluded), signal, timeoutMs }),
  );
}

/** Brings it back. */
export async function bringBack(
  store: SnapshotStore,
  workspace: WorkspaceFiles,
  id: string,
  options: { readonly signal?: AbortSignal; readonly timeoutMs?: number } = {},
): Promise<RestoreReport> {
  const snapshot = await store.open(id);
  try {
    return await restoreTree(workspace.tree, snapshot.entries(), {
      limits: store.limits,
      isProtected: (path) => workspace.isProtected(path),
      content: (content) => snapshot.content(content),
      ...options,
    });
  } finally {
    await snapshot.close();
  }
}

/** Every snapshot has all of its contents, and nothing else is on disk. */
export async function assertSound(place: Pick<SnapshotWorkspace, "store" | "onDisk">): Promise<void> {
  const store = place.store();
  const named = new Set<string>();
  for (const { id } of await store.list()) {
    const snapshot = await store.open(id);
    for await (const entry of snapshot.entries()) {
      if (entry.type !== "file") continue;
      named.add(entry.sha256);
      // Throws where it is not what was kept.
      for await (const _ of snapshot.content(entry));
    }
    await snapshot.close();
  }
  expect(place.onDisk()).toEqual({ blobs: [...named].sort(), others: [] });
}

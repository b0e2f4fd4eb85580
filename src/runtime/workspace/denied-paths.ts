import { SandboxError } from "../../kit/errors.js";
import { compileGlob, type PathMatcher } from "../../kit/glob.js";
import { textOf } from "./byte-name.js";
import { quoted } from "./file-errors.js";
import { scanTree } from "./tree-scan.js";

/** Looking for protected files in a tree stops here, and then refuses: it fails closed. */
export const DENIED_SCAN = { maxEntries: 100_000, maxDepth: 64, recursive: true };

/** The paths that our own API neither writes nor removes. What the guest itself does is the backend's matter. */
export class DeniedPaths {
  readonly #matchers: readonly PathMatcher[];

  constructor(patterns: readonly string[]) {
    this.#matchers = patterns.map(compileGlob);
  }

  /** Throws FILE_DENIED when the path, or a directory above it, is denied. */
  refuse(components: readonly string[]): void {
    if (this.covers(components)) throw denied(components.join("/"));
  }

  /** True when the path, or a directory above it, is denied. */
  covers(components: readonly string[]): boolean {
    if (this.#matchers.length === 0) return false;
    return components.some((_, index) => {
      const path = components.slice(0, index + 1).join("/");
      return this.#matchers.some((matches) => matches(path));
    });
  }

  /** False: nothing is denied, and no tree needs to be looked through. */
  get any(): boolean {
    return this.#matchers.length > 0;
  }

  /** Throws FILE_DENIED when something inside the directory is denied, or when that cannot be found out. */
  refuseBeneath(directoryFd: number, path: string): void {
    if (this.#matchers.length === 0) return;
    const truncated = scanTree(directoryFd, DENIED_SCAN, (_handle, relative) => {
      this.#refuseInside(`${path}/${textOf(relative)}`);
      return true;
    });
    refuseUnseen(truncated, path);
  }

  /** The same for a tree that is already listed. */
  refuseListed(paths: Iterable<string>, truncated: boolean, path: string): void {
    for (const inside of paths) this.#refuseInside(inside);
    refuseUnseen(truncated, path);
  }

  #refuseInside(path: string): void {
    if (this.#matchers.some((matches) => matches(path))) throw denied(path);
  }
}

function refuseUnseen(truncated: boolean, path: string): void {
  if (truncated) throw denied(path, "it is too large to look for protected files");
}

function denied(path: string, why = "it is protected"): SandboxError {
  return new SandboxError("FILE_DENIED", `${quoted(path)} may not be written or removed: ${why}`, {
    hint: "Choose another path; `denyWrite` in the settings protects this one.",
  });
}

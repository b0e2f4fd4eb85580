import { lstatSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { systemCode } from "./errors.js";
import { unlessMissing } from "./if-missing.js";
import { isSharedOrphan } from "./process-label.js";

/** The file's name while no process holds the lock. Locks of earlier versions are on disks: it stays as it is. */
const FREE = "nobody";
const FOLDER = "writer";
/** A folder that old and not in place was left by a killed process. */
const LONGEST_INSTALL_MS = 60 * 60 * 1000;

/**
 * A lock among processes; the lock of a killed process is taken over. Node has no flock, so the lock is the name of a
 * file: `writer/nobody` while it is free, else `writer/` and the holder's label. Of two processes that rename the same
 * name one finds it gone. A rename is also the cheapest change of a directory: making and removing a file costs ten
 * times as much.
 */
export class FileLock {
  readonly #folder: string;
  readonly #label: string;
  #hasTidied = false;

  constructor(directory: string, label: string) {
    this.#folder = join(directory, FOLDER);
    this.#label = label;
  }

  /** True: this process holds it until `release`. False: another living process does. */
  tryAcquire(): boolean {
    if (!this.#hasTidied) this.#removeUnfinished();
    if (this.#rename(FREE, this.#label)) return true;
    const names = namesIn(this.#folder);
    if (names.length === 0) {
      this.#install();
      return this.#rename(FREE, this.#label);
    }
    // A release that failed left it with us.
    if (names.includes(this.#label)) return true;
    return names.some((name) => this.#isGone(name) && this.#rename(name, this.#label));
  }

  release(): void {
    this.#rename(this.#label, FREE);
  }

  /** False when there is no such name (any more). */
  #rename(from: string, to: string): boolean {
    return unlessMissing(false, () => {
      renameSync(join(this.#folder, from), join(this.#folder, to));
      return true;
    });
  }

  /** Puts the folder in place with the file in it. A folder that has one is never replaced, so there is only one. */
  #install(): void {
    const fresh = mkdtempSync(`${this.#folder}-${this.#label}-`);
    try {
      writeFileSync(join(fresh, FREE), "", { mode: 0o600 });
      renameSync(fresh, this.#folder);
    } catch (error) {
      rmSync(fresh, { recursive: true, force: true });
      const code = systemCode(error);
      // ENOENT: this process was stopped for so long that another took it for dead.
      if (code !== "ENOTEMPTY" && code !== "EEXIST" && code !== "ENOENT") throw error;
    }
  }

  /** Removes folders of processes that were killed before they put them in place. */
  #removeUnfinished(): void {
    this.#hasTidied = true;
    const directory = dirname(this.#folder);
    const prefix = `${FOLDER}-`;
    for (const name of namesIn(directory).filter((each) => each.startsWith(prefix))) {
      const path = join(directory, name);
      try {
        const madeAt = lstatSync(path).mtimeMs;
        if (isSharedOrphan(name.slice(prefix.length), madeAt) || Date.now() - madeAt > LONGEST_INSTALL_MS)
          rmSync(path, { recursive: true, force: true });
      } catch {
        // Another process removes it, or it cannot be removed: neither is a reason not to write.
      }
    }
  }

  /** A rename changes `ctime`: it is when the lock was taken. */
  #isGone(name: string): boolean {
    const taken = lstatSync(join(this.#folder, name), { throwIfNoEntry: false })?.ctimeMs;
    return taken !== undefined && isSharedOrphan(name, taken);
  }
}

function namesIn(path: string): string[] {
  return unlessMissing([], () => readdirSync(path));
}

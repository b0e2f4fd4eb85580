import { lstatSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { systemCode } from "./errors.js";
import { isMakerGone } from "./maker-label.js";

const FREE = "nobody";
const FOLDER = "writer";
/** Whoever made a folder that long ago will not put it in place any more. */
const LONGEST_INSTALL_MS = 60 * 60 * 1000;

/**
 * One writer at a time, among processes; the lock of a killed one is taken over. Node has no flock, so the lock is the
 * name of a file: `writer/nobody`, or `writer/` and the label of who has it. A rename changes it in one step, and of
 * two who rename the same name one finds it gone. It also is the cheapest thing to do to a directory: making and
 * removing a file costs ten times as much.
 */
export class AppendLock {
  readonly #folder: string;
  readonly #label: string;
  #hasTidied = false;

  constructor(directory: string, label: string) {
    this.#folder = join(directory, FOLDER);
    this.#label = label;
  }

  /** True: it is ours until `release`. False: somebody living has it. */
  tryAcquire(): boolean {
    if (!this.#hasTidied) this.#removeUnfinished();
    if (this.#rename(FREE, this.#label)) return true;
    const names = namesIn(this.#folder);
    if (names.length === 0) {
      this.#install();
      return this.#rename(FREE, this.#label);
    }
    // One that is ours already is what a release could not give back.
    if (names.includes(this.#label)) return true;
    return names.some((name) => this.#isGone(name) && this.#rename(name, this.#label));
  }

  release(): void {
    this.#rename(this.#label, FREE);
  }

  /** False when there is no such name (any more). */
  #rename(from: string, to: string): boolean {
    try {
      renameSync(join(this.#folder, from), join(this.#folder, to));
      return true;
    } catch (error) {
      if (systemCode(error) === "ENOENT") return false;
      throw error;
    }
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
      // ENOENT: we were stopped for so long that somebody took us for dead.
      if (code !== "ENOTEMPTY" && code !== "EEXIST" && code !== "ENOENT") throw error;
    }
  }

  /** Removes the folders of those who were killed before they had put them in place. */
  #removeUnfinished(): void {
    this.#hasTidied = true;
    const directory = dirname(this.#folder);
    const prefix = `${FOLDER}-`;
    for (const name of namesIn(directory).filter((each) => each.startsWith(prefix))) {
      const path = join(directory, name);
      try {
        const madeAt = lstatSync(path).mtimeMs;
        if (isMakerGone(name.slice(prefix.length), madeAt) || Date.now() - madeAt > LONGEST_INSTALL_MS)
          rmSync(path, { recursive: true, force: true });
      } catch {
        // Somebody else removes it, or it cannot be: neither is a reason not to write.
      }
    }
  }

  /** A rename changes `ctime`: it is when the lock was taken. */
  #isGone(name: string): boolean {
    const taken = lstatSync(join(this.#folder, name), { throwIfNoEntry: false })?.ctimeMs;
    return taken !== undefined && isMakerGone(name, taken);
  }
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return [];
    throw error;
  }
}

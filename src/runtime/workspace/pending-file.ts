import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  linkSync,
  openSync,
  renameSync,
  unlinkSync,
} from "node:fs";
import { systemCode } from "../../kit/errors.js";
import { beneath, type Owner } from "./descriptor-walk.js";

/** What a process that was killed while it wrote left behind. */
const UNFINISHED = /^\.skerry-[0-9a-f]{18}\.tmp$/;
const STALE_MS = 3_600_000;
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Creates a file that was not there; the caller closes the descriptor. A link at the name is EEXIST. */
export function createFile(
  directoryFd: number,
  name: string,
  mode: number,
  owner: Owner | undefined,
): number {
  const path = beneath(directoryFd, name);
  const fd = openSync(path, CREATE, mode);
  try {
    if (owner !== undefined) fchownSync(fd, owner.uid, owner.gid);
    // After the change of owner, and free of the umask.
    fchmodSync(fd, mode);
    return fd;
  } catch (error) {
    closeSync(fd);
    removeQuietly(directoryFd, name);
    throw error;
  }
}

/** True for the name of a file that was not, or not yet, written whole. */
export function isUnfinished(name: string): boolean {
  return UNFINISHED.test(name);
}

/** Removes such a file when no process can still be writing it. True: it is gone. */
export function removeIfStale(handle: string | Buffer, ctimeMs: number): boolean {
  // Only the kernel sets this time.
  if (Date.now() - ctimeMs <= STALE_MS) return false;
  try {
    unlinkSync(handle);
  } catch (error) {
    // Another process removed it first.
    if (systemCode(error) !== "ENOENT") throw error;
  }
  return true;
}

/** Removes a file we made. It is the guest's directory: whatever it put there instead is its own loss. */
export function removeQuietly(directoryFd: number, name: string): void {
  try {
    unlinkSync(beneath(directoryFd, name));
  } catch {
    // Already gone, or replaced by a directory.
  }
}

/**
 * A file being written beside its target. A reader never sees half of it, and whatever stands at the target (a link, a
 * FIFO, a file shared by hard link) is replaced, never written through. Ends with `commit` or `discard`.
 */
export class PendingFile {
  readonly fd: number;
  readonly #directoryFd: number;
  readonly #name = `.skerry-${randomBytes(9).toString("hex")}.tmp`;
  #open = true;

  constructor(directoryFd: number, mode: number, owner: Owner | undefined) {
    this.#directoryFd = directoryFd;
    this.fd = createFile(directoryFd, this.#name, mode, owner);
  }

  /** Puts the file at its name; `exclusive` fails with EEXIST when something is there. */
  commit(target: string, exclusive: boolean): void {
    const from = beneath(this.#directoryFd, this.#name);
    const to = beneath(this.#directoryFd, target);
    try {
      this.#close();
      if (exclusive) linkSync(from, to);
      else renameSync(from, to);
    } catch (error) {
      this.discard();
      throw error;
    }
    if (exclusive) this.discard();
  }

  /** Leaves no trace of the file. */
  discard(): void {
    this.#close();
    removeQuietly(this.#directoryFd, this.#name);
  }

  #close(): void {
    if (!this.#open) return;
    this.#open = false;
    closeSync(this.fd);
  }
}

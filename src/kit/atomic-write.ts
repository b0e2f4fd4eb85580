import { randomBytes } from "node:crypto";
import { closeSync, fchmodSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";

/** Replaces a file whole or not at all: a reader sees the old text or the new one, also after a power cut. */
export function writeFileAtomic(path: string, text: string, { mode = 0o600 } = {}): void {
  const unfinished = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    writeNewFile(unfinished, text, { mode });
    renameSync(unfinished, path);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
}

/** Writes a file that was not there, and has its bytes on disk: a name that survives a power cut never leads to an empty file. */
export function writeNewFile(path: string, text: string, { mode = 0o600 } = {}): void {
  const fd = openSync(path, "wx", 0o600);
  try {
    // Free of the umask.
    fchmodSync(fd, mode);
    writeFileSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

import { chmodSync, closeSync, mkdirSync, openSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { SandboxError, systemCode } from "../../kit/errors.js";
import { diskFull, storeFailed } from "./failures.js";

/**
 * Only this user may read the file: it has hashes of keys, and approval requests. SQLite's other files take its
 * mode. A file that is there is never opened here: closing it again would drop every lock that SQLite holds on it in this
 * process, and then another process may remove what is not in the database yet.
 */
export function prepareFile(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const stat = look(path) ?? create(path);
    if (!stat.isFile())
      throw storeFailed("The store's path is not a regular file", { hint: "Name a file, or a new one." });
    if ((stat.mode & 0o077) !== 0) chmodSync(path, 0o600);
  } catch (cause) {
    if (cause instanceof SandboxError) throw cause;
    const code = systemCode(cause);
    if (code === "ENOSPC") throw diskFull(cause);
    throw storeFailed(`The store's file cannot be opened (${code ?? "unknown"})`, {
      hint: "Check that this user may write to it and to its directory.",
      cause,
    });
  }
}

function look(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

function create(path: string): Stats {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    // Another process was first.
    if (systemCode(error) !== "EEXIST") throw error;
  }
  return statSync(path);
}

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "../../kit/atomic-write.js";
import { SandboxError } from "../../kit/errors.js";
import { FileLock } from "../../kit/file-lock.js";
import { unlessMissing } from "../../kit/if-missing.js";
import { processLabel } from "../../kit/process-label.js";
import { serverDirectory } from "./configured-store.js";

/** The lock of a running server on its state directory. */
export interface ServerDirectoryLock {
  /** The same at every start from this directory: what the store calls this server. */
  readonly id: string;
  release(): void;
}

const ID = /^[0-9a-f]{24}$/;

/** Locks the directory. CONFLICT: another server runs from it. The lock of a killed server is taken over. */
export function lockServerDirectory(stateDir: string): ServerDirectoryLock {
  const directory = serverDirectory(stateDir);
  const lock = new FileLock(directory, processLabel(randomBytes(6).toString("hex")));
  if (!lock.tryAcquire()) {
    throw new SandboxError("CONFLICT", "Another server runs from this state directory", {
      hint: "Stop it first, or give this one a state directory of its own with SKERRY_STATE_DIR.",
    });
  }
  try {
    return {
      id: readId(directory),
      release: () => lock.release(),
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

function readId(directory: string): string {
  const path = join(directory, "id");
  const id = readText(path);
  if (id !== undefined && ID.test(id)) return id;
  const made = randomBytes(12).toString("hex");
  writeFileAtomic(path, made);
  return made;
}

function readText(path: string): string | undefined {
  return unlessMissing(undefined, () => readFileSync(path, "utf8").trim());
}

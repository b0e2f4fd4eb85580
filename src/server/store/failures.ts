import { SandboxError } from "../../kit/errors.js";

/** The database did not do what it was asked, through no fault of the caller. */
export function storeFailed(message: string, init: { hint?: string; cause?: unknown } = {}): SandboxError {
  return new SandboxError("STORE_FAILED", message, init);
}

/** After `close`. */
export function storeClosed(): SandboxError {
  return storeFailed("The store is closed", { hint: "Open it again." });
}

/** Something of that name is there already. */
export function nameTaken(cause?: unknown): SandboxError {
  return new SandboxError("CONFLICT", "That name is already taken", {
    hint: "Choose another name.",
    cause,
  });
}

/** The disk under the database is full. */
export function diskFull(cause: unknown): SandboxError {
  return new SandboxError("DISK_FULL", "The store cannot be written: its disk is full", {
    hint: "Make room on the disk that the database is on.",
    cause,
  });
}

/** Random, so that two concurrent callers do not collide again. */
export function pause(attempt: number): Promise<void> {
  const longestMs = Math.min(2 ** attempt, 64);
  return new Promise((resolve) => setTimeout(resolve, Math.random() * longestMs));
}

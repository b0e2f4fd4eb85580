import type { SandboxError } from "../../../kit/errors.js";

/** Whether changes went with a sandbox, and whether somebody knows. */
export class UnsavedFiles {
  /** Why they are not on this host; undefined: they are. */
  failure: SandboxError | undefined;
  /** Somebody asked for the stop, and was or will be told by it. */
  isTold = false;
}

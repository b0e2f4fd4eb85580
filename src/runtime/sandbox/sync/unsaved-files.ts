import type { SandboxError } from "../../../kit/errors.js";

/** Whether changes were lost with a sandbox, and whether that was reported. */
export class UnsavedFiles {
  /** Why they are not on this host; undefined: they are. */
  failure: SandboxError | undefined;
  /** A caller asked for the stop, and learns of it from that. */
  isTold = false;
}

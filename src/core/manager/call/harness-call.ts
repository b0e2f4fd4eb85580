import type { Harness } from "../../../runtime/sandbox/index.js";
import type { CallPart } from "./call-parts.js";

/**
 * Runs a call's code by a harness instead of as a program, in a sandbox that is thrown away; of a session the call has the
 * name only. What is decided about, shown and remembered is the code, never the harness.
 */
export interface CallHarness extends Harness {
  /** What the record calls it. */
  readonly name: string;
  /** Code that the harness is told besides the call's own: assessed and shown like it. */
  readonly scripts?: readonly CallPart[];
  /**
   * Awaited when the call was agreed to, before there is a sandbox. Reject to let it go: a call that belongs to another
   * does not run without it. `isolates`: whether its walls are any.
   */
  mayStart?(about: { readonly isolates: boolean }): Promise<void>;
}

import type { RunRequest } from "../../wire/index.js";

/** A program given as text that is ready to run. */
export interface PreparedProgram {
  readonly request: Omit<RunRequest, "env" | "cwd">;
  /** Called when the program has ended; the result waits for it. Never throws. */
  readonly tidyUp?: () => Promise<void>;
  /** The error for the caller when it could not be run. */
  explain(error: unknown): unknown;
  /** Called once, whatever came of it. */
  release?(): Promise<void>;
}

import { checkCodeSize } from "../../../kit/code-limits.js";
import { SandboxError } from "../../../kit/errors.js";
import { checkExecOptions } from "../exec-options.js";

/** How one piece of code runs. */
export interface ContextRunOptions {
  /** Left out: the sandbox's. Code that is still running then is interrupted; if it does not end, the context does. */
  readonly timeoutMs?: number | undefined;
  /** What the code reads from its standard input; only Python's does. Left out: reading gives the end of file. */
  readonly stdin?: string | undefined;
  /** Interrupts it, and the result says `cancelled` whatever the code makes of it. */
  readonly signal?: AbortSignal | undefined;
  /** Code that prints more is interrupted. Left out: the sandbox's, or no limit when streaming. */
  readonly maxOutputBytes?: number | undefined;
  /** What all results of one run may have together; larger ones are left out. Default 16 MiB. */
  readonly maxResultBytes?: number | undefined;
}

/** A saved state of a context. It lives in the sandbox, counts against its limits, and goes with the context. */
export interface Checkpoint {
  readonly id: string;
  readonly createdAt: Date;
  /** The workspace's snapshot that was taken with it, where that was asked for. */
  readonly snapshotId?: string;
}

export interface CheckpointOptions {
  /** Also keep the workspace's files, for `rollback` to bring back. */
  readonly files?: boolean;
}

/** Less than what is taken as one message. */
const MAX_RESULT_BYTES = 48 * 1024 * 1024;

/** Refuses what makes no sense before it waits for its turn. */
export function checkContextRun(code: unknown, options: ContextRunOptions): void {
  if (typeof code !== "string") {
    throw new SandboxError("INVALID_ARGUMENT", "A context runs code, as text", {
      hint: 'For example context.run("1 + 1").',
    });
  }
  checkCodeSize(code);
  if (code.includes("\0")) {
    throw new SandboxError("INVALID_ARGUMENT", "Code cannot hold a NUL character", {
      hint: "Write it as an escape of the language.",
    });
  }
  if (options.stdin !== undefined && typeof options.stdin !== "string") {
    throw new SandboxError("INVALID_ARGUMENT", "The input of code in a context is a text", {
      hint: "Decode bytes, and read streams, before you pass them on.",
    });
  }
  checkExecOptions({ timeoutMs: options.timeoutMs, maxOutputBytes: options.maxOutputBytes });
  const { maxResultBytes } = options;
  if (maxResultBytes === undefined) return;
  if (Number.isSafeInteger(maxResultBytes) && maxResultBytes > 0 && maxResultBytes <= MAX_RESULT_BYTES)
    return;
  throw new SandboxError("INVALID_ARGUMENT", `maxResultBytes must be between 1 and ${MAX_RESULT_BYTES}`, {
    hint: "Leave it out for 16 MiB.",
  });
}

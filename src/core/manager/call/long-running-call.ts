import type { Readable } from "node:stream";
import { SandboxError } from "../../../kit/errors.js";
import type { CommandControls } from "../../../runtime/sandbox/index.js";
import { LongRunningOutput } from "./long-running-output.js";
import type { ToolResult } from "./tool-call.js";

/** A tool call that was allowed to begin, in the hands of its caller while it runs. */
export interface LongRunningHandle extends AsyncDisposable {
  /** Its result, once it is recorded and its sandbox released; rejects when the sandbox was lost. */
  readonly exit: Promise<ToolResult>;
  /** Ends it, as cancelled if it still runs; resolves when it is over. */
  close(): Promise<void>;
}

/** One on its way, for the manager that may have to end it. */
export interface LongRunningCall<Handle> {
  /** Rejects with POLICY_DENIED, CONFIRMATION_REJECTED or CANCELLED, or with why it could not start. */
  readonly opened: Promise<Handle>;
  /** Resolves when its record is written and nothing of it is left. */
  readonly over: Promise<void>;
  /** Cancels it wherever it is, and waits for its end. */
  close(): Promise<void>;
}

export interface LongRunningRequest<Handle> {
  /** What it is called where it did not begin. */
  readonly what: string;
  /** The hint for a caller whose policy forbids it. */
  readonly hint?: string;
  /** The caller's. */
  readonly signal: AbortSignal | undefined;
  /** How its output is read. */
  readonly output: LongRunningOutput["kind"];
  /** All the steps of a tool call; it ends with the sink's signal. */
  readonly run: (sink: LongRunningOutput) => Promise<ToolResult>;
  readonly toHandle: (handle: LongRunningHandle, controls: CommandControls, output: Readable) => Handle;
}

/** Takes something through the steps of every tool call, and hands it out while the fifth of them lasts. */
export function startLongRunning<Handle>(request: LongRunningRequest<Handle>): LongRunningCall<Handle> {
  const { signal } = request;
  const ending = new AbortController();
  const end = () => ending.abort();
  if (signal?.aborted) end();
  else signal?.addEventListener("abort", end, { once: true });
  const sink = new LongRunningOutput(request.output, ending);
  const exit = request.run(sink).finally(() => {
    signal?.removeEventListener("abort", end);
    sink.end();
  });
  const over = exit.then(
    () => undefined,
    () => undefined,
  );
  const close = () => {
    end();
    return over;
  };
  const opened = new Promise<Handle>((resolve, reject) => {
    const handle = { exit, close, [Symbol.asyncDispose]: close };
    sink.onStarted = (controls) => resolve(request.toHandle(handle, controls, sink.reader));
    // Of one that has begun, `exit` tells this.
    exit.then(async (result) => reject(await refusalOf(result, request)), reject);
  });
  return { opened, over, close };
}

/** A call that did not begin has no result: its caller gets the reason as an error. */
async function refusalOf(
  { reason, error = reason, confirmation, decision }: ToolResult,
  { what, hint }: Pick<LongRunningRequest<unknown>, "what" | "hint">,
): Promise<SandboxError> {
  if (reason === "cancelled") return new SandboxError("CANCELLED", error);
  if (reason === "denied")
    return new SandboxError("POLICY_DENIED", error, hint === undefined ? {} : { hint });
  if (reason === "rejected") {
    const { describeDecision } = await import("../../../guard/policy/index.js");
    const asked = decision?.verdict === "confirm" ? ` (${describeDecision(decision)})` : "";
    const by = confirmation?.by === undefined ? "" : ` by ${confirmation.by}`;
    return new SandboxError("CONFIRMATION_REJECTED", `rejected${by}: ${error}${asked}`);
  }
  return new SandboxError("EXECUTION_FAILED", `The ${what} ended before it started: ${error}`);
}

import type { Readable } from "node:stream";
import { type SendableSignal, sendableSignal } from "../../../runtime/sandbox/index.js";
import type { Guards } from "./guards.js";
import { type LongRunningCall, type LongRunningHandle, startLongRunning } from "./long-running-call.js";
import { runToolCall } from "./run-tool-call.js";
import type { ToolCall } from "./tool-call.js";

/** Options that a background process cannot have. */
const NOT_OF_PROCESSES = ["context", "isolate", "outputFiles", "onOutputFile"] as const;

/** A program or a command to leave running, and on whose behalf. */
export type ProcessCall = Omit<ToolCall, (typeof NOT_OF_PROCESSES)[number]>;

/** A process that was allowed to start. It is one tool call, from its start to its end. */
export interface GuardedProcess extends LongRunningHandle {
  /** What it prints, each an `OutputPiece`. Unread it holds the program back; to destroy it is to close the process. */
  readonly output: Readable;
  /** To its whole process group; does nothing after its end. INVALID_ARGUMENT: there is no such signal. */
  signal(name: SendableSignal): void;
}

/** Takes a program or a command through the steps of every tool call, and hands it out while it runs. */
export function startProcess(call: ProcessCall, guards: Guards): LongRunningCall<GuardedProcess> {
  return startLongRunning<GuardedProcess>({
    what: "process",
    signal: (Object(call) as ProcessCall).signal,
    output: "pieces",
    run: (sink) => runToolCall(toolCallOf(call, sink.signal), guards, sink, { type: "background" }),
    toHandle: (handle, controls, output) => ({
      ...handle,
      output,
      signal: (name) => controls.signal(sendableSignal(name)),
    }),
  });
}

/** An invalid value is passed on as it is: `checkToolCall` refuses it. */
function toolCallOf(call: ProcessCall, signal: AbortSignal): ToolCall {
  if (typeof call !== "object" || call === null) return call;
  const without = Object.fromEntries(NOT_OF_PROCESSES.map((name) => [name, undefined]));
  return { ...call, ...without, signal };
}

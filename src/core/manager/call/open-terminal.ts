import { PassThrough, type Readable, type Writable } from "node:stream";
import type { OptionNames } from "../../../kit/check-options.js";
import { checkSize, SHELL } from "../../../runtime/sandbox/index.js";
import type { Guards } from "./guards.js";
import { type LongRunningCall, type LongRunningHandle, startLongRunning } from "./long-running-call.js";
import { runToolCall } from "./run-tool-call.js";
import type { ToolCall } from "./tool-call.js";

/** What a terminal and any other tool call have in common. */
const SHARED = [
  "sessionId",
  "agentId",
  "orgId",
  "requestId",
  "role",
  "tool",
  "env",
  "cwd",
  "backend",
  "timeoutMs",
  "maxOutputBytes",
] as const satisfies readonly (keyof ToolCall)[];

/** A terminal to open, and on whose behalf. The policy knows it as `shell_exec` unless `tool` says otherwise. */
export interface TerminalCall extends Pick<ToolCall, (typeof SHARED)[number] | "signal"> {
  /** What runs on it. Left out: an interactive shell. */
  readonly argv?: readonly string[] | undefined;
  readonly rows: number;
  readonly columns: number;
}

export const TERMINAL_OPTIONS: OptionNames<TerminalCall> = {
  ...(Object.fromEntries(SHARED.map((name) => [name, true])) as Record<(typeof SHARED)[number], true>),
  argv: true,
  rows: true,
  columns: true,
  signal: true,
};

/** A terminal that was allowed to open. It is one tool call, from its opening to its end. */
export interface GuardedTerminal extends LongRunningHandle {
  /** What is to be seen. Unread it holds the program back; to destroy it is to close the terminal. */
  readonly output: Readable;
  /** What is typed, as a stream. */
  readonly input: Writable;
  /** Types; resolves when there is room for more. What comes after the end goes nowhere. */
  write(data: string | Uint8Array): Promise<void>;
  resize(rows: number, columns: number): void;
}

/** Takes a terminal through the steps of every tool call, and hands it out while it is open. */
export function openTerminal(call: TerminalCall, guards: Guards): LongRunningCall<GuardedTerminal> {
  const { rows, columns, signal } = Object(call) as TerminalCall;
  const input = new PassThrough();
  // What is typed while the program ends has nowhere to go.
  input.on("error", () => undefined);
  return startLongRunning<GuardedTerminal>({
    what: "terminal",
    hint: "Commands and programs can be looked at, one by one: run them without a terminal.",
    signal,
    output: "screen",
    run: (sink) =>
      runToolCall(toolCallOf(call, sink.signal), guards, sink, {
        type: "terminal",
        terminal: { rows, columns, input },
      }).finally(() => input.destroy()),
    toHandle: (handle, { resize }, output) => ({
      ...handle,
      output,
      input,
      write: (data) => new Promise((done) => input.write(data, () => done())),
      resize(newRows, newColumns) {
        checkSize(newRows, newColumns);
        resize(newRows, newColumns);
      },
    }),
  });
}

/** An invalid value is passed on as it is: `checkToolCall` refuses it. */
function toolCallOf(call: TerminalCall, signal: AbortSignal): ToolCall {
  if (typeof call !== "object" || call === null) return call;
  const shared = Object.fromEntries(SHARED.map((name) => [name, call[name]]));
  return { ...shared, argv: call.argv ?? SHELL.terminal, signal };
}

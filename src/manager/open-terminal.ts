import { PassThrough, type Readable, type Writable } from "node:stream";
import { SandboxError } from "../errors.js";
import { checkSize } from "../sandbox/terminal.js";
import type { Guards } from "./guards.js";
import { TerminalScreen } from "./open-terminal-screen.js";
import { runToolCall } from "./run-tool-call.js";
import type { ToolCall, ToolResult } from "./tool-call.js";

/** What a terminal and any other tool call have in common. */
const SHARED = [
  "sessionId",
  "agentId",
  "orgId",
  "role",
  "tool",
  "env",
  "cwd",
  "backend",
  "timeoutMs",
  "maxOutputBytes",
] as const satisfies readonly (keyof ToolCall)[];

/** A terminal that somebody wants, and in whose name. The policy knows it as `shell_exec` unless `tool` says otherwise. */
export interface TerminalCall extends Pick<ToolCall, (typeof SHARED)[number] | "signal"> {
  /** What runs on it. Left out: an interactive shell. */
  readonly argv?: readonly string[] | undefined;
  readonly rows: number;
  readonly columns: number;
}

/** A terminal that was allowed to open. It is one tool call, from its opening to its end. */
export interface GuardedTerminal extends AsyncDisposable {
  /** What is to be seen. Unread it holds the program back; to destroy it is to close the terminal. */
  readonly output: Readable;
  /** What is typed, as a stream. */
  readonly input: Writable;
  /** Types; resolves when there is room for more. What comes after the end goes nowhere. */
  write(data: string | Uint8Array): Promise<void>;
  resize(rows: number, columns: number): void;
  /** What came of it, once it is remembered and its sandbox let go; rejects when the sandbox was lost. */
  readonly exit: Promise<ToolResult>;
  /** Ends it, as cancelled if it still runs; resolves when it is over. */
  close(): Promise<void>;
}

/** A terminal on its way, for the manager that may have to end it. */
export interface OpeningTerminal {
  /** Rejects with POLICY_DENIED, CONFIRMATION_REJECTED or CANCELLED, or with why it could not start. */
  readonly opened: Promise<GuardedTerminal>;
  /** Resolves when its record is written and nothing of it is left. */
  readonly over: Promise<void>;
  /** Cancels it wherever it is, and waits for its end. */
  close(): Promise<void>;
}

const SHELL = ["bash", "-i"];

/** Takes a terminal through the steps of every tool call, and hands it out while the fifth of them lasts. */
export function openTerminal(call: TerminalCall, guards: Guards): OpeningTerminal {
  const { rows, columns, signal } = Object(call) as TerminalCall;
  const ending = new AbortController();
  const end = () => ending.abort();
  if (signal?.aborted) end();
  else signal?.addEventListener("abort", end, { once: true });
  const input = new PassThrough();
  // Whoever types while the program ends has nowhere to type to.
  input.on("error", () => undefined);
  const screen = new TerminalScreen(ending);
  const exit = runToolCall(toolCallOf(call, ending.signal), guards, screen, {
    rows,
    columns,
    input,
  }).finally(() => {
    signal?.removeEventListener("abort", end);
    input.destroy();
    screen.end();
  });
  const over = exit.then(
    () => undefined,
    () => undefined,
  );
  const close = () => {
    end();
    return over;
  };
  const opened = new Promise<GuardedTerminal>((resolve, reject) => {
    screen.onStarted = (resize) =>
      resolve({
        output: screen.reader,
        input,
        write: (data) => new Promise((done) => input.write(data, () => done())),
        resize(newRows, newColumns) {
          checkSize(newRows, newColumns);
          resize(newRows, newColumns);
        },
        exit,
        close,
        [Symbol.asyncDispose]: close,
      });
    // Of a terminal that has opened, `exit` tells this.
    exit.then(async (result) => reject(await refusalOf(result)), reject);
  });
  return { opened, over, close };
}

/** What no tool call could be is left as it is, for `checkToolCall` to refuse. */
function toolCallOf(call: TerminalCall, signal: AbortSignal): ToolCall {
  if (typeof call !== "object" || call === null) return call;
  const shared = Object.fromEntries(SHARED.map((name) => [name, call[name]]));
  return { ...shared, argv: call.argv ?? SHELL, stream: true, signal };
}

/** A terminal that did not open is no result to look at: whoever wanted it hears why. */
async function refusalOf({ reason, error = reason, confirmation, decision }: ToolResult) {
  if (reason === "cancelled") return new SandboxError("CANCELLED", error);
  if (reason === "denied") {
    return new SandboxError("POLICY_DENIED", error, {
      hint: "Commands and programs can be looked at, one by one: skerry exec, manager.execute.",
    });
  }
  if (reason === "rejected") {
    const { describeDecision } = await import("../policy/explain.js");
    const asked = decision?.verdict === "confirm" ? ` (${describeDecision(decision)})` : "";
    const by = confirmation?.by === undefined ? "" : ` by ${confirmation.by}`;
    return new SandboxError("CONFIRMATION_REJECTED", `rejected${by}: ${error}${asked}`);
  }
  return new SandboxError("EXECUTION_FAILED", `The terminal ended before it had opened: ${error}`);
}

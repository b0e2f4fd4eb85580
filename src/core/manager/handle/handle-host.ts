import type { Duplex } from "node:stream";
import type { Execution, OpenPort, ResultEvent } from "../../../runtime/sandbox/index.js";
import type { FileCall, FileResult, SandboxCall } from "../call/file-call.js";
import type { GuardedTerminal, TerminalCall } from "../call/open-terminal.js";
import type { GuardedProcess, ProcessCall } from "../call/start-process.js";
import type { ToolCall, ToolResult } from "../call/tool-call.js";
import type { OutputBudget } from "../output/output-budget.js";
import type { LiveProcess } from "./live-process.js";
import type { LiveTerminal } from "./live-terminal.js";

/** What a handle needs of the manager: every one of these is decided about and recorded. */
export interface HandleHost {
  /** CANCELLED where its caller's signal ended it, the reason of `ended` where that did; CONTEXT_NOT_FOUND where its context was not made. */
  executeForHandle(order: () => ToolCall, ended?: AbortSignal): Execution<ToolResult, ResultEvent>;
  useFiles<Value>(call: FileCall<Value>): Promise<FileResult<Value>>;
  useSandbox<Value>(call: SandboxCall<Value>): Promise<FileResult<Value>>;
  startProcess(call: ProcessCall): Promise<GuardedProcess>;
  openTerminal(call: TerminalCall): Promise<GuardedTerminal>;
  openPort(sessionId: string, port: number): Promise<OpenPort>;
  connectPort(sessionId: string, port: number): Promise<Duplex>;
  liveCalls(sessionId: string): Promise<LiveCalls>;
  /** Aborts when nothing may be read any more. */
  readonly ended?: AbortSignal;
}

/** The host of one handle. `ended` aborts with the error of every later use and of every call that still waits. */
export interface OpenHost extends HandleHost {
  readonly ended: AbortSignal;
}

/** Processes and terminals of one session, the oldest first, whichever handle started them. */
export interface LiveCalls {
  readonly processes: Map<string, LiveProcess>;
  readonly terminals: Map<string, LiveTerminal>;
  /** For what is kept of their output. */
  readonly outputs: OutputBudget;
}

/** The caller on whose behalf a sandbox is used. */
export interface SandboxCaller extends Pick<ToolCall, "agentId" | "role"> {}

/** The same, and the session: what every call of a handle says. A server also says for whom, where and until when. */
export interface HandleCaller
  extends SandboxCaller,
    Pick<ToolCall, "orgId" | "backend" | "requestId" | "signal"> {
  readonly sessionId: string;
}

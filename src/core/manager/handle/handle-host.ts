import type { Duplex } from "node:stream";
import type { Execution, OpenPort, ResultEvent } from "../../../runtime/sandbox/index.js";
import type { FileCall, FileResult, SandboxCall } from "../call/file-call.js";
import type { GuardedTerminal, TerminalCall } from "../call/open-terminal.js";
import type { GuardedProcess, ProcessCall } from "../call/start-process.js";
import type { ToolCall, ToolResult } from "../call/tool-call.js";
import type { OutputBudget } from "../output/output-budget.js";

/** What a handle needs of the manager: every one of these is decided about and recorded. */
export interface HandleHost {
  /** CANCELLED where it was; CONTEXT_NOT_FOUND where its context was not made. */
  executeForHandle(call: ToolCall): Execution<ToolResult, ResultEvent>;
  useFiles<Value>(call: FileCall<Value>): Promise<FileResult<Value>>;
  useSandbox<Value>(call: SandboxCall<Value>): Promise<FileResult<Value>>;
  startProcess(call: ProcessCall): Promise<GuardedProcess>;
  openTerminal(call: TerminalCall): Promise<GuardedTerminal>;
  openPort(sessionId: string, port: number): Promise<OpenPort>;
  connectPort(sessionId: string, port: number): Promise<Duplex>;
  liveCalls(sessionId: string): Promise<LiveCalls>;
}

/** A process or a terminal, as it is listed. */
export interface LiveCall {
  readonly id: string;
  readonly state: "running" | "ended";
}

/** Processes and terminals of one session, the oldest first, whichever handle started them. */
export interface LiveCalls {
  readonly processes: Map<string, LiveCall>;
  readonly terminals: Map<string, LiveCall>;
  /** For what is kept of their output. */
  readonly outputs: OutputBudget;
}

export function listCalls(calls: ReadonlyMap<string, LiveCall>): readonly LiveCall[] {
  return [...calls.values()].map(({ id, state }) => ({ id, state }));
}

/** The caller on whose behalf a sandbox is used. */
export interface SandboxCaller extends Pick<ToolCall, "agentId" | "role"> {}

/** The same, and the session: what every call of a handle says. A server also says for whom, where and until when. */
export interface HandleCaller
  extends SandboxCaller,
    Pick<ToolCall, "orgId" | "backend" | "requestId" | "signal"> {
  readonly sessionId: string;
}

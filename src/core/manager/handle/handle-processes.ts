import { randomUUID } from "node:crypto";
import { finished } from "node:stream/promises";
import type {
  SandboxSessionProcesses,
  SessionProcess,
  SessionProcessEvent,
  SessionRunOptions,
} from "@skerry/client";
import { SandboxError } from "../../../kit/errors.js";
import type { OutputPiece } from "../call/long-running-output.js";
import type { GuardedProcess, ProcessCall } from "../call/start-process.js";
import type { ToolResult } from "../call/tool-call.js";
import type { OutputBudget } from "../output/output-budget.js";
import { ProcessLog } from "../output/process-log.js";
import { type HandleCaller, type HandleHost, listCalls } from "./handle-host.js";

/** What is followed at a time. */
const PAGE_BYTES = 64 * 1024;
const NEVER = new AbortController().signal;

/** What goes on in a session beside other calls, each one tool call. */
export class HandleProcesses implements SandboxSessionProcesses {
  readonly #host: HandleHost;
  readonly #caller: HandleCaller;

  /** @internal */
  constructor(host: HandleHost, caller: HandleCaller) {
    this.#host = host;
    this.#caller = caller;
  }

  exec(command: string | readonly string[], options: SessionRunOptions = {}): Promise<HandleProcess> {
    return this.#start({ ...options, ...(typeof command === "string" ? { command } : { argv: command }) });
  }

  runCode(code: string, options: SessionRunOptions & { readonly language: string }): Promise<HandleProcess> {
    return this.#start({ ...options, code });
  }

  async list(): Promise<readonly { readonly id: string; readonly state: "running" | "ended" }[]> {
    return listCalls((await this.#host.liveCalls(this.#caller.sessionId)).processes);
  }

  async #start(call: ProcessCall): Promise<HandleProcess> {
    const started = await this.#host.startProcess({ ...call, ...this.#caller });
    const { processes, outputs } = await this.#host.liveCalls(this.#caller.sessionId);
    const process = new HandleProcess(started, outputs, () => processes.delete(process.id));
    processes.set(process.id, process);
    return process;
  }
}

/** A process of a session. It never waits for a reader: the last of what it printed is kept. */
export class HandleProcess implements SessionProcess {
  readonly id = randomUUID();
  readonly #process: GuardedProcess;
  readonly #log: ProcessLog;
  readonly #forget: () => void;
  #state: "running" | "ended" = "running";

  /** @internal */
  constructor(process: GuardedProcess, outputs: OutputBudget, forget: () => void) {
    this.#process = process;
    this.#log = new ProcessLog(outputs);
    this.#forget = forget;
    this.#log.begin();
    process.output.on("data", ({ type, data }: OutputPiece) => this.#log.add(type, data));
    const endLog = () => this.#log.end();
    finished(process.output).then(endLog, endLog);
    const end = () => {
      this.#state = "ended";
    };
    process.exit.then(end, end);
  }

  get state(): "running" | "ended" {
    return this.#state;
  }

  async *follow(): AsyncGenerator<SessionProcessEvent> {
    for (let position = 0, isOver = false; !isOver; ) {
      const { pieces, next, dropped, ended } = this.#log.read(position, PAGE_BYTES);
      if (dropped > 0) yield { type: "dropped", bytes: dropped };
      for (const { stream, text } of pieces) yield { type: stream, text };
      position = next;
      isOver = ended;
      await this.#log.waitBeyond(position, NEVER);
    }
    yield { type: "exit", process: await this.#process.exit };
  }

  async wait(): Promise<ToolResult> {
    return this.#process.exit;
  }

  async signal(name: Parameters<SessionProcess["signal"]>[0]): Promise<void> {
    if (this.#state === "ended") throw new SandboxError("CONFLICT", "The process has ended");
    this.#process.signal(name);
  }

  async delete(): Promise<void> {
    this.#forget();
    await this.#process.close();
    this.#log.forget();
  }
}

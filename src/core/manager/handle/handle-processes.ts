import { randomUUID } from "node:crypto";
import { StringDecoder } from "node:string_decoder";
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
import type { HandleCaller, HandleHost } from "./handle-host.js";

/** What goes on in a session beside other calls, each one tool call. */
export class HandleProcesses implements SandboxSessionProcesses {
  readonly #host: HandleHost;
  readonly #caller: HandleCaller;
  readonly #known = new Map<string, HandleProcess>();

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
    return [...this.#known.values()].map(({ id, state }) => ({ id, state }));
  }

  async #start(call: ProcessCall): Promise<HandleProcess> {
    const process = new HandleProcess(await this.#host.startProcess({ ...call, ...this.#caller }), () =>
      this.#known.delete(process.id),
    );
    this.#known.set(process.id, process);
    return process;
  }
}

/** A process of a session. What it prints and is not followed holds it back. */
export class HandleProcess implements SessionProcess {
  readonly id = randomUUID();
  readonly #process: GuardedProcess;
  readonly #forget: () => void;
  #result: ToolResult | undefined;

  /** @internal */
  constructor(process: GuardedProcess, forget: () => void) {
    this.#process = process;
    this.#forget = forget;
    process.exit.then(
      (result) => {
        this.#result = result;
      },
      () => undefined,
    );
  }

  get state(): "running" | "ended" {
    return this.#result === undefined ? "running" : "ended";
  }

  async *follow(): AsyncGenerator<SessionProcessEvent> {
    const decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
    const { output } = this.#process;
    // To leave the loop is not to end the process.
    for await (const { type, data } of output.iterator({
      destroyOnReturn: false,
    }) as AsyncIterable<OutputPiece>) {
      const text = decoders[type].write(data);
      if (text !== "") yield { type, text };
    }
    yield { type: "exit", process: await this.#process.exit };
  }

  /** Skips output that was not followed. */
  async wait(): Promise<ToolResult> {
    this.#process.output.resume();
    return this.#process.exit;
  }

  async signal(name: Parameters<SessionProcess["signal"]>[0]): Promise<void> {
    if (this.#result !== undefined) throw new SandboxError("CONFLICT", "The process has ended");
    this.#process.signal(name);
  }

  async delete(): Promise<void> {
    this.#forget();
    await this.#process.close();
  }
}

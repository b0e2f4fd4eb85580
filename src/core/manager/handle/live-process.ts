import { finished } from "node:stream/promises";
import type { SessionProcess, SessionProcessEvent } from "@skerry/client";
import { SandboxError } from "../../../kit/errors.js";
import type { OutputPiece } from "../call/long-running-output.js";
import type { GuardedProcess } from "../call/start-process.js";
import type { OutputBudget } from "../output/output-budget.js";
import { ProcessLog } from "../output/process-log.js";
import { LiveCall, type LiveCallInfo } from "./live-call.js";

/** What is followed at a time. */
const PAGE_BYTES = 64 * 1024;

/** A part of what a process printed, both streams as they came. */
export interface ProcessOutput {
  readonly text: string;
  /** Where the next part begins. */
  readonly next: number;
  /** So many bytes before it are no longer kept. */
  readonly dropped: number;
  /** There will be no more. */
  readonly ended: boolean;
}

/** A process of a session. It never waits for a reader: the last of what it printed is kept. */
export class LiveProcess extends LiveCall {
  readonly #process: GuardedProcess;
  readonly #command: string;
  readonly #log: ProcessLog;

  constructor(process: GuardedProcess, command: string, outputs: OutputBudget) {
    super(process);
    this.#process = process;
    this.#command = command;
    this.#log = new ProcessLog(outputs);
    this.#log.begin();
    process.output.on("data", ({ type, data }: OutputPiece) => this.#log.add(type, data));
    const endLog = () => this.#log.end();
    finished(process.output).then(endLog, endLog);
    void this.watch(process.exit);
  }

  override info(): LiveCallInfo & { readonly command: string } {
    return { ...super.info(), command: this.#command };
  }

  /** What is kept of its output, from a position on. */
  read(position: number): ProcessOutput {
    const { pieces, next, dropped, ended } = this.#log.read(position, Number.MAX_SAFE_INTEGER);
    return { text: pieces.map(({ text }) => text).join(""), next, dropped, ended };
  }

  /** Until it ends, or the signal aborts. */
  async *follow(signal: AbortSignal): AsyncGenerator<SessionProcessEvent> {
    for (let position = 0, isOver = false; !isOver; ) {
      const { pieces, next, dropped, ended } = this.#log.read(position, PAGE_BYTES);
      if (dropped > 0) yield { type: "dropped", bytes: dropped };
      for (const { stream, text } of pieces) yield { type: stream, text };
      position = next;
      isOver = ended;
      await this.#log.waitBeyond(position, signal);
      signal.throwIfAborted();
    }
    yield { type: "exit", result: await this.exit };
  }

  signal(name: Parameters<SessionProcess["signal"]>[0]): void {
    if (this.hasEnded)
      throw new SandboxError("CONFLICT", "It has ended", { hint: "Look at its state first." });
    this.#process.signal(name);
  }

  override forget(): void {
    this.#log.forget();
  }
}

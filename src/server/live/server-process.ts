import { finished } from "node:stream/promises";
import {
  type GuardedProcess,
  type OutputBudget,
  type OutputPiece,
  ProcessLog,
} from "../../core/manager/index.js";
import type { SendableSignal } from "../../runtime/sandbox/index.js";
import { LiveCall, type LiveOwner } from "./live-call.js";

/** A background process with the last part of its output. It never waits for readers. */
export class ServerProcess extends LiveCall<GuardedProcess> {
  /** What runs, as it was given. */
  readonly command: string;
  readonly log: ProcessLog;

  constructor(owner: LiveOwner, command: string, budget: OutputBudget) {
    super(owner);
    this.command = command;
    this.log = new ProcessLog(budget);
  }

  /** CONFLICT: it does not run. */
  sendSignal(name: SendableSignal): void {
    this.handle.signal(name);
  }

  override stop(): void {
    this.sendSignal("SIGTERM");
    // One that was stopped would not hear it.
    this.sendSignal("SIGCONT");
  }

  /** It never waits for readers. */
  override release(): void {}

  override forget(): void {
    this.log.forget();
  }

  protected override begun({ output }: GuardedProcess): Promise<void> {
    this.log.begin();
    output.on("data", ({ type, data }: OutputPiece) => this.log.add(type, data));
    return finished(output);
  }

  protected override finished(): void {
    this.log.end();
  }
}

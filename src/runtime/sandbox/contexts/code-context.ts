import { SandboxError } from "../../../kit/errors.js";
import { Mutex, type QueuedTurn } from "../../../kit/mutex.js";
import type { Instance } from "../../backends/index.js";
import type { RunRequest, WarmHandle } from "../../wire/index.js";
import { Execution } from "../executions/execution.js";
import type { ExecutionSink } from "../executions/execution-sink.js";
import type { Executions, TrackedExecution } from "../executions/executions.js";
import { LimitedOutput } from "../executions/limited-output.js";
import type { CommandOutcome, Reason } from "../executions/result.js";
import { outcomeOf } from "../executions/run-command.js";
import type { SandboxSnapshots } from "../files/snapshots.js";
import type { ContextLanguage } from "../languages/language.js";
import type { CommandStart } from "../programs/command-start.js";
import type { ProgramPreparer } from "../programs/program-preparer.js";
import type { SandboxSettings } from "../sandbox-init.js";
import { describeEnd, doneOutcome, errorLine, GONE, lost } from "./context-end.js";
import {
  type Checkpoint,
  type CheckpointOptions,
  type ContextRunOptions,
  checkContextRun,
} from "./context-options.js";
import type { ContextResult, ResultEvent } from "./context-result.js";
import { Interruption } from "./interruption.js";
import { type Finished, Kernel, type KernelEnd } from "./kernel.js";
import { encodeRun } from "./messages.js";
import { ShownResults } from "./shown-results.js";

const RESULT_BYTES = 16 * 1024 * 1024;

interface SavedState {
  readonly checkpoint: Checkpoint;
  readonly frozen: WarmHandle;
  /** How many pieces of code had run. */
  readonly count: number;
}

/** What contexts need of the sandbox they live in. */
export interface ContextSandbox {
  readonly instance: Instance;
  readonly settings: SandboxSettings;
  readonly start: CommandStart;
  readonly programs: ProgramPreparer;
  readonly executions: Executions;
  readonly snapshots: Pick<SandboxSnapshots<unknown>, "create" | "restore" | "remove">;
}

/** What one context needs of the sandbox's other contexts. */
export interface ContextHost {
  readonly sandbox: ContextSandbox;
  /** The order that starts an interpreter: with a warm one where there is one. */
  request(): Promise<{ readonly request: RunRequest; done(): void }>;
  /** Another context, around an interpreter that runs already. */
  adopt(start: () => Promise<Kernel>, frozen: WarmHandle): Promise<CodeContext>;
  closed(): void;
}

export type ContextState = "idle" | "busy" | "ended";

/** Code that keeps its state between runs, like a notebook. Runs come one after the other. */
export class CodeContext {
  readonly id: string;
  readonly language: string;
  readonly createdAt = new Date();
  readonly #host: ContextHost;
  readonly #language: ContextLanguage;
  readonly #mutex = new Mutex();
  readonly #checkpoints = new Map<string, SavedState>();
  /** What this context's own interpreter is a copy of. */
  readonly #origin: WarmHandle | undefined;
  #kernel: Kernel;
  #ending: { readonly reason: Reason; readonly why: string } | undefined;
  #isClosed = false;
  #interrupt: (() => void) | undefined;
  #checkpointNumber = 0;
  #count = 0;

  /** @internal */
  constructor(
    id: string,
    language: { readonly name: string; readonly context: ContextLanguage },
    host: ContextHost,
    kernel: Kernel,
    origin?: WarmHandle,
  ) {
    this.id = id;
    this.language = language.name;
    this.#language = language.context;
    this.#host = host;
    this.#origin = origin;
    this.#kernel = kernel;
    this.#watch(kernel);
  }

  get state(): ContextState {
    if (this.#isClosed || this.#kernel.isOver) return "ended";
    return this.#mutex.isBusy ? "busy" : "idle";
  }

  /** Why it ended, if it has: "killed: the sandbox's memory limit was reached". */
  get ending(): string | undefined {
    return this.#ending?.why;
  }

  /** How many pieces of code it has run. */
  get executionCount(): number {
    return this.#count;
  }

  get checkpoints(): readonly Checkpoint[] {
    return [...this.#checkpoints.values()].map(({ checkpoint }) => checkpoint);
  }

  /** Runs a piece of code. Await it for its result, or iterate it for its events. */
  run(code: string, options: ContextRunOptions = {}): Execution<ContextResult, ResultEvent> {
    // Now, not when it begins: what is called after this comes after it.
    const turn = this.#mutex.enqueue();
    return new Execution<ContextResult, ResultEvent>((sink) => this.#runInto(turn, sink, code, options));
  }

  /** The same, with the events in an execution that has begun already. @internal */
  async runInto(
    sink: ExecutionSink<ResultEvent>,
    code: string,
    options: ContextRunOptions = {},
  ): Promise<ContextResult> {
    return this.#runInto(this.#mutex.enqueue(), sink, code, options);
  }

  /** Interrupts the code that runs now; the context goes on. False: none runs. */
  interrupt(): boolean {
    this.#interrupt?.();
    return this.#interrupt !== undefined;
  }

  /** Restarts with an empty state; also after it has ended. Checkpoints stay. */
  async restart(): Promise<void> {
    this.#assertOpen();
    // Whatever runs would keep everybody waiting.
    this.#kernel.kill();
    await this.#mutex.run(() => this.#replace(() => this.#startFresh()));
  }

  /** Saves the live state, to come back to. */
  async checkpoint(options: CheckpointOptions = {}): Promise<Checkpoint> {
    this.#assertCopies();
    return this.#mutex.run(async () => {
      this.#assertAlive();
      const { snapshots } = this.#host.sandbox;
      const snapshotId =
        options.files === true ? (await snapshots.create({ isTemporary: true })).id : undefined;
      try {
        const frozen = await this.#kernel.freeze();
        // It may have been closed meanwhile, and nothing else would end this one.
        if (this.#isClosed) frozen.stop();
        this.#assertOpen();
        const id = `${this.id}.${++this.#checkpointNumber}`;
        const checkpoint = { id, createdAt: new Date(), ...(snapshotId !== undefined && { snapshotId }) };
        this.#checkpoints.set(id, { checkpoint, frozen, count: this.#count });
        void frozen.gone.then(() => this.#forget(id));
        return checkpoint;
      } catch (error) {
        if (snapshotId !== undefined) await snapshots.remove(snapshotId).catch(() => undefined);
        throw error;
      }
    });
  }

  /** Goes back to a saved state, as often as you like; what ran since is gone. Also after the context has ended. */
  async rollback(checkpoint: Checkpoint | string): Promise<void> {
    this.#assertCopies();
    const { frozen, count, checkpoint: found } = this.#find(checkpoint);
    this.#kernel.kill();
    await this.#mutex.run(async () => {
      await this.#replace(() => this.#copyOf(frozen), count);
      if (found.snapshotId !== undefined) await this.#host.sandbox.snapshots.restore(found.snapshotId);
    });
  }

  /** Another context with the same state; from here on the two go their own ways. */
  async fork(): Promise<CodeContext> {
    this.#assertCopies();
    return this.#mutex.run(async () => {
      this.#assertAlive();
      const frozen = await this.#kernel.freeze();
      try {
        return await this.#host.adopt(() => this.#copyOf(frozen), frozen);
      } catch (error) {
        frozen.stop();
        throw error;
      }
    });
  }

  /** Forgets a saved state, which gives its memory back. False: there is none of that name. */
  async deleteCheckpoint(checkpoint: Checkpoint | string): Promise<boolean> {
    const id = typeof checkpoint === "string" ? checkpoint : checkpoint.id;
    const found = this.#checkpoints.get(id);
    found?.frozen.stop();
    await this.#forget(id);
    return found !== undefined;
  }

  /** Ends it and everything it started, checkpoints included. Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#ending ??= { reason: "cancelled", why: "it was closed" };
    this.#kernel.kill();
    this.#origin?.stop();
    await Promise.all([...this.#checkpoints.keys()].map((id) => this.deleteCheckpoint(id)));
    await this.#kernel.ended;
    this.#host.closed();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #runInto(
    turn: QueuedTurn,
    sink: ExecutionSink<ResultEvent>,
    code: string,
    options: ContextRunOptions,
  ): Promise<ContextResult> {
    try {
      checkContextRun(code, options);
      if (options.stdin !== undefined) this.#assertTakesInput();
    } catch (error) {
      turn.giveUp();
      throw error;
    }
    return turn.run(async () => {
      this.#assertAlive();
      return this.#run(sink, code, options);
    }, options.signal);
  }

  async #run(
    sink: ExecutionSink<ResultEvent>,
    code: string,
    options: ContextRunOptions,
  ): Promise<ContextResult> {
    const shown = new ShownResults(options.maxResultBytes ?? RESULT_BYTES);
    const tracked = await this.#host.sandbox.executions.track();
    try {
      const { outcome, finished } = await this.#execute(tracked, shown, sink, code, options);
      const executed = await tracked.report(outcome, { timeoutMs: options.timeoutMs });
      if (finished !== undefined) this.#count = finished.count;
      return {
        ...executed,
        ...(finished?.exception !== undefined &&
          executed.reason === "exited" &&
          !executed.success && { error: errorLine(finished) }),
        ...(finished === undefined && executed.success && { success: false, error: this.#whyEnded() }),
        contextId: this.id,
        results: shown.results,
        ...(finished?.exception !== undefined && { exception: finished.exception }),
        executionCount: finished?.count ?? 0,
        ...((finished?.cut === true || shown.isCut) && { resultsTruncated: true }),
      };
    } finally {
      tracked.end();
    }
  }

  /** Runs the code in the interpreter. Without `finished`, the interpreter ended meanwhile. */
  async #execute(
    { watch }: TrackedExecution,
    shown: ShownResults,
    sink: ExecutionSink<ResultEvent>,
    code: string,
    options: ContextRunOptions,
  ): Promise<{ readonly outcome: CommandOutcome; readonly finished?: Finished }> {
    const kernel = this.#kernel;
    const { instance, settings } = this.#host.sandbox;
    const killsBefore = (await instance.memoryKills()) ?? 0;
    const startedAt = performance.now();
    const ending = new Interruption(kernel, {
      timeoutMs: options.timeoutMs ?? settings.timeoutMs,
      signals: [...(options.signal === undefined ? [] : [options.signal]), sink.signal],
      cpuTimeMs: async () => (await instance.usage?.())?.cpuTimeMs,
    });
    const output = new LimitedOutput(sink, options.maxOutputBytes, settings.maxOutputBytes, () =>
      ending.end("output-limit"),
    );
    const finish = (outcome: CommandOutcome, reason: Reason | undefined): CommandOutcome => ({
      ...outcome,
      reason: reason ?? outcome.reason,
      ...sink.printed(output.isOver),
      truncated: output.isOver,
    });
    sink.onDrain = () => kernel.resume();
    this.#interrupt = () => ending.request();
    try {
      const encode = (run: number) =>
        encodeRun(this.#language, run, code, {
          stdin: options.stdin,
          resultBytes: options.maxResultBytes ?? RESULT_BYTES,
        });
      const ended = await kernel.run(encode, {
        output: (type, data) => output.take(type, data),
        result: (result, bytes) => {
          if (shown.take(result, bytes)) sink.emit?.({ type: "result", result });
        },
      });
      watch.ended();
      const durationMs = performance.now() - startedAt;
      if ("run" in ended) {
        const done = doneOutcome(ended, durationMs, kernel.isWarm);
        const isHandled = ending.isRequest && !ended.wasInterrupted;
        return { outcome: finish(done, isHandled ? undefined : ending.reason), finished: ended };
      }
      const kills = (await instance.memoryKills(true)) ?? 0;
      return {
        outcome: finish(this.#died(ended, durationMs, kills > killsBefore, ending.reason), ending.reason),
      };
    } finally {
      ending.stop();
      this.#interrupt = undefined;
    }
  }

  #whyEnded(): string {
    return `The context has ended: ${this.#ending?.why ?? "unknown reason"}`;
  }

  /** The outcome of code whose interpreter is gone. */
  #died(end: KernelEnd, durationMs: number, memory: boolean, reason: Reason | undefined): CommandOutcome {
    if (end.exit === undefined && reason === undefined && !memory) throw end.error ?? lost();
    const exit = end.exit ?? GONE;
    const outcome = outcomeOf(exit, durationMs);
    const why = reason ?? (memory ? "memory" : outcome.reason);
    this.#ending = { reason: why, why: describeEnd(why, exit, end.error) };
    return { ...outcome, reason: why };
  }

  #watch(kernel: Kernel): void {
    void kernel.ended.then(({ exit, error }) => {
      if (this.#kernel !== kernel) return;
      this.#ending ??= { reason: "signaled", why: describeEnd("signaled", exit ?? GONE, error) };
    });
  }

  /** Puts another interpreter in the place of this one. */
  async #replace(start: () => Promise<Kernel>, count = 0): Promise<void> {
    this.#assertOpen();
    const old = this.#kernel;
    old.kill();
    await old.ended;
    const kernel = await start();
    if (this.#isClosed) {
      kernel.kill();
      this.#assertOpen();
    }
    this.#kernel = kernel;
    this.#ending = undefined;
    this.#count = count;
    this.#watch(kernel);
  }

  async #startFresh(): Promise<Kernel> {
    const { request, done } = await this.#host.request();
    try {
      return await Kernel.start(this.#host.sandbox.instance, request, this.#language);
    } finally {
      done();
    }
  }

  async #copyOf(frozen: WarmHandle): Promise<Kernel> {
    const { request, done } = await this.#host.request();
    done();
    const kernel = await Kernel.start(this.#host.sandbox.instance, {
      ...request,
      warm: { id: frozen.id, job: "copy" },
    });
    if (kernel.isWarm) return kernel;
    // The guest has started an empty one in its place.
    kernel.kill();
    throw new SandboxError("CHECKPOINT_NOT_FOUND", "The checkpoint is gone: its process has ended", {
      hint: "The sandbox may have run out of memory, or the code may have ended it. Restart the context.",
    });
  }

  async #forget(id: string): Promise<void> {
    const snapshotId = this.#checkpoints.get(id)?.checkpoint.snapshotId;
    this.#checkpoints.delete(id);
    if (snapshotId !== undefined)
      await this.#host.sandbox.snapshots.remove(snapshotId).catch(() => undefined);
  }

  #find(checkpoint: Checkpoint | string): SavedState {
    const id = typeof checkpoint === "string" ? checkpoint : checkpoint.id;
    const found = this.#checkpoints.get(id);
    if (found !== undefined) return found;
    throw new SandboxError("CHECKPOINT_NOT_FOUND", `This context has no checkpoint ${JSON.stringify(id)}`, {
      hint: "It may have been deleted, or its process may have been ended for memory. Make another one.",
    });
  }

  #assertCopies(): void {
    this.#assertOpen();
    if (this.#language.copies) return;
    throw new SandboxError(
      "UNSUPPORTED",
      `Contexts of ${this.language} have no checkpoints and cannot be forked`,
      {
        hint: "Only those of python can. A snapshot keeps the workspace's files.",
      },
    );
  }

  #assertTakesInput(): void {
    if (this.#language.takesInput === true) return;
    throw new SandboxError("UNSUPPORTED", `Code in a context of ${this.language} has no input`, {
      hint: "Only Python's has. Put the text into the code, or into a file of the workspace.",
    });
  }

  #assertAlive(): void {
    this.#assertOpen();
    if (!this.#kernel.isOver) return;
    throw new SandboxError("CONTEXT_ENDED", this.#whyEnded(), {
      hint: "Restart the context, with an empty state, or roll it back to a checkpoint.",
    });
  }

  #assertOpen(): void {
    if (this.#isClosed)
      throw new SandboxError("CONTEXT_ENDED", "The context was closed", { hint: "Create another one." });
  }
}

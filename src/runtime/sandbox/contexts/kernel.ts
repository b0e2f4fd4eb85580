import type { Readable } from "node:stream";
import { createDeferred } from "../../../kit/deferred.js";
import { SandboxError, toSandboxError } from "../../../kit/errors.js";
import { withTimeout } from "../../../kit/timeout.js";
import type { Instance } from "../../backends/index.js";
import type { RunExit, RunHandle, RunRequest, WarmHandle } from "../../wire/index.js";
import type { ContextLanguage } from "../languages/language.js";
import type { RichResult } from "./context-result.js";
import { type KernelMessage, parseKernelMessage } from "./kernel-messages.js";
import { broken, encodeMessage, readMessages } from "./messages.js";

/** An interpreter that does not get ready: a hostile program beside it may hold it up. */
const START_TIMEOUT_MS = 60_000;
const FREEZE_TIMEOUT_MS = 60_000;
/** What is printed while no code runs is kept for the next run, up to this; the rest is lost. */
const BACKLOG_BYTES = 64 * 1024;

/** Messages that wait for what was printed before them; beyond this, the interpreter has to wait. */
const HEARD_BYTES = 32 * 1024 * 1024;

/** Between the end of its control socket and its own. */
const END_GRACE_MS = 1000;
const SIGINT = 2;

/** How a piece of code ended, as its interpreter tells it. */
export type Finished = Extract<KernelMessage, { type: "done" }>;

/** Takes what a piece of code prints and shows. */
export interface KernelListener {
  /** False: no more for now; `resume` is called when there is room again. */
  output(type: "stdout" | "stderr", data: Buffer): boolean;
  /** `bytes`: what it was on the wire. */
  result(result: RichResult, bytes: number): void;
}

/** How it is interrupted: see ContextLanguage. */
export type KernelOptions = Pick<
  ContextLanguage,
  "hearsInterrupts" | "repeatsInterrupts" | "encodeRepeatedInterrupt"
>;

/** How an interpreter ended. */
export interface KernelEnd {
  readonly exit: RunExit | undefined;
  /** What was wrong with it, where it was ended for that. */
  readonly error?: SandboxError;
}

/** One interpreter process with a control socket: the state of a context lives in it. */
export class Kernel {
  /** Resolves when it is gone, for whatever reason. */
  readonly ended: Promise<KernelEnd>;
  readonly isWarm: boolean;
  readonly #handle: RunHandle;
  readonly #options: KernelOptions;
  readonly #ready = createDeferred<void>();
  readonly #end = createDeferred<KernelEnd>();
  #listener: KernelListener | undefined;
  #finish: ((finished: Finished) => void) | undefined;
  #refuse: ((why: string) => void) | undefined;
  /** Messages that wait until everything that was printed before them has been handed on. */
  readonly #heard: { readonly message: KernelMessage; readonly bytes: number }[] = [];
  #heardBytes = 0;
  #isDraining = false;
  /** The code can be interrupted now; an earlier interrupt would be lost. */
  #isStarted = false;
  #isInterrupted = false;
  readonly #backlog: { type: "stdout" | "stderr"; data: Buffer }[] = [];
  #backlogBytes = 0;
  #runs = 0;
  #error: SandboxError | undefined;
  #isOver = false;

  private constructor(handle: RunHandle, isWarm: boolean, options: KernelOptions) {
    this.#handle = handle;
    this.isWarm = isWarm;
    this.#options = options;
    this.ended = this.#end.promise;
    for (const type of ["stdout", "stderr"] as const) {
      handle[type].on("data", (data: Buffer) => this.#output(type, data));
    }
    // Code has no input: reading gives the end of file.
    handle.stdin.end();
    handle.exit.then(
      (exit) => this.#over({ exit }),
      (error: unknown) => this.#over({ exit: undefined, error: toSandboxError(error) }),
    );
    readMessages(
      handle.control!,
      (message, bytes) => this.#hear(parseKernelMessage(message), bytes),
      (error) => (error === undefined ? this.#waitForEnd() : this.#fail(error)),
    );
  }

  /** Starts one, or has a frozen one make a copy of itself. Resolves when it takes code. */
  static async start(instance: Instance, request: RunRequest, options: KernelOptions = {}): Promise<Kernel> {
    const handle = instance.runner.run({ ...request, control: true });
    const { warm } = await handle.started;
    const kernel = new Kernel(handle, warm, options);
    const timer = setTimeout(
      () => kernel.#fail(broken(`nothing for ${START_TIMEOUT_MS / 1000} seconds`)),
      START_TIMEOUT_MS,
    );
    try {
      await kernel.#ready.promise;
      return kernel;
    } finally {
      clearTimeout(timer);
    }
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Runs a piece of code; resolves when it has ended and everything that it printed was handed on. */
  async run(
    encode: (run: number) => Promise<Buffer>,
    listener: KernelListener,
  ): Promise<Finished | KernelEnd> {
    const run = ++this.#runs;
    const order = await encode(run);
    this.#listener = listener;
    for (const { type, data } of this.#backlog.splice(0)) this.#output(type, data);
    this.#backlogBytes = 0;
    const finished = createDeferred<Finished>();
    this.#finish = (each) => {
      if (each.run === run) finished.resolve(each);
    };
    try {
      this.#handle.control!.write(order);
      if (this.#options.hearsInterrupts) this.#started(run);
      const outcome = await Promise.race([finished.promise, this.ended]);
      await this.#emptied();
      return outcome;
    } finally {
      this.#listener = undefined;
      this.#finish = undefined;
      this.#isStarted = false;
      this.#isInterrupted = false;
      this.#resume();
    }
  }

  /** Room for more of what the code prints. */
  resume(): void {
    this.#resume();
  }

  /** Ctrl-C, for the code that runs, or is about to, and what it started. */
  interrupt(): void {
    this.#isInterrupted = true;
    if (this.#isStarted) this.#sendInterrupt();
  }

  /** The code has not come to its end: what it was just starting, or its shell beside that, may have missed the first one. */
  interruptAgain(): void {
    const { repeatsInterrupts, encodeRepeatedInterrupt } = this.#options;
    if (repeatsInterrupts !== true || !this.#isStarted || this.#isOver) return;
    this.#handle.signal(SIGINT);
    if (encodeRepeatedInterrupt !== undefined)
      this.#handle.control!.write(encodeRepeatedInterrupt(this.#runs));
  }

  /** Kills it and everything it started. */
  kill(): void {
    this.#handle.kill();
  }

  /** Has it make a copy that rests, and makes further ones of itself. Rejects when it says why not. */
  async freeze(): Promise<WarmHandle> {
    const refused = createDeferred<never>();
    this.#refuse = (why) => {
      const hint = /\[Errno (?:11|12)\]/.test(why)
        ? "The sandbox has no room for another process: delete checkpoints, or raise limits.pids or limits.memory."
        : "Wait for the code's threads to end, or stop them. Their processes and files do not matter.";
      refused.reject(
        new SandboxError("CHECKPOINT_FAILED", `No checkpoint can be taken now: ${why}`, { hint }),
      );
    };
    const frozen = this.#handle.freeze(encodeMessage({ op: "freeze" }));
    const late = () => new SandboxError("CHECKPOINT_FAILED", "The context did not answer");
    try {
      const outcome = Promise.race([frozen.ready.catch(lostCopy), refused.promise]);
      await withTimeout(outcome, FREEZE_TIMEOUT_MS, late);
      return frozen;
    } catch (error) {
      frozen.stop();
      throw error;
    } finally {
      this.#refuse = undefined;
    }
  }

  #hear(message: KernelMessage, bytes: number): void {
    if (message.type === "ready") this.#ready.resolve();
    else if (message.type === "refused") this.#refuse?.(message.why);
    else if (message.type === "started") this.#started(message.run);
    else {
      this.#heard.push({ message, bytes });
      this.#heardBytes += bytes;
      if (this.#heardBytes > HEARD_BYTES) this.#handle.control!.pause();
      if (!this.#isDraining) void this.#handOn();
    }
  }

  #started(run: number): void {
    if (run !== this.#runs || this.#finish === undefined) return;
    this.#isStarted = true;
    if (this.#isInterrupted) this.#sendInterrupt();
  }

  #sendInterrupt(): void {
    this.#handle.signal(SIGINT);
    if (this.#options.hearsInterrupts)
      this.#handle.control!.write(encodeMessage({ op: "interrupt", run: this.#runs }));
  }

  /** What was printed before something was shown comes before it. */
  async #handOn(): Promise<void> {
    this.#isDraining = true;
    while (this.#heard.length > 0) {
      const count = this.#heard.length;
      await Promise.race([this.#handle.drain(), this.ended]);
      await this.#emptied();
      for (const { message, bytes } of this.#heard.splice(0, count)) {
        this.#heardBytes -= bytes;
        if (message.type === "result") this.#listener?.result(message.result, bytes);
        else if (message.type === "done") this.#finish?.(message);
      }
      if (this.#heardBytes <= HEARD_BYTES) this.#handle.control!.resume();
    }
    this.#isDraining = false;
  }

  async #emptied(): Promise<void> {
    await Promise.all([emptied(this.#handle.stdout), emptied(this.#handle.stderr)]);
  }

  #output(type: "stdout" | "stderr", data: Buffer): void {
    if (this.#listener === undefined) {
      if (this.#backlogBytes + data.length > BACKLOG_BYTES) return;
      this.#backlogBytes += data.length;
      this.#backlog.push({ type, data: Buffer.from(data) });
    } else if (!this.#listener.output(type, data)) {
      this.#handle.stdout.pause();
      this.#handle.stderr.pause();
    }
  }

  #resume(): void {
    this.#handle.stdout.resume();
    this.#handle.stderr.resume();
  }

  /** It has closed its control socket: mostly because it is just ending. */
  #waitForEnd(): void {
    const timer = setTimeout(() => this.#fail(broken("nothing any more, and went on")), END_GRACE_MS);
    void this.ended.then(() => clearTimeout(timer));
  }

  /** It is useless: it can no longer be reached. */
  #fail(error: SandboxError): void {
    if (this.#isOver) return;
    this.#error ??= error;
    this.#handle.kill();
  }

  #over({ exit, error }: KernelEnd): void {
    this.#isOver = true;
    const failure = this.#error ?? error;
    this.#handle.control!.destroy();
    this.#ready.reject(
      failure ??
        new SandboxError("EXECUTION_FAILED", "The context's interpreter ended while it started", {
          hint: "The sandbox may be out of memory or processes.",
        }),
    );
    this.#end.resolve({ exit, ...(failure !== undefined && { error: failure }) });
  }
}

function lostCopy(error: unknown): never {
  throw new SandboxError("CHECKPOINT_FAILED", "The copy of the context ended while it started", {
    hint: "The sandbox may be out of memory or processes: checkpoints count against its limits.",
    cause: error,
  });
}

/** Resolves when everything that the guest has sent was taken. */
async function emptied(stream: Readable): Promise<void> {
  while (stream.readableLength > 0 && !stream.destroyed) {
    await new Promise<void>((resolve) => {
      stream.once("data", () => resolve());
      stream.once("close", resolve);
    });
    await null;
  }
}

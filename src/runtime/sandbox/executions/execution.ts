import { isUtf8 } from "node:buffer";
import { constants } from "node:os";
import { StringDecoder } from "node:string_decoder";
import { type ExecutionResult, outputBytes, type PrintedOutput } from "./result.js";

/** What happens while a command runs, in the order it happens. The last event is the exit. `More`: of its own kind. */
export type ExecutionEvent<Result extends ExecutionResult = ExecutionResult, More = never> =
  | { readonly type: "started"; readonly pid: number }
  /** What it printed: as text, in which a character is never cut, and as the bytes themselves. */
  | { readonly type: "stdout" | "stderr"; readonly text: string; readonly data: Buffer }
  | { readonly type: "exit"; readonly result: Result }
  | More;

/** Where a running command's output goes. */
export interface OutputSink {
  /** True: a reader takes the output as it comes. False: it is kept for the result, until a reader begins. */
  readonly streams: boolean;
  /** Returns false when it wants no more for now; `onDrain` is called when it does again. */
  output(type: "stdout" | "stderr", data: Buffer): boolean;
  onDrain: (() => void) | undefined;
}

/** What can be done to a command while it runs; afterwards nothing comes of it. */
export interface CommandControls {
  /** Of what runs on a terminal. */
  resize(rows: number, columns: number): void;
  /** A signal by its number, to the whole process group. */
  signal(number: number): void;
}

/** An execution as its runner sees it. */
export interface ExecutionSink<More = never> extends OutputSink {
  /** Reports any other event, without back-pressure. Left out: the caller takes no events. */
  emit?(event: More): void;
  /** The output for the result: what was kept; nothing where a reader has it. */
  printed(isTruncated: boolean): PrintedOutput;
  /** Tells that the process exists. */
  started(pid: number, controls: CommandControls): void;
  /** Aborted when an iterator was left before the end. */
  readonly signal: AbortSignal;
}

const QUEUE_BYTES = 1024 * 1024;

/**
 * A command on its way: await it for its result, or iterate it for its events. Iterated, it streams: the events come as they
 * happen, unread ones hold the program back instead of filling memory, and the result has no output. A loop that begins later
 * gets what was kept until then first. A second loop gets the exit only.
 */
export class Execution<
  Result extends ExecutionResult = ExecutionResult,
  More extends { readonly type: string } = never,
> implements PromiseLike<Result>, AsyncIterable<ExecutionEvent<Result, More>>, ExecutionSink<More>
{
  onDrain: (() => void) | undefined;
  readonly #result: Promise<Result>;
  readonly #decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
  #streams = false;
  readonly #queue: ExecutionEvent<Result, More>[] = [];
  /** The bytes of output in the queue. */
  #queued = 0;
  #discards = false;
  #controls: CommandControls | undefined;
  readonly #abort = new AbortController();
  #wake: (() => void) | undefined;
  #ended = false;
  #failure: unknown;

  /** @internal */
  constructor(start: (sink: ExecutionSink<More>) => Promise<Result>) {
    this.#result = Promise.resolve().then(() => start(this));
    this.#result.then(
      (result) => this.#end({ type: "exit", result }),
      (error) => {
        this.#failure = error;
        this.#end(undefined);
      },
    );
  }

  // biome-ignore lint/suspicious/noThenProperty: being awaitable is the point
  then<A = Result, B = never>(
    onFulfilled?: ((result: Result) => A | PromiseLike<A>) | null,
    onRejected?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#result.then(onFulfilled, onRejected);
  }

  catch<B = never>(onRejected: (error: unknown) => B | PromiseLike<B>): Promise<Result | B> {
    return this.then(undefined, onRejected);
  }

  finally(onFinally: () => void): Promise<Result> {
    return this.then().finally(onFinally);
  }

  /** Its output as it was printed, without being read as text; empty where it was iterated while it ran: the events had it. */
  async bytes(): Promise<{ readonly stdout: Buffer; readonly stderr: Buffer }> {
    const result = await this.#result;
    return { stdout: outputBytes(result, "stdout"), stderr: outputBytes(result, "stderr") };
  }

  /** Ctrl-C: SIGINT to its process group. False: it does not run yet, or is over. */
  interrupt(): boolean {
    if (this.#controls === undefined || this.#ended) return false;
    this.#controls.signal(constants.signals.SIGINT);
    return true;
  }

  get streams(): boolean {
    return this.#streams;
  }

  /** Aborted when an iterator was left before the end. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get [Symbol.toStringTag](): string {
    return "Execution";
  }

  [Symbol.asyncIterator](): AsyncGenerator<ExecutionEvent<Result, More>> {
    if (this.#streams) return this.#exit();
    this.#streams = true;
    return this.#events();
  }

  async *#exit(): AsyncGenerator<ExecutionEvent<Result, More>> {
    yield { type: "exit", result: await this.#result };
  }

  async *#events(): AsyncGenerator<ExecutionEvent<Result, More>> {
    try {
      for (;;) {
        const event = this.#queue.shift();
        if (event !== undefined) {
          this.#took(event);
          if (event.type === "exit") yield* this.#restOfText();
          yield event;
          if (event.type === "exit") return;
        } else if (this.#ended) {
          if (this.#failure !== undefined) throw this.#failure;
          return;
        } else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      if (!this.#ended) this.#abort.abort();
      this.#discard();
    }
  }

  started(pid: number, controls: CommandControls): void {
    this.#controls = controls;
    this.#push({ type: "started", pid });
  }

  emit(event: More): void {
    this.#push(event);
  }

  output(type: "stdout" | "stderr", data: Buffer): boolean {
    if (this.#discards) return true;
    // A small part of a large chunk would keep the whole chunk in memory.
    const isPart = !this.#streams && data.length * 4 < data.buffer.byteLength;
    this.#push(this.#outputEvent(type, isPart ? Buffer.from(data) : data));
    this.#queued += data.length;
    return !this.#streams || this.#queued < QUEUE_BYTES;
  }

  printed(isTruncated: boolean): PrintedOutput {
    const bytesOf = (type: "stdout" | "stderr") =>
      Buffer.concat(
        this.#streams ? [] : this.#queue.flatMap((e) => (isOutput(e) && e.type === type ? [e.data] : [])),
      );
    const [stdout, stderr] = [bytesOf("stdout"), bytesOf("stderr")];
    return {
      stdout: textOf(stdout, isTruncated),
      stderr: textOf(stderr, isTruncated),
      ...(!isUtf8(stdout) && { stdoutBase64: stdout.toString("base64") }),
      ...(!isUtf8(stderr) && { stderrBase64: stderr.toString("base64") }),
    };
  }

  /** Decodes on demand: most callers with much output want its bytes. */
  #outputEvent(type: "stdout" | "stderr", data: Buffer) {
    const decoder = this.#decoders[type];
    let text: string | undefined;
    return {
      type,
      data,
      get text() {
        text ??= decoder.write(data);
        return text;
      },
    };
  }

  /** Bytes at the very end that are no character. */
  *#restOfText(): Generator<ExecutionEvent<Result, More>> {
    for (const type of ["stdout", "stderr"] as const) {
      const text = this.#decoders[type].end();
      if (text !== "") yield { type, text, data: Buffer.alloc(0) };
    }
  }

  #took(event: ExecutionEvent<Result, More>): void {
    if (!isOutput(event)) return;
    const wasFull = this.#queued >= QUEUE_BYTES;
    this.#queued -= event.data.length;
    if (wasFull && this.#queued < QUEUE_BYTES) this.onDrain?.();
  }

  #discard(): void {
    this.#discards = true;
    this.#queue.length = 0;
    this.#queued = 0;
    this.onDrain?.();
  }

  #push(event: ExecutionEvent<Result, More>): void {
    if (this.#discards) return;
    this.#queue.push(event);
    this.#notify();
  }

  #end(exit: ExecutionEvent<Result, More> | undefined): void {
    this.#ended = true;
    if (exit !== undefined) this.#queue.push(exit);
    this.#notify();
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}

/** Bytes that are no UTF-8 become replacement characters; a character cut by a limit is left out. */
function textOf(bytes: Buffer, isTruncated: boolean): string {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return isTruncated ? decoder.decode(bytes, { stream: true }) : bytes.toString("utf8");
}

function isOutput(event: { readonly type: string }): event is { type: "stdout" | "stderr"; data: Buffer } {
  return event.type === "stdout" || event.type === "stderr";
}

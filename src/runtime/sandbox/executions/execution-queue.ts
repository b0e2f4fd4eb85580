import { isUtf8 } from "node:buffer";
import { constants } from "node:os";
import { StringDecoder } from "node:string_decoder";
import type { CommandControls, ExecutionEvent, ExecutionSink } from "./execution-sink.js";
import type { ExecutionResult, PrintedOutput } from "./result.js";

const QUEUE_BYTES = 1024 * 1024;

/** The events of one execution, between what runs it and the loop that reads them. */
export class ExecutionQueue<
  Result extends ExecutionResult = ExecutionResult,
  More extends { readonly type: string } = never,
> implements ExecutionSink<More>
{
  onDrain: (() => void) | undefined;
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

  get streams(): boolean {
    return this.#streams;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The events for a loop: from now on they stream. Undefined: another loop has them. */
  read(): AsyncGenerator<ExecutionEvent<Result, More>> | undefined {
    if (this.#streams) return undefined;
    this.#streams = true;
    return this.#events();
  }

  /** SIGINT to the command's process group. False: it does not run yet, or is over. */
  interrupt(): boolean {
    if (this.#controls === undefined || this.#ended) return false;
    return this.#controls.signal(constants.signals.SIGINT);
  }

  /** Nothing comes any more. */
  end(result: Result): void {
    this.#queue.push({ type: "exit", result });
    this.#ended = true;
    this.#notify();
  }

  /** The same, for a loop that is to throw. */
  fail(error: unknown): void {
    this.#failure = error;
    this.#ended = true;
    this.#notify();
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

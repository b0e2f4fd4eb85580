import { apiErrorOf } from "./api-error.js";
import type { components } from "./api-types.js";
import { cut, readEvents } from "./events.js";
import { cancelled, SandboxError } from "./sandbox-error.js";
import type { Transport } from "./transport.js";

export type ExecutionResult = components["schemas"]["ExecutionResult"];
export type RichResult = NonNullable<ExecutionResult["results"]>[number];

/** What happens while something runs, in the order it happens. The last event is the exit. */
export type ExecutionEvent =
  | { readonly type: "execution"; readonly executionId: string; readonly sessionId: string }
  | { readonly type: "started" }
  /** As text, in which a character is never cut, and as the bytes themselves. */
  | { readonly type: "stdout" | "stderr"; readonly text: string; readonly data: Uint8Array }
  | { readonly type: "result"; readonly result: RichResult }
  | { readonly type: "exit"; readonly result: ExecutionResult };

type OutputEvent = Extract<ExecutionEvent, { readonly data: Uint8Array }>;

/** What to send; made when it is sent, so that what is wrong with it is the execution's error. */
export interface ExecutionOrder {
  readonly path: string;
  readonly json: object;
  readonly signal?: AbortSignal | undefined;
}

/** So many bytes of output are read ahead of a loop; more holds the program back. */
const AHEAD_BYTES = 1024 * 1024;
/** So many bytes of output are kept while nobody has asked for them. */
const KEPT_BYTES = 10 * 1024 * 1024;

/**
 * Something on its way: await it for its result, or iterate it for its events. Awaited where it is made, it is one answer.
 * Otherwise events come as they happen, also to a loop that begins later; more than 10 MiB of output without a loop hold the
 * program back, and are BODY_TOO_LARGE where it is awaited then. A second loop gets the exit only. To leave the loop early ends
 * what runs. It is sent once, and never again by itself.
 */
export class RemoteExecution implements PromiseLike<ExecutionResult>, AsyncIterable<ExecutionEvent> {
  readonly #transport: Transport;
  readonly #order: () => ExecutionOrder;
  #signal: AbortSignal | undefined;
  readonly #hangUp = new AbortController();
  readonly #result: Promise<ExecutionResult>;
  readonly #queue: ExecutionEvent[] = [];
  /** The bytes of output in the queue. */
  #queued = 0;
  #isAwaited = false;
  #isIterated = false;
  #isOver = false;
  /** Resolvers of those that wait for a field above to change: the loop, and what reads ahead of it. */
  readonly #waiting = new Set<() => void>();

  /** @internal */
  constructor(transport: Transport, order: () => ExecutionOrder) {
    this.#transport = transport;
    this.#order = order;
    this.#result = this.#run().finally(() => {
      this.#isOver = true;
      this.#changed();
    });
    this.#result.catch(() => undefined);
  }

  // biome-ignore lint/suspicious/noThenProperty: being awaitable is the point
  then<A = ExecutionResult, B = never>(
    onFulfilled?: ((result: ExecutionResult) => A | PromiseLike<A>) | null,
    onRejected?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#isAwaited = true;
    this.#changed();
    return this.#result.then(onFulfilled, onRejected);
  }

  catch<B = never>(onRejected: (error: unknown) => B | PromiseLike<B>): Promise<ExecutionResult | B> {
    return this.then(undefined, onRejected);
  }

  finally(onFinally: () => void): Promise<ExecutionResult> {
    return this.then().finally(onFinally);
  }

  [Symbol.asyncIterator](): AsyncGenerator<ExecutionEvent> {
    if (this.#isIterated) return this.#exit();
    this.#isIterated = true;
    this.#changed();
    return this.#events();
  }

  /** Its output as it was printed, without being read as text; empty where it was iterated while it ran: the events had it. */
  async bytes(): Promise<{ readonly stdout: Uint8Array; readonly stderr: Uint8Array }> {
    const { stdout, stderr, stdoutBase64, stderrBase64 } = await this;
    return { stdout: bytesOf(stdout, stdoutBase64), stderr: bytesOf(stderr, stderrBase64) };
  }

  get [Symbol.toStringTag](): string {
    return "RemoteExecution";
  }

  async #run(): Promise<ExecutionResult> {
    // An `await` or a loop where it is made comes before this.
    for (let turn = 0; turn < 4; turn++) await undefined;
    const isWhole = this.#isAwaited && !this.#isIterated;
    const { path, json, signal } = this.#order();
    this.#signal = signal;
    const ending = AbortSignal.any([
      this.#hangUp.signal,
      this.#transport.ended,
      ...(signal === undefined ? [] : [signal]),
    ]);
    ending.addEventListener("abort", () => this.#changed());
    const response = await this.#transport.request("POST", path, {
      json,
      signal: ending,
      ...(!isWhole && { headers: { accept: "text/event-stream" } }),
    });
    try {
      return isWhole
        ? this.#keep((await response.json()) as ExecutionResult)
        : await this.#read(response, ending);
    } catch (error) {
      if (this.#hangUp.signal.aborted) throw this.#hangUp.signal.reason;
      throw error instanceof SandboxError ? error : this.#lost(error);
    }
  }

  /** The events of a result that came as one answer. */
  #keep(result: ExecutionResult): ExecutionResult {
    for (const type of ["stdout", "stderr"] as const)
      if (result[type] !== "") this.#queue.push(outputEvent(type, result[type], result[`${type}Base64`]));
    for (const shown of result.results ?? []) this.#queue.push({ type: "result", result: shown });
    return result;
  }

  async #read(response: Response, ending: AbortSignal): Promise<ExecutionResult> {
    for await (const { event, data } of readEvents(response)) {
      if (event === "error") throw apiErrorOf(data, response.status, response.headers);
      const told = eventOf(event, data);
      if (told === undefined) continue;
      if (told.type === "exit")
        return this.#isIterated ? told.result : { ...told.result, ...this.#printed() };
      this.#queue.push(told);
      this.#queued += sizeOf(told);
      this.#changed();
      while (this.#queued >= (this.#isIterated ? AHEAD_BYTES : KEPT_BYTES)) {
        if (ending.aborted) throw ending.reason;
        if (this.#isAwaited && !this.#isIterated) throw tooLarge();
        await this.#change();
      }
    }
    throw cut(undefined);
  }

  /** The output that nobody has read, as a result has it. */
  #printed(): Partial<ExecutionResult> {
    const events = this.#queue.filter((event) => "text" in event);
    return { ...printedBy(events, "stdout"), ...printedBy(events, "stderr") };
  }

  async *#events(): AsyncGenerator<ExecutionEvent> {
    try {
      for (;;) {
        const event = this.#queue.shift();
        if (event !== undefined) {
          this.#queued -= sizeOf(event);
          this.#changed();
          yield event;
        } else if (this.#isOver) {
          yield* this.#exit();
          return;
        } else await this.#change();
      }
    } finally {
      this.#hangUp.abort(
        new SandboxError("CANCELLED", "The loop over its events was left early, which ended it"),
      );
    }
  }

  async *#exit(): AsyncGenerator<ExecutionEvent> {
    yield { type: "exit", result: await this.#result };
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  #changed(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  #lost(error: unknown): SandboxError {
    const { ended } = this.#transport;
    if (ended.aborted) return ended.reason as SandboxError;
    if (this.#signal?.aborted === true) return cancelled(error);
    return cut(error);
  }
}

/** Undefined: an event that a later server may know. */
function eventOf(type: string, data: unknown): ExecutionEvent | undefined {
  switch (type) {
    case "execution":
      return { type, ...(data as object) } as ExecutionEvent;
    case "stdout":
    case "stderr": {
      const { text, base64 } = data as { readonly text: string; readonly base64?: string };
      return outputEvent(type, text, base64);
    }
    case "started":
      return { type };
    case "result":
      return { type, result: data as RichResult };
    case "exit":
      return { type, result: data as ExecutionResult };
    default:
      return undefined;
  }
}

function outputEvent(type: "stdout" | "stderr", text: string, base64: string | undefined): ExecutionEvent {
  return {
    type,
    text,
    get data() {
      return bytesOf(text, base64);
    },
  };
}

/** Without base64 the bytes are those of the text. */
function bytesOf(text: string, base64: string | undefined): Uint8Array {
  if (base64 === undefined) return new TextEncoder().encode(text);
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

/** One output of a result, from its events. */
function printedBy(events: readonly OutputEvent[], type: OutputEvent["type"]): Partial<ExecutionResult> {
  const own = events.filter((event) => event.type === type);
  const text = own.map((event) => event.text).join("");
  // The bytes of an event are not those of its text where it has a part of a character.
  const letters = own.map(({ data }) => lettersOf(data)).join("");
  return {
    [type]: text,
    ...(letters !== lettersOf(new TextEncoder().encode(text)) && { [`${type}Base64`]: btoa(letters) }),
  };
}

/** A letter for each byte, as `btoa` takes them. */
function lettersOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}

function sizeOf(event: ExecutionEvent): number {
  return "text" in event ? event.text.length : 0;
}

function tooLarge(): SandboxError {
  return new SandboxError("BODY_TOO_LARGE", "It printed more than is kept without a loop; it was ended", {
    hint: "Await it where it is made, or iterate it.",
  });
}

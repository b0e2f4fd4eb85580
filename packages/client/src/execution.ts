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
  /** What it printed: as text, in which a character is never cut, and as the bytes themselves. */
  | { readonly type: "stdout" | "stderr"; readonly text: string; readonly data: Uint8Array }
  | { readonly type: "result"; readonly result: RichResult }
  | { readonly type: "exit"; readonly result: ExecutionResult };

/** What to send; made when it is sent, so that what is wrong with it is the execution's error. */
export interface ExecutionOrder {
  readonly path: string;
  readonly json: object;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Something on its way: await it for its result, or iterate it for its events. Iterated where it is made, events come as they
 * happen; iterated later, they come at the end. To leave the loop early ends what runs. It is sent once, and never again by itself.
 */
export class RemoteExecution implements PromiseLike<ExecutionResult>, AsyncIterable<ExecutionEvent> {
  readonly #transport: Transport;
  readonly #order: () => ExecutionOrder;
  #signal: AbortSignal | undefined;
  readonly #hangUp = new AbortController();
  readonly #answer: Promise<Response>;
  #streams = false;
  #isSent = false;
  #result: Promise<ExecutionResult> | undefined;

  /** @internal */
  constructor(transport: Transport, order: () => ExecutionOrder) {
    this.#transport = transport;
    this.#order = order;
    // A loop over it asks for the iterator before this.
    this.#answer = Promise.resolve().then(() => this.#send());
    this.#answer.catch(() => undefined);
  }

  // biome-ignore lint/suspicious/noThenProperty: being awaitable is the point
  then<A = ExecutionResult, B = never>(
    onFulfilled?: ((result: ExecutionResult) => A | PromiseLike<A>) | null,
    onRejected?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#result ??= this.#whole();
    return this.#result.then(onFulfilled, onRejected);
  }

  catch<B = never>(onRejected: (error: unknown) => B | PromiseLike<B>): Promise<ExecutionResult | B> {
    return this.then(undefined, onRejected);
  }

  finally(onFinally: () => void): Promise<ExecutionResult> {
    return this.then().finally(onFinally);
  }

  [Symbol.asyncIterator](): AsyncGenerator<ExecutionEvent> {
    // The events come once: a second loop has the exit only.
    if (this.#isSent || this.#result !== undefined) return this.#wholeOutput();
    this.#streams = true;
    let settle!: Parameters<ConstructorParameters<typeof Promise<ExecutionResult>>[0]>;
    this.#result = new Promise((...both) => {
      settle = both;
    });
    this.#result.catch(() => undefined);
    return this.#events(...settle);
  }

  /** Its output as it was printed, without being read as text; empty where it was iterated: the events had it. */
  async bytes(): Promise<{ readonly stdout: Uint8Array; readonly stderr: Uint8Array }> {
    const { stdout, stderr, stdoutBase64, stderrBase64 } = await this;
    return { stdout: bytesOf(stdout, stdoutBase64), stderr: bytesOf(stderr, stderrBase64) };
  }

  get [Symbol.toStringTag](): string {
    return "RemoteExecution";
  }

  async #send(): Promise<Response> {
    this.#isSent = true;
    const { path, json, signal } = this.#order();
    this.#signal = signal;
    const signals = [this.#hangUp.signal, ...(signal === undefined ? [] : [signal])];
    return this.#transport.request("POST", path, {
      json,
      signal: AbortSignal.any(signals),
      ...(this.#streams && { headers: { accept: "text/event-stream" } }),
    });
  }

  async #whole(): Promise<ExecutionResult> {
    const response = await this.#answer;
    try {
      return (await response.json()) as ExecutionResult;
    } catch (error) {
      throw this.#lost(error);
    }
  }

  async *#wholeOutput(): AsyncGenerator<ExecutionEvent> {
    const result = await this;
    for (const type of ["stdout", "stderr"] as const)
      if (result[type] !== "") yield outputEvent(type, result[type], result[`${type}Base64`]);
    for (const shown of result.results ?? []) yield { type: "result", result: shown };
    yield { type: "exit", result };
  }

  async *#events(
    resolve: (result: ExecutionResult) => void,
    reject: (error: SandboxError) => void,
  ): AsyncGenerator<ExecutionEvent> {
    try {
      const response = await this.#answer;
      for await (const { event, data } of readEvents(response)) {
        if (event === "error") throw apiErrorOf(data, response.status, response.headers);
        const told = eventOf(event, data);
        if (told === undefined) continue;
        if (told.type === "exit") resolve(told.result);
        yield told;
        if (told.type === "exit") return;
      }
      throw cut(undefined);
    } catch (error) {
      const known = error instanceof SandboxError ? error : this.#lost(error);
      reject(known);
      throw known;
    } finally {
      this.#hangUp.abort();
      reject(new SandboxError("CANCELLED", "The loop over its events was left early, which ended it"));
    }
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

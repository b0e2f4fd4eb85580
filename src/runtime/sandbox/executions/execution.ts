import { ExecutionQueue } from "./execution-queue.js";
import type { ExecutionEvent, ExecutionSink } from "./execution-sink.js";
import { type ExecutionResult, outputBytes } from "./result.js";

/**
 * A command on its way: await it for its result, or iterate it for its events. Iterated, it streams: the events come as they
 * happen, unread ones hold the program back instead of filling memory, and the result has no output. A loop that begins later
 * gets what was kept until then first. A second loop gets the exit only.
 */
export class Execution<
  Result extends ExecutionResult = ExecutionResult,
  More extends { readonly type: string } = never,
> implements PromiseLike<Result>, AsyncIterable<ExecutionEvent<Result, More>>
{
  readonly #result: Promise<Result>;
  /** Private, and handed to what runs it alone: who has the execution cannot forge its output. */
  readonly #queue = new ExecutionQueue<Result, More>();

  /** @internal */
  constructor(start: (sink: ExecutionSink<More>) => Promise<Result>) {
    this.#result = Promise.resolve().then(() => start(this.#queue));
    this.#result.then(
      (result) => this.#queue.end(result),
      (error) => this.#queue.fail(error),
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
    return this.#queue.interrupt();
  }

  get [Symbol.toStringTag](): string {
    return "Execution";
  }

  [Symbol.asyncIterator](): AsyncGenerator<ExecutionEvent<Result, More>> {
    return this.#queue.read() ?? this.#exit();
  }

  async *#exit(): AsyncGenerator<ExecutionEvent<Result, More>> {
    yield { type: "exit", result: await this.#result };
  }
}

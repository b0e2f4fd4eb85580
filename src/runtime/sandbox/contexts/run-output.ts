import type { ExecutionSink } from "../executions/execution.js";
import { OutputCollector } from "../executions/output-collector.js";
import type { CommandOutcome, Reason } from "../executions/result.js";
import type { ContextRunOptions } from "./context-options.js";
import type { ResultEvent, RichResult } from "./context-result.js";

/** What a result's own envelope may add to it on the wire. */
const WIRE_FACTOR = 2;

/** What one run shows. The interpreter keeps to the budget; one that was taken over does not. */
export class ShownResults {
  readonly results: RichResult[] = [];
  isCut = false;
  #left: number;

  constructor(budget: number) {
    this.#left = WIRE_FACTOR * budget;
  }

  /** False: there is no more room. */
  take(result: RichResult, bytes: number): boolean {
    this.#left -= bytes;
    if (this.#left < 0) this.isCut = true;
    else this.results.push(result);
    return !this.isCut;
  }
}

/** What one run prints: collected, or handed on as it comes. */
export class RunOutput {
  onLimit: () => void = () => undefined;
  readonly #sink: ExecutionSink<ResultEvent>;
  readonly #streams: boolean;
  readonly #collector: OutputCollector;
  #left: number;
  #isOver = false;

  constructor(sink: ExecutionSink<ResultEvent>, options: ContextRunOptions, maxBytes: number) {
    this.#sink = sink;
    this.#streams = sink.streams;
    const limit = options.maxOutputBytes ?? (this.#streams ? Number.POSITIVE_INFINITY : maxBytes);
    this.#collector = new OutputCollector(limit);
    this.#left = limit;
  }

  take(type: "stdout" | "stderr", data: Buffer): boolean {
    this.#left -= data.length;
    if (this.#left < 0 && !this.#isOver) {
      this.#isOver = true;
      this.onLimit();
    }
    if (!this.#streams) this.#collector.add(type, data);
    return !this.#streams || this.#isOver || this.#sink.output(type, data);
  }

  describe(outcome: CommandOutcome, reason: Reason | undefined): CommandOutcome {
    return {
      ...outcome,
      reason: reason ?? outcome.reason,
      ...this.#collector.output,
      truncated: this.#isOver,
    };
  }
}

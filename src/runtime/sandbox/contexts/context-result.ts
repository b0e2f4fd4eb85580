import type { ExecutionEvent } from "../executions/execution-sink.js";
import type { ExecutionResult } from "../executions/result.js";

/** A value as code showed it, in every form it has. Written by the code inside: a page shows it only after cleaning it. */
export interface RichResult {
  /** By MIME type: text as it is, pictures as base64, JSON as a value. `text/plain` is always there. */
  readonly data: Readonly<Record<string, unknown>>;
  /** True for the value of the last expression, false for what `display()` was given and for figures. */
  readonly isMain: boolean;
}

/** An error that the code did not catch. */
export interface CodeException {
  /** "ZeroDivisionError" */
  readonly name: string;
  readonly value: string;
  /** With the code's own lines. */
  readonly traceback: string;
}

/** What came of one piece of code in a context. */
export interface ContextResult extends ExecutionResult {
  readonly contextId: string;
  /** In the order in which they were shown. */
  readonly results: readonly RichResult[];
  readonly exception?: CodeException;
  /** The how manieth piece of code in this context; 0: it did not get that far. */
  readonly executionCount: number;
  /** True when a result was too large, and left out or cut. */
  readonly resultsTruncated?: boolean;
}

/** A result as it is shown, besides the events of every execution. */
export interface ResultEvent {
  readonly type: "result";
  readonly result: RichResult;
}

export type ContextEvent = ExecutionEvent<ContextResult, ResultEvent>;

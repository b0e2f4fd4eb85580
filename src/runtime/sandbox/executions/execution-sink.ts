import type { ExecutionResult, PrintedOutput } from "./result.js";

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
  /** A signal by its number, to the whole process group. False: the command is over. */
  signal(number: number): boolean;
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

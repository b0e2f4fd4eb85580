import { Readable } from "node:stream";
import type { CommandControls, ExecutionSink, PrintedOutput } from "../../../runtime/sandbox/index.js";

/** How much may be unread before the program is held back: bytes of a terminal, pieces of a process. */
const SCREEN_BYTES = 1024 * 1024;
const PIECES = 16;

/** A piece of what a process prints. */
export interface OutputPiece {
  readonly type: "stdout" | "stderr";
  readonly data: Buffer;
}

/** The output of what lasts, on its way to a reader: a reader that is destroyed ends the call. */
export class LongRunningOutput implements ExecutionSink {
  readonly streams = true;
  onDrain: (() => void) | undefined;
  /** Called when the process exists. */
  onStarted: ((controls: CommandControls) => void) | undefined;
  /** Bytes, as they are on a screen; or each as an `OutputPiece`. */
  readonly kind: "screen" | "pieces";
  readonly reader: Readable;
  readonly signal: AbortSignal;
  #ended = false;

  constructor(kind: LongRunningOutput["kind"], ending: AbortController) {
    this.kind = kind;
    this.signal = ending.signal;
    this.reader = new Readable({
      objectMode: kind === "pieces",
      highWaterMark: kind === "pieces" ? PIECES : SCREEN_BYTES,
      read: () => this.onDrain?.(),
      destroy: (error, done) => {
        if (!this.#ended) ending.abort();
        done(error);
      },
    });
    // The rest of a cancelled call is not waited for.
    this.signal.addEventListener("abort", () => this.onDrain?.(), { once: true });
  }

  started(_pid: number, controls: CommandControls): void {
    this.onStarted?.(controls);
  }

  output(type: "stdout" | "stderr", data: Buffer): boolean {
    if (this.signal.aborted || this.reader.destroyed) return true;
    return this.reader.push(this.kind === "screen" ? data : ({ type, data } satisfies OutputPiece));
  }

  printed(): PrintedOutput {
    return { stdout: "", stderr: "" };
  }

  /** Nothing more comes. */
  end(): void {
    this.#ended = true;
    if (!this.reader.destroyed) this.reader.push(null);
  }
}

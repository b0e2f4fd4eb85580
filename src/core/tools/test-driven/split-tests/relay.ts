import type { Duplex } from "node:stream";
import { encodeFrame, readFrames } from "../../../../runtime/sandbox/index.js";

/** The two processes of a run, and who is to blame when something is wrong. */
export type RelaySide = "solution" | "tests";

/** More than any value of a test; one that is larger is refused inside already. */
const MAX_FRAME_BYTES = 17 * 1024 * 1024;
/** What may go through in all, each way. */
const MAX_TOTAL_BYTES = 1024 * 1024 * 1024;
const FOR_HOST = "J".charCodeAt(0);
const FOR_OTHER = "R".charCodeAt(0);

export interface RelayOptions {
  /** Takes what a process tells the host. What it throws means that this was no message. */
  onMessage(from: RelaySide, message: unknown): void;
  /** Something came that is no message, or too much: nothing of that process counts any more. Called once. */
  onViolation(from: RelaySide, what: string): void;
  readonly maxTotalBytes?: number;
}

/**
 * Carries frames between the solution's process and the tests', which know nothing else of each other. What is for the host is
 * told to it; the rest is handed on as it is, and only counted.
 */
export class Relay {
  readonly #streams = new Map<RelaySide, Duplex>();
  readonly #totals = { solution: 0, tests: 0 };
  #isBroken = false;
  /** Which process got the last message. */
  #atWork: RelaySide | undefined;

  constructor(private readonly options: RelayOptions) {}

  /** Takes one process's socket. The tests are read only when the solution is attached too. */
  attach(side: RelaySide, stream: Duplex): void {
    this.#streams.set(side, stream);
    stream.on("error", () => undefined);
    const tests = this.#streams.get("tests");
    if (side === "solution") this.#read("solution", stream);
    if (tests !== undefined && this.#streams.has("solution")) this.#read("tests", tests);
  }

  /** Whose turn it is: the one that the last words between the two went to; undefined: there were none. */
  get atWork(): RelaySide | undefined {
    return this.#atWork;
  }

  /** Tells one of them that there is nothing more to do. */
  end(side: RelaySide): void {
    this.#streams.get(side)?.end();
  }

  #read(side: RelaySide, stream: Duplex): void {
    readFrames(
      stream,
      MAX_FRAME_BYTES,
      (frame) => this.#take(side, frame),
      (problem) => {
        if (problem !== undefined) this.#violate(side, String(problem));
      },
    );
  }

  #take(side: RelaySide, frame: Buffer): void {
    if (this.#isBroken) return;
    this.#totals[side] += frame.length;
    if (this.#totals[side] > (this.options.maxTotalBytes ?? MAX_TOTAL_BYTES)) {
      return this.#violate(side, `more than ${this.options.maxTotalBytes ?? MAX_TOTAL_BYTES} bytes in all`);
    }
    if (frame[0] === FOR_HOST) this.options.onMessage(side, JSON.parse(frame.toString("utf8", 1)));
    else if (frame[0] === FOR_OTHER) this.#handOn(side, frame);
    else throw new Error("a frame for neither side");
  }

  /** A process that does not read holds the other one back instead of filling our memory. */
  #handOn(from: RelaySide, frame: Buffer): void {
    const target = this.#streams.get(from === "solution" ? "tests" : "solution");
    const source = this.#streams.get(from)!;
    if (target === undefined) throw new Error("an answer without a question");
    this.#atWork = from === "solution" ? "tests" : "solution";
    if (target.writableEnded || target.destroyed || target.write(encodeFrame(frame))) return;
    source.pause();
    target.once("drain", () => source.resume());
  }

  #violate(side: RelaySide, what: string): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    this.options.onViolation(side, what);
  }
}

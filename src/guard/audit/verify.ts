import { join } from "node:path";
import { SandboxError, systemCode } from "../../kit/errors.js";
import { type Anchor, readAnchor, wasPowerCut } from "./head-anchor.js";
import { type Line, readLines } from "./read-lines.js";
import type { AuditRecord } from "./record.js";
import { GENESIS, parseRecord, unsealRecord } from "./sealed-record.js";
import { firstSeqOf, openForReading, readFailure, type Segment } from "./segments.js";

/** A position in the chain: kept elsewhere, it shows later whether the chain still has it. */
export interface ChainPoint {
  readonly seq: number;
  readonly hash: string;
}

export interface VerifyOptions {
  /** The head that an earlier call returned: finds a log that was rewritten from one end to the other. */
  readonly expect?: ChainPoint;
  readonly onProgress?: (progress: {
    readonly records: number;
    readonly bytes: number;
    readonly totalBytes: number;
  }) => void;
  readonly signal?: AbortSignal;
}

/** Something that is not wrong, and that a person should know. */
export interface VerifyNote {
  readonly file: string;
  readonly seq: number | null;
  readonly note: string;
}

/** The chain is whole, or where it is not. */
export type Verification =
  | {
      readonly ok: true;
      readonly records: number;
      readonly files: number;
      /** The first record that is kept; later than 1 when files were retired. */
      readonly firstSeq: number | null;
      readonly head: ChainPoint | null;
      readonly notes: readonly VerifyNote[];
    }
  | {
      readonly ok: false;
      /** How many are right before it. */
      readonly records: number;
      readonly file: string;
      readonly line: number;
      readonly seq: number | null;
      readonly problem: string;
    };

/** Reads the whole log and names the first record that is not right. Memory does not grow with the log. */
export async function verifyAudit(directory: string, options: VerifyOptions = {}): Promise<Verification> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await new ChainCheck(directory, options).run();
    } catch (error) {
      const code = systemCode(error);
      // The oldest files may be retired while we read.
      if (code === "ENOENT" && attempt < 3) continue;
      throw code === undefined || error instanceof SandboxError ? error : readFailure(error);
    }
  }
}

class ChainCheck {
  readonly #directory: string;
  readonly #options: VerifyOptions;
  readonly #anchor: Anchor | "missing" | "damaged";
  readonly #segments: readonly Segment[];
  /** The points that must be in the chain, each with its source. */
  readonly #points: [ChainPoint, string][] = [];
  readonly #notes: VerifyNote[] = [];
  #file = "";
  #line = 0;
  #records = 0;
  #bytes = 0;
  #first: AuditRecord | undefined;
  #last: ChainPoint = { seq: 0, hash: GENESIS };
  #retiredThrough = 0;

  constructor(directory: string, options: VerifyOptions) {
    this.#directory = directory;
    this.#options = options;
    // The anchor first: what is written meanwhile only makes the log longer than it says.
    this.#anchor = readAnchor(directory);
    this.#segments = openForReading(directory);
    if (typeof this.#anchor !== "string") this.#points.push([this.#anchor, "the anchor"]);
    if (options.expect !== undefined) this.#points.push([options.expect, "the caller"]);
  }

  async run(): Promise<Verification> {
    const totalBytes = this.#segments.reduce((sum, { size }) => sum + size, 0);
    for (const { name, size } of this.#segments) {
      this.#file = name;
      this.#line = 0;
      for await (const lines of readLines(join(this.#directory, name), { to: size })) {
        this.#options.signal?.throwIfAborted();
        for (const line of lines) {
          this.#line++;
          const problem = this.#check(line);
          if (problem !== undefined) return problem;
          this.#bytes += line.bytes.length + 1;
        }
        this.#options.onProgress?.({ records: this.#records, bytes: this.#bytes, totalBytes });
      }
    }
    return this.#checkEnds() ?? this.#whole();
  }

  #check(line: Line): Verification | undefined {
    const record = line.whole ? unsealRecord(line.bytes) : undefined;
    if (record === undefined) return this.#notARecord(line);
    const { seq, prev, hash } = record;
    const expected = this.#first === undefined ? firstSeqOf(this.#file) : this.#last.seq + 1;
    if (seq > expected)
      return this.#problem(expected, `${span(expected, seq - 1)} missing here: the next one is ${seq}`);
    if (seq < expected)
      return this.#problem(seq, `Record ${seq} is in the place of ${expected}: it was moved or inserted`);
    if (this.#line === 1 && seq !== firstSeqOf(this.#file)) {
      return this.#problem(seq, `The file's name says that it begins with record ${firstSeqOf(this.#file)}`);
    }
    // Where the beginning was retired, nothing is left to compare with.
    const before = this.#first === undefined && seq > 1 ? prev : this.#last.hash;
    if (prev !== before) {
      return this.#problem(seq, `Record ${seq} does not follow the one before it: one of them was replaced`);
    }
    for (const [point, who] of this.#points) {
      if (point.seq === seq && point.hash !== hash) {
        return this.#problem(seq, `Record ${seq} differs from the one that ${who} recorded`);
      }
    }
    this.#first ??= record;
    this.#last = { seq, hash };
    this.#records++;
    return this.#readNote(record);
  }

  /** What the log says about itself. */
  #readNote({ event_type, seq, error, details }: AuditRecord): Verification | undefined {
    if (event_type === "audit_gap")
      return this.#problem(seq, `${error ?? "Records were removed"} before this was written`);
    if (event_type === "audit_recovered") {
      this.#notes.push({ file: this.#file, seq, note: error ?? "recovered" });
    }
    if (event_type === "audit_retired") {
      const through = details?.["through_seq"];
      if (typeof through === "number") this.#retiredThrough = Math.max(this.#retiredThrough, through);
      if (through === this.#first!.seq - 1 && details?.["through_hash"] !== this.#first!.prev) {
        return this.#problem(seq, `Record ${this.#first!.seq} does not follow the last one that was retired`);
      }
    }
    return undefined;
  }

  #notARecord(line: Line): Verification | undefined {
    const expected = this.#first === undefined ? firstSeqOf(this.#file) : this.#last.seq + 1;
    const isLast = this.#file === this.#segments.at(-1)?.name;
    if (!line.whole && isLast && this.#mayEndAt(this.#last.seq)) {
      const bytes = line.bytes.length;
      this.#notes.push({
        file: this.#file,
        seq: null,
        note: `${bytes} bytes of an unfinished record are at the end`,
      });
      return undefined;
    }
    const found = line.whole ? parseRecord(line.bytes) : undefined;
    if (found === undefined)
      return this.#problem(expected, `Record ${expected} is missing: there is something else in its place`);
    return this.#problem(found.seq, `Record ${found.seq} was changed: its hash does not match`);
  }

  #checkEnds(): Verification | undefined {
    const { seq: last } = this.#last;
    const first = this.#first?.seq ?? 1;
    if (first > 1 && this.#retiredThrough < first - 1) {
      this.#file = this.#segments[0]!.name;
      this.#line = 1;
      return this.#problem(1, `${span(1, first - 1)} missing, and no record says that they were retired`);
    }
    this.#line++;
    if (typeof this.#anchor === "string") {
      if (this.#records === 0) return undefined;
      return this.#problem(
        null,
        `The anchor that says where the log ends is ${this.#anchor}: the end may have been cut off`,
      );
    }
    if (this.#file === "") this.#file = this.#anchor.file;
    for (const [point, who] of this.#points) {
      if (point.seq > last && !(point === this.#anchor && this.#mayEndAt(last))) {
        return this.#problem(
          last + 1,
          `${span(last + 1, point.seq)} missing at the end: ${who} recorded ${point.seq} records`,
        );
      }
    }
    if (this.#anchor.seq > last) {
      const note = `${span(last + 1, this.#anchor.seq)} lost: the machine stopped before that was on disk`;
      this.#notes.push({ file: this.#anchor.file, seq: last + 1, note });
    }
    return undefined;
  }

  /** True when a log that ends here may have been left so by a crash. */
  #mayEndAt(seq: number): boolean {
    if (typeof this.#anchor === "string") return false;
    return seq >= this.#anchor.seq || wasPowerCut(this.#anchor, seq);
  }

  #whole(): Verification {
    const head = this.#records === 0 ? null : this.#last;
    return {
      ok: true,
      records: this.#records,
      files: this.#segments.length,
      firstSeq: this.#first?.seq ?? null,
      head,
      notes: this.#notes,
    };
  }

  #problem(seq: number | null, problem: string): Verification {
    return { ok: false, records: this.#records, file: this.#file, line: this.#line, seq, problem };
  }
}

function span(from: number, to: number): string {
  return from === to ? `Record ${from} is` : `Records ${from} to ${to} are`;
}

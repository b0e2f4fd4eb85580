import { join } from "node:path";
import { unlessGone } from "./query.js";
import { readLines } from "./read-lines.js";
import type { AuditRecord } from "./record.js";
import { parseRecord } from "./sealed-record.js";
import { firstSeqOf, openForReading } from "./segments.js";

/** Reads a log from one record on, and goes on from where it was. */
export class LogReader {
  readonly #directory: string;
  #seq: number;
  #name: string | undefined;
  #offset = 0;

  /** Begins behind the record of this number; 0: at the beginning. */
  constructor(directory: string, after: number) {
    this.#directory = directory;
    this.#seq = after;
  }

  /** The records that have come since, in their order. What the caller has not taken comes again. */
  async *read(): AsyncGenerator<AuditRecord> {
    const segments = openForReading(this.#directory);
    this.#name ??= segments.findLast(({ name }) => firstSeqOf(name) <= this.#seq + 1)?.name ?? "";
    for (const { name, size } of segments) {
      if (name < this.#name) continue;
      if (name !== this.#name) this.#offset = 0;
      this.#name = name;
      if (size > this.#offset) yield* unlessGone(this.#readFile(join(this.#directory, name), size));
    }
  }

  async *#readFile(path: string, size: number): AsyncGenerator<AuditRecord> {
    for await (const lines of readLines(path, { from: this.#offset, to: size })) {
      for (const { bytes, offset, whole } of lines) {
        // What is being written right now is read again, whole.
        if (!whole) return;
        const record = parseRecord(bytes);
        if (record !== undefined && record.seq > this.#seq) {
          yield record;
          this.#seq = record.seq;
        }
        this.#offset = offset + bytes.length + 1;
      }
    }
  }
}

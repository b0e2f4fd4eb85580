import { randomUUID } from "node:crypto";
import { closeSync, constants, fstatSync, ftruncateSync, openSync, readSync, rmSync } from "node:fs";
import { join } from "node:path";
import { bootId } from "../../kit/process-label.js";
import { syncFile } from "../../kit/sync-file.js";
import { writeAll } from "../../kit/write-all.js";
import { type ChainNote, type FoundHead, findHead, recordsWere } from "./chain-head.js";
import { createBody } from "./compose-record.js";
import { type Head, HeadAnchor } from "./head-anchor.js";
import type { AuditBody, AuditRecord } from "./record.js";
import { MAX_LINE_BYTES, parseRecord, sealRecord } from "./sealed-record.js";
import { firstSeqOf, listSegments, segmentName } from "./segments.js";

const APPEND = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;

export interface ChainWriterOptions {
  readonly maxFileBytes: number;
  /** Older whole files are removed; undefined: never. */
  readonly keepFiles: number | undefined;
  readonly now: () => Date;
}

/** What came of writing: the records that are in the log now, and why the rest is not. */
export interface Appended {
  readonly records: readonly AuditRecord[];
  readonly failure?: unknown;
}

/** Appends to the chain of one directory. Everything but `sync` and `close` is for the holder of the lock. */
export class ChainWriter {
  readonly #directory: string;
  readonly #options: ChainWriterOptions;
  #anchor: HeadAnchor | undefined;
  #anchorText = "";
  #fd: number | undefined;
  #head: Head | undefined;
  /** The last that we knew, also after something went wrong. */
  #known: Head | undefined;
  #syncedFile = "";

  constructor(directory: string, options: ChainWriterOptions) {
    this.#directory = directory;
    this.#options = options;
  }

  /** The last record that we know of: others may have written since. */
  get seq(): number {
    return this.#known?.seq ?? 0;
  }

  /** Writes all of them, in order, or says why it stopped. Nothing half-written stays. */
  append(bodies: readonly AuditBody[]): Appended {
    const records: AuditRecord[] = [];
    try {
      const notes = this.#findHead();
      this.#appendAll([...notes.map((note) => this.#noteBody(note)), ...bodies], records);
      return { records };
    } catch (failure) {
      // Whatever we knew of the files may be wrong now.
      this.#forget();
      return { records, failure };
    }
  }

  /** Resolves to the number of a record; it and all before it are on disk. */
  async sync(): Promise<number> {
    const head = this.#known;
    if (head === undefined) return 0;
    const files = listSegments(this.#directory).filter(
      // The process that begins a new file does not sync the end of the old one.
      ({ name }) => name >= this.#syncedFile && name <= head.file,
    );
    for (const { name } of files) await syncFile(join(this.#directory, name));
    if (head.file !== this.#syncedFile) await syncFile(this.#directory);
    this.#syncedFile = head.file;
    this.#anchor?.writeSynced(head.seq);
    return head.seq;
  }

  close(): void {
    this.#forget();
  }

  /** Finds the end of the chain, whichever process wrote last. */
  #findHead(): readonly ChainNote[] {
    if (this.#isUnchanged()) return [];
    this.#forget();
    this.#anchor = new HeadAnchor(this.#directory);
    const { head, notes } = this.#remember(findHead(this.#directory, this.#anchor.read()));
    this.#fd = openSync(join(this.#directory, head.file), APPEND, 0o600);
    this.#setHead(head);
    // What there is to be said is said before the anchor moves: it is the only thing that knows.
    if (notes.length === 0) this.#writeAnchor();
    if (this.#anchor.isNew) this.#anchor.flush();
    return notes;
  }

  /** A log that is shorter than we know it was has been cut, also where its anchor was cut to match. */
  #remember(found: FoundHead): FoundHead {
    const { head, notes } = found;
    if (head.seq >= this.seq || notes.length > 0) return found;
    const lost = { first_lost: head.seq + 1, last_lost: this.seq };
    const error = `${recordsWere(lost.first_lost, lost.last_lost)} removed`;
    return { head, notes: [{ eventType: "audit_gap", error, details: lost }] };
  }

  /** True when no process wrote since, or one did and left everything in order. */
  #isUnchanged(): boolean {
    if (this.#anchor === undefined || this.#fd === undefined || this.#head === undefined) return false;
    const { size, nlink } = fstatSync(this.#fd);
    if (nlink === 0 || this.#anchor.isRemoved) return false;
    const text = this.#anchor.headText();
    if (text === this.#anchorText) return size === this.#head.size;
    const anchor = this.#anchor.read();
    if (anchor?.file !== this.#head.file || anchor.size !== size || anchor.boot !== bootId()) return false;
    if (anchor.seq < this.#head.seq) return false;
    const { seq, hash, file } = anchor;
    this.#setHead({ seq, hash, file, size });
    this.#anchorText = text;
    return true;
  }

  #setHead(head: Head): void {
    this.#head = head;
    this.#known = head;
  }

  #appendAll(bodies: readonly AuditBody[], records: AuditRecord[]): void {
    let head = this.#head!;
    let lines: string[] = [];
    let batch: AuditRecord[] = [];
    const write = () => {
      if (batch.length === 0) return;
      this.#write(lines.join(""), head);
      records.push(...batch);
      lines = [];
      batch = [];
    };
    for (const body of bodies) {
      let sealed = sealRecord(body, head.seq + 1, head.hash);
      if (head.size > 0 && head.size + sealed.line.length > this.#options.maxFileBytes) {
        write();
        this.#rotate(records);
        head = this.#head!;
        sealed = sealRecord(body, head.seq + 1, head.hash);
      }
      lines.push(sealed.line);
      batch.push(sealed.record);
      const { seq, hash } = sealed.record;
      head = { file: head.file, size: head.size + sealed.line.length, seq, hash };
    }
    write();
  }

  /** One write for all of them. */
  #write(text: string, head: Head): void {
    const before = this.#head!.size;
    try {
      writeAll(this.#fd!, Buffer.from(text, "latin1"));
    } catch (error) {
      // A disk that is full takes a part.
      ftruncateSync(this.#fd!, before);
      throw error;
    }
    this.#setHead(head);
    try {
      this.#writeAnchor();
    } catch {
      // The records are in the log. An anchor that is behind is put right before the next one.
      this.#anchorText = "";
    }
  }

  #writeAnchor(): void {
    this.#anchorText = this.#anchor!.writeHead(this.#head!);
  }

  /** Goes on in a new file. The anchor names it before anything is in it, so that all agree on where to write. */
  #rotate(records: AuditRecord[]): void {
    const { seq, hash } = this.#head!;
    const file = segmentName(seq + 1);
    const fd = openSync(join(this.#directory, file), APPEND, 0o600);
    closeSync(this.#fd!);
    this.#fd = fd;
    // An empty one is what a killed writer left. Any other is put aside when the end is looked for again.
    if (fstatSync(fd).size > 0) throw new Error("a file of the next name is already there");
    this.#setHead({ file, size: 0, seq, hash });
    this.#writeAnchor();
    this.#retire(records);
  }

  /** Removes the oldest files, after the chain says so: a beginning that is missing otherwise is a gap. */
  #retire(records: AuditRecord[]): void {
    const { keepFiles } = this.#options;
    const files = listSegments(this.#directory).map(({ name }) => name);
    if (keepFiles === undefined || files.length <= keepFiles) return;
    const retired = files.slice(0, files.length - keepFiles);
    const firstKept = files[retired.length]!;
    const through = firstSeqOf(firstKept) - 1;
    const throughHash = firstKept === this.#head!.file ? this.#head!.hash : this.#prevOf(firstKept);
    const body = {
      ...createBody(randomUUID(), this.#options.now(), "audit_retired"),
      details: { files: retired.length, through_seq: through, through_hash: throughHash },
    };
    const { record, line } = sealRecord(body, this.#head!.seq + 1, this.#head!.hash);
    const { seq, hash } = record;
    this.#write(line, { file: this.#head!.file, size: this.#head!.size + line.length, seq, hash });
    records.push(record);
    for (const name of retired) {
      for (const suffix of ["", ".index", ".damaged"]) {
        rmSync(join(this.#directory, name + suffix), { force: true });
      }
    }
  }

  #prevOf(file: string): string | null {
    const fd = openSync(join(this.#directory, file), constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const start = Buffer.alloc(Math.min(MAX_LINE_BYTES, fstatSync(fd).size));
      const bytes = readSync(fd, start, 0, start.length, 0);
      const end = start.subarray(0, bytes).indexOf("\n");
      return end < 0 ? null : (parseRecord(start.subarray(0, end))?.prev ?? null);
    } finally {
      closeSync(fd);
    }
  }

  #noteBody({ eventType, error, details }: ChainNote): AuditBody {
    return { ...createBody(randomUUID(), this.#options.now(), eventType), error, details };
  }

  #forget(): void {
    for (const fd of [this.#fd, this.#anchor?.fd]) if (fd !== undefined) closeSync(fd);
    this.#fd = undefined;
    this.#anchor = undefined;
    this.#head = undefined;
  }
}

import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  futimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { canonicalJson, type Json } from "../../kit/canonical-json.js";
import { systemCode } from "../../kit/errors.js";
import { unlessMissing } from "../../kit/if-missing.js";
import { HEARTBEAT_MS, isSharedOrphan } from "../../kit/process-label.js";
import { syncFile } from "../../kit/sync-file.js";
import { writeAll } from "../../kit/write-all.js";
import type { AuditBody } from "./record.js";

const FOLDER = "pending";
const CREATE =
  constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_APPEND | constants.O_NOFOLLOW;
const COMPACT_BYTES = 1024 * 1024;

/** An attempt that began. */
export interface Begun {
  readonly body: AuditBody;
  /** No record of it can stand at or before this number. */
  readonly after: number;
}

/**
 * What one logger has begun and not yet ended, on disk: one line for each beginning, one for each end. The name says
 * which process writes it, so that a later process can tell whether that one still lives.
 */
export class PendingJournal {
  readonly #path: string;
  readonly #open = new Map<string, string>();
  #fd: number | undefined;
  #size = 0;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(directory: string, label: string) {
    this.#path = join(directory, FOLDER, `${label}.jsonl`);
    makeFolder(join(directory, FOLDER));
  }

  /** Notes that an attempt begins. It is in the file when this returns. */
  begin({ body, after }: Begun): void {
    const line = `${canonicalJson({ after, body } as unknown as Json)}\n`;
    this.#write(line);
    this.#open.set(body.id, line);
    this.#beat();
  }

  /** Notes that the records of these are safe. */
  end(ids: readonly string[]): void {
    const ended = ids.filter((id) => this.#open.delete(id));
    if (ended.length === 0 || this.#fd === undefined) return;
    if (this.#open.size === 0) {
      ftruncateSync(this.#fd, 0);
      this.#size = 0;
      this.#rest();
    } else if (this.#size > COMPACT_BYTES) this.#compact();
    else this.#write(ended.map((id) => `${JSON.stringify({ end: id })}\n`).join(""));
  }

  /** Holds everything up until it is on disk. */
  flush(): void {
    if (this.#fd !== undefined) fdatasyncSync(this.#fd);
  }

  /** Waits until it is on disk, unless these are all that is in it and will be ended. */
  async sync(ending: readonly string[]): Promise<void> {
    if (this.#fd !== undefined && this.#open.size > ending.length) await syncFile(this.#path);
  }

  /** Ends the journal; what is still open in it stays there for another process. */
  close(): void {
    this.#rest();
    if (this.#fd === undefined) return;
    closeSync(this.#fd);
    this.#fd = undefined;
    if (this.#open.size === 0) rmSync(this.#path, { force: true });
  }

  #write(text: string): void {
    // The directory may have been removed and made again.
    if (this.#fd !== undefined && fstatSync(this.#fd).nlink === 0) this.#reopen();
    this.#fd ??= openSync(this.#path, CREATE, 0o600);
    try {
      writeAll(this.#fd, Buffer.from(text, "latin1"));
      this.#size += text.length;
    } catch (error) {
      ftruncateSync(this.#fd, this.#size);
      throw error;
    }
  }

  #reopen(): void {
    closeSync(this.#fd!);
    this.#fd = undefined;
    this.#size = 0;
    const folder = dirname(this.#path);
    makeFolder(dirname(folder));
    makeFolder(folder);
    if (this.#open.size > 0) this.#write([...this.#open.values()].join(""));
  }

  #compact(): void {
    const text = [...this.#open.values()].join("");
    const fresh = openSync(`${this.#path}.new`, CREATE, 0o600);
    try {
      writeAll(fresh, Buffer.from(text, "latin1"));
      renameSync(`${this.#path}.new`, this.#path);
    } catch (error) {
      closeSync(fresh);
      unlinkSync(`${this.#path}.new`);
      throw error;
    }
    closeSync(this.#fd!);
    this.#fd = fresh;
    this.#size = text.length;
  }

  #beat(): void {
    this.#heartbeat ??= setInterval(() => {
      const now = new Date();
      try {
        futimesSync(this.#fd!, now, now);
      } catch {
        // The next write will say what is wrong.
      }
    }, HEARTBEAT_MS).unref();
  }

  #rest(): void {
    clearInterval(this.#heartbeat);
    this.#heartbeat = undefined;
  }
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
}

/** The journal of a process that is gone. */
export interface Orphan {
  readonly path: string;
  readonly begun: readonly Begun[];
}

/** The journals that dead processes left, and whether there are others of which it is too early to say. */
export function findOrphans(directory: string): { orphans: Orphan[]; undecided: boolean } {
  const folder = join(directory, FOLDER);
  const orphans: Orphan[] = [];
  let undecided = false;
  for (const name of unlessMissing([], () => readdirSync(folder).sort())) {
    const path = join(folder, name);
    const sign = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
    if (sign === undefined) continue;
    if (isSharedOrphan(name, sign)) orphans.push({ path, begun: readOpen(path) });
    else if (isSharedOrphan(name, 0)) undecided = true;
  }
  return { orphans, undecided };
}

function readOpen(path: string): Begun[] {
  // One that was being compacted is a copy.
  if (path.endsWith(".new")) return [];
  const open = new Map<string, Begun>();
  for (const line of readFileSync(path, "latin1").split("\n")) {
    const entry = parseLine(line);
    if (entry === undefined) continue;
    if ("end" in entry) open.delete(entry.end);
    else open.set(entry.body.id, entry);
  }
  return [...open.values()];
}

/** A line that is cut or broken is of an attempt that never began: the beginning is written before anything runs. */
function parseLine(line: string): Begun | { readonly end: string } | undefined {
  try {
    const entry = JSON.parse(line) as Partial<Begun & { end: string }>;
    if (typeof entry.end === "string") return { end: entry.end };
    if (typeof entry.body?.id !== "string" || !Number.isSafeInteger(entry.after)) return undefined;
    return entry as Begun;
  } catch {
    return undefined;
  }
}

import { randomBytes } from "node:crypto";
import { accessSync, constants, existsSync, lstatSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { SandboxError, systemCode } from "../../kit/errors.js";
import { FileLock } from "../../kit/file-lock.js";
import { bootId, HEARTBEAT_MS, processLabel } from "../../kit/process-label.js";
import { type Appended, ChainWriter, type ChainWriterOptions } from "./chain-writer.js";
import { createBody } from "./compose-record.js";
import { readAnchor } from "./head-anchor.js";
import { type Begun, findOrphans, PendingJournal } from "./pending-journal.js";
import { readLinesSync } from "./read-lines.js";
import type { AuditBody } from "./record.js";
import { parseRecord } from "./sealed-record.js";
import { firstSeqOf, listSegments } from "./segments.js";

/** How often we look for attempts of processes that died. */
const ORPHAN_CHECK_MS = 6 * HEARTBEAT_MS;

/** A chain on disk that several processes write to, and the attempts that have begun. */
export class AuditDirectory {
  readonly #path: string;
  readonly #now: () => Date;
  readonly #writer: ChainWriter;
  readonly #lock: FileLock;
  readonly #label = processLabel(randomBytes(6).toString("hex"));
  #journal: PendingJournal | undefined;
  #orphansDueAt = 0;
  /** In the log, and not yet on disk for certain. */
  #unsynced: string[] = [];

  constructor(path: string, options: ChainWriterOptions) {
    this.#path = resolve(path);
    this.#now = options.now;
    this.#writer = new ChainWriter(this.#path, options);
    this.#lock = new FileLock(this.#path, this.#label);
  }

  /** Makes what is missing, and throws when records could not be written here. */
  open(): void {
    if (this.#journal !== undefined) return;
    makeDirectories(this.#path);
    checkOwner(this.#path);
    for (const name of [...listSegments(this.#path).map(({ name }) => name), "head"].slice(-2)) {
      if (lstatSync(join(this.#path, name), { throwIfNoEntry: false }) === undefined) continue;
      accessSync(join(this.#path, name), constants.R_OK | constants.W_OK);
    }
    accessSync(this.#path, constants.W_OK | constants.X_OK);
    this.#journal = new PendingJournal(this.#path, this.#label);
  }

  /** Notes on disk that an attempt begins. */
  begin(body: AuditBody, durably: boolean): void {
    this.open();
    this.#journal!.begin({ body, after: this.#lastSeq() });
    if (!durably) return;
    try {
      this.#journal!.flush();
    } catch (error) {
      // It will not run.
      this.#journal!.end([body.id]);
      throw error;
    }
  }

  /** Appends what `take` gives, after what dead processes owe. Undefined: another process is writing. */
  tryAppend(take: () => readonly AuditBody[]): Appended | undefined {
    this.open();
    if (!this.#lock.tryAcquire()) return undefined;
    try {
      const settled = this.#settleOrphans();
      if (settled.failure !== undefined) return settled;
      const appended = this.#writer.append(take());
      this.#unsynced.push(...appended.records.map(({ id }) => id));
      return { ...appended, records: [...settled.records, ...appended.records] };
    } finally {
      this.#release();
    }
  }

  /** Waits until everything appended so far is on disk; only then are the attempts over for good. */
  async sync(): Promise<void> {
    const ids = this.#unsynced;
    this.#unsynced = [];
    try {
      await this.#journal?.sync(ids);
      await this.#writer.sync();
    } catch (error) {
      this.#unsynced.unshift(...ids);
      throw error;
    }
    this.#journal?.end(ids);
  }

  /** For a log that is never synced: the attempts are over as soon as they are in it. */
  settle(): void {
    this.#journal?.end(this.#unsynced);
    this.#unsynced = [];
  }

  close(): void {
    this.#journal?.close();
    this.#journal = undefined;
    this.#writer.close();
  }

  #release(): void {
    try {
      this.#lock.release();
    } catch {
      // What was appended is appended: the lock is still ours, and the next append finds it so.
    }
  }

  /** A number that the record of an attempt which begins now will be above. */
  #lastSeq(): number {
    if (this.#writer.seq > 0) return this.#writer.seq;
    const anchor = readAnchor(this.#path);
    return typeof anchor === "string" || anchor.boot !== bootId() ? 0 : anchor.seq;
  }

  /**
   * Gives every attempt of a dead process its record, under the lock and so once. A record that was written before the
   * process died stands in the chain after the attempt began.
   */
  #settleOrphans(): Appended {
    if (performance.now() < this.#orphansDueAt) return { records: [] };
    const { orphans, undecided } = findOrphans(this.#path);
    this.#orphansDueAt = performance.now() + (undecided ? HEARTBEAT_MS : ORPHAN_CHECK_MS);
    const begun = orphans.flatMap((orphan) => orphan.begun);
    const written = findRecorded(this.#path, begun);
    const owed = begun.filter(({ body }) => !written.has(body.id)).map(({ body }) => this.#interrupted(body));
    const appended = owed.length === 0 ? { records: [] } : this.#writer.append(owed);
    if (appended.failure === undefined) for (const { path } of orphans) rmSync(path, { force: true });
    return appended;
  }

  #interrupted(body: AuditBody): AuditBody {
    const blank = createBody(body.id, this.#now());
    const known = Object.entries(body).filter(([key]) => Object.hasOwn(blank, key));
    return {
      ...blank,
      ...Object.fromEntries(known),
      timestamp: blank.timestamp,
      result: "interrupted",
      error: "The process that ran this was killed",
    };
  }
}

/** Which of these attempts have their record already. */
function findRecorded(directory: string, begun: readonly Begun[]): Set<string> {
  const found = new Set<string>();
  if (begun.length === 0) return found;
  const wanted = new Set(begun.map(({ body }) => body.id));
  const after = Math.min(...begun.map((each) => each.after));
  const segments = listSegments(directory);
  const first = segments.findLastIndex(({ name }) => firstSeqOf(name) <= after + 1);
  for (const { name, size } of segments.slice(Math.max(first, 0))) {
    for (const line of readLinesSync(join(directory, name), size)) {
      const id = parseRecord(line)?.id;
      if (id !== undefined && wanted.has(id)) found.add(id);
    }
  }
  return found;
}

/** One by one: below /proc, Node's own recursion never ends. */
function makeDirectories(path: string): void {
  if (existsSync(path)) return;
  if (path !== dirname(path)) makeDirectories(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
}

function checkOwner(path: string): void {
  const stat = lstatSync(path);
  if (stat.isDirectory() && stat.uid === process.getuid?.() && (stat.mode & 0o022) === 0) return;
  throw new SandboxError("AUDIT_FAILED", "The audit directory can be changed by other users", {
    hint: "Give a directory that you own, with mode 0700.",
  });
}

/** The error of the log, for a caller that must not continue without it. */
export function auditFailure(error: unknown): SandboxError {
  if (error instanceof SandboxError) return error;
  const code = systemCode(error);
  const full = code === "ENOSPC" || code === "EDQUOT";
  return new SandboxError(
    "AUDIT_FAILED",
    full
      ? "The audit log cannot be written: the disk is full"
      : `The audit log cannot be written (${code ?? "unknown error"})`,
    {
      hint: full
        ? "Make room on the disk of the audit directory, or remove old files with keepFiles."
        : "Check that the audit directory exists, is writable and belongs to this user.",
      cause: error,
    },
  );
}

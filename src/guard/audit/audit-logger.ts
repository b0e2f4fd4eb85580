import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { SandboxError } from "../../kit/errors.js";
import { AuditDirectory, auditFailure } from "./audit-directory.js";
import type { Appended } from "./chain-writer.js";
import { type Composition, checkEventType, checkResult, createBody, fillBody } from "./compose-record.js";
import { MemoryChain } from "./memory-chain.js";
import type { AuditBody, AuditEvent, AuditFields, AuditOutcome, AuditRecord } from "./record.js";
import { createRedactor } from "./redact.js";
import type { AuditSink } from "./sinks.js";

const MIB = 1024 * 1024;
/** So many records in one go; the event loop waits while they are written. */
const MAX_BATCH = 500;
const MAX_LOCK_PAUSE_MS = 16;
const FSYNC = ["always", "interval", "never"] as const;

export interface AuditLoggerOptions {
  /** Where the chain is. Without it there are only the sinks. */
  readonly directory?: string;
  readonly sinks?: readonly AuditSink[];
  /**
   * When records are forced to disk: before each call resolves, after at most `fsyncIntervalMs`, or when the kernel
   * likes. A process that is killed loses nothing either way; a machine that stops does.
   */
  readonly fsync?: (typeof FSYNC)[number];
  readonly fsyncIntervalMs?: number;
  /** A file that would grow larger is followed by a new one. */
  readonly maxFileBytes?: number;
  /** How many files to keep. Without it none is ever removed. */
  readonly keepFiles?: number;
  /** Keep the code itself, not only its hash. */
  readonly includeCode?: boolean;
  /** Values and patterns that must never be in the log, besides what looks like a secret. */
  readonly redact?: readonly (string | RegExp)[];
  /** How long to wait for other processes that write. */
  readonly lockTimeoutMs?: number;
  readonly now?: () => Date;
}

/** An attempt that began and is owed a record. */
export interface PendingAttempt {
  readonly id: string;
  /** Ends it with its one record. May be called again after it failed. */
  end(outcome: AuditOutcome): Promise<AuditRecord>;
}

/** How writing goes. */
export interface AuditHealth {
  /** Attempts that have begun and not ended. */
  readonly open: number;
  /** Records that wait to be written. */
  readonly waiting: number;
  /** Why nothing could be written the last time; undefined: it could. */
  readonly failure: SandboxError | undefined;
}

interface Entry {
  readonly body: AuditBody;
  /** An attempt's record stays owed when it cannot be written; any other is given up. */
  readonly owed: boolean;
  resolve?: ((record: AuditRecord) => void) | undefined;
  reject?: ((error: unknown) => void) | undefined;
}

/** Writes one record for every attempt, in a chain of hashes, whatever comes of the attempt or of the process. */
export class AuditLogger {
  readonly #chain: AuditDirectory | MemoryChain;
  readonly #sinks: readonly AuditSink[];
  #composition: Composition;
  readonly #fsync: (typeof FSYNC)[number];
  readonly #fsyncIntervalMs: number;
  readonly #lockTimeoutMs: number;
  readonly #now: () => Date;
  /** Attempts that have begun and not ended. */
  readonly #open = new Map<string, AuditBody>();
  /** By the record's id, in the order of the calls. */
  readonly #queue = new Map<string, Entry>();
  #draining: Promise<void> | undefined;
  #syncing: Promise<void> | undefined;
  #syncTimer: NodeJS.Timeout | undefined;
  #failure: SandboxError | undefined;
  #closed = false;

  constructor(options: AuditLoggerOptions) {
    const { directory, sinks = [], maxFileBytes = 64 * MIB, keepFiles, now = () => new Date() } = options;
    if (directory === undefined && sinks.length === 0) {
      throw invalid(
        "An AuditLogger needs a directory or a sink",
        "Without one its records would go nowhere.",
      );
    }
    this.#fsyncIntervalMs = positive("fsyncIntervalMs", options.fsyncIntervalMs ?? 1000);
    this.#lockTimeoutMs = positive("lockTimeoutMs", options.lockTimeoutMs ?? 5000);
    positive("maxFileBytes", maxFileBytes);
    if (keepFiles !== undefined) positive("keepFiles", keepFiles);
    this.#chain =
      directory === undefined
        ? new MemoryChain()
        : new AuditDirectory(directory, { maxFileBytes, keepFiles, now });
    this.#sinks = sinks;
    this.#fsync = options.fsync ?? "interval";
    if (!FSYNC.includes(this.#fsync))
      throw invalid("fsync is not a known policy", `Use ${FSYNC.join(", ")}.`);
    this.#now = now;
    this.#composition = {
      redact: createRedactor(options.redact),
      includeCode: options.includeCode ?? false,
    };
  }

  /** Values that must not be in the log from now on, besides those it was made with. */
  alsoRedact(values: readonly string[]): void {
    const { redact } = this.#composition;
    const also = createRedactor(values);
    this.#composition = { ...this.#composition, redact: (text) => redact(also(text)) };
  }

  /** Checks that records can be written, and gives the attempts of dead processes theirs. AUDIT_FAILED otherwise. */
  async open(): Promise<void> {
    this.#checkOpen();
    await this.#draining;
    await this.#commit();
    if (this.#failure !== undefined) throw this.#failure;
  }

  get health(): AuditHealth {
    return { open: this.#open.size, waiting: this.#queue.size, failure: this.#failure };
  }

  /**
   * Writes down that an attempt begins. Throws AUDIT_FAILED when that is impossible: then it must not run. Should this
   * process be killed before the end, the next one writes the record, with the result "interrupted".
   */
  begin(attempt: AuditFields): PendingAttempt {
    this.#checkOpen();
    if (this.#failure !== undefined) this.#tryAgain();
    const id = randomUUID();
    const body = fillBody(createBody(id, this.#now()), attempt, this.#composition);
    try {
      this.#chain.begin(body, this.#fsync === "always");
    } catch (error) {
      throw auditFailure(error);
    }
    this.#open.set(id, body);
    let ended: Promise<AuditRecord> | undefined;
    return {
      id,
      end: (outcome) => {
        ended ??= this.#end(body, outcome).catch((error) => {
          ended = undefined;
          throw error;
        });
        return ended;
      },
    };
  }

  /** Writes a record of another event than an attempt. */
  async log(event: AuditEvent): Promise<AuditRecord> {
    this.#checkOpen();
    const body = fillBody(
      createBody(randomUUID(), this.#now(), checkEventType(event.eventType)),
      event,
      this.#composition,
    );
    const result = event.result == null ? null : checkResult(event.result);
    return this.#enqueue({ ...body, result }, false);
  }

  /** Resolves when everything so far is written, on disk, and with the sinks. */
  async flush(): Promise<void> {
    while (this.#draining !== undefined) await this.#draining;
    if (this.#queue.size > 0) await this.#startDrain();
    else if (this.#failure !== undefined) await this.#commit();
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#fsync !== "never") await this.#sync();
    await this.#withSinks((sink) => sink.flush?.());
  }

  /** Records open attempts as "interrupted", flushes, and closes the files. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    // One that waits to be written has ended.
    const running = [...this.#open.values()].filter(({ id }) => !this.#queue.has(id));
    const open = running.map((body) =>
      this.#end(body, { result: "interrupted", error: "The log was closed before this ended" }),
    );
    try {
      await Promise.all(open);
      await this.flush();
    } finally {
      clearTimeout(this.#syncTimer);
      this.#chain.close();
      await this.#withSinks((sink) => sink.close?.());
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #end(begun: AuditBody, outcome: AuditOutcome): Promise<AuditRecord> {
    if (!this.#open.has(begun.id)) {
      throw new SandboxError("AUDIT_FAILED", "This attempt has its record already", {
        hint: "It was written, but could not be forced to disk or given to a sink.",
      });
    }
    const result = checkResult(outcome.result);
    const body = fillBody(begun, outcome, this.#composition);
    return this.#enqueue({ ...body, result, timestamp: this.#now().toISOString() }, true);
  }

  #enqueue(body: AuditBody, owed: boolean): Promise<AuditRecord> {
    return new Promise((resolve, reject) => {
      // One that is owed since an earlier failure is replaced.
      this.#queue.delete(body.id);
      this.#queue.set(body.id, { body, owed, resolve, reject });
      void this.#startDrain();
    });
  }

  #startDrain(): Promise<void> {
    this.#draining ??= this.#drain();
    return this.#draining;
  }

  /** Writes until nothing waits, or nothing can be written. */
  async #drain(): Promise<void> {
    try {
      // Whatever else ends in this turn goes along.
      await null;
      while (this.#queue.size > 0) {
        await this.#commit();
        if (this.#failure !== undefined) return;
      }
    } finally {
      // In the same turn as the last look at the queue: a later call starts a new one.
      this.#draining = undefined;
    }
  }

  /** Waits for the lock, and writes what waits by then. */
  async #commit(): Promise<void> {
    let appended: Appended | undefined;
    const deadline = performance.now() + this.#lockTimeoutMs;
    try {
      for (let pause = 1; appended === undefined; pause = Math.min(2 * pause, MAX_LOCK_PAUSE_MS)) {
        appended = this.#chain.tryAppend(() => this.#nextBatch());
        if (appended !== undefined) break;
        if (performance.now() > deadline) throw locked(this.#lockTimeoutMs);
        await delay(1 + Math.random() * pause);
      }
    } catch (error) {
      this.#fail(error);
      return;
    }
    await this.#settle(appended);
  }

  /** For `begin`, which cannot wait: what failed before must work now. */
  #tryAgain(): void {
    let appended: Appended | undefined;
    try {
      appended = this.#chain.tryAppend(() => this.#nextBatch());
    } catch (error) {
      this.#fail(error);
    }
    if (appended !== undefined) void this.#settle(appended);
    if (this.#failure !== undefined) throw this.#failure;
  }

  #nextBatch(): AuditBody[] {
    const batch: AuditBody[] = [];
    for (const { body } of this.#queue.values()) {
      if (batch.push(body) === MAX_BATCH) break;
    }
    return batch;
  }

  /** Settles all waiting callers. */
  async #settle({ records, failure }: Appended): Promise<void> {
    const written = records.flatMap((record) => {
      const entry = this.#queue.get(record.id);
      this.#queue.delete(record.id);
      this.#open.delete(record.id);
      return entry === undefined ? [] : [{ record, entry }];
    });
    this.#failure = undefined;
    if (failure !== undefined) this.#fail(failure);
    try {
      await this.#secure();
      for (const record of records) await this.#withSinks((sink) => sink.write(record));
      for (const { record, entry } of written) entry.resolve?.(record);
    } catch (error) {
      for (const { entry } of written) entry.reject?.(error);
    }
  }

  async #secure(): Promise<void> {
    if (this.#fsync === "always") await this.#sync();
    else if (this.#fsync === "never") this.#chain.settle();
    else {
      this.#syncTimer ??= setTimeout(() => {
        this.#syncTimer = undefined;
        this.#sync().catch((error) => this.#fail(error));
      }, this.#fsyncIntervalMs).unref();
    }
  }

  /** One after the other. */
  #sync(): Promise<void> {
    const before = this.#syncing ?? Promise.resolve();
    const sync = before
      .catch(() => {})
      .then(() => this.#chain.sync())
      .catch((error) => {
        throw auditFailure(error);
      });
    this.#syncing = sync;
    return sync;
  }

  async #withSinks(action: (sink: AuditSink) => void | Promise<void>): Promise<void> {
    try {
      for (const sink of this.#sinks) await action(sink);
    } catch (error) {
      throw new SandboxError("AUDIT_FAILED", "A sink of the audit log failed", {
        hint: "See the cause. A sink that may fail must catch its own errors.",
        cause: error,
      });
    }
  }

  /** Nothing can be written: waiting callers get the error. An attempt's record is tried again with the next one. */
  #fail(error: unknown): void {
    const failure = auditFailure(error);
    this.#failure = failure;
    for (const [id, entry] of this.#queue) {
      entry.reject?.(failure);
      entry.resolve = undefined;
      entry.reject = undefined;
      if (!entry.owed) this.#queue.delete(id);
    }
  }

  #checkOpen(): void {
    if (this.#closed) throw new SandboxError("AUDIT_FAILED", "The audit log is closed");
  }
}

function locked(timeoutMs: number): SandboxError {
  return new SandboxError("AUDIT_FAILED", `Other processes kept the audit log locked for ${timeoutMs} ms`, {
    hint: "Look for a process that was stopped while writing, or whose disk hangs.",
  });
}

function invalid(message: string, hint: string): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", message, { hint });
}

function positive(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw invalid(`${name} must be a whole number above 0`, "Leave it out for the default.");
}

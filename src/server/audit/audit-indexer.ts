import { type AuditRecord, LogReader } from "../../guard/audit/index.js";
import type { AuditEntry, Store } from "../store/index.js";

const BATCH = 512;

/**
 * Indexes this server's audit records in the store, so that the records of all servers are found in one place, also
 * when a host is gone. It reads the log from time to time: no call waits for it, and what a killed run left is read later.
 */
export class AuditIndexer {
  #reader: LogReader | undefined;

  /** The log is named by its server. */
  constructor(
    private readonly store: Store,
    private readonly directory: string,
    private readonly log: string,
  ) {}

  /** Takes in what has come. A failure leaves it for the next time. */
  async run(): Promise<void> {
    this.#reader ??= new LogReader(this.directory, await this.store.audit.lastSeq(this.log));
    let batch: AuditEntry[] = [];
    try {
      for await (const record of this.#reader.read()) {
        const entry = entryOf(this.log, record);
        if (entry !== undefined) batch.push(entry);
        if (batch.length < BATCH) continue;
        await this.store.audit.insert(batch);
        batch = [];
      }
      await this.store.audit.insert(batch);
    } catch (error) {
      this.#reader = undefined;
      throw error;
    }
  }
}

/** Records of the log about itself belong to no org. */
function entryOf(log: string, record: AuditRecord): AuditEntry | undefined {
  if (record.org_id === null) return undefined;
  return {
    log,
    seq: record.seq,
    org: record.org_id,
    session: record.session_id ?? undefined,
    eventType: record.event_type,
    tool: record.tool ?? undefined,
    result: record.result ?? undefined,
    at: Date.parse(record.timestamp),
  };
}

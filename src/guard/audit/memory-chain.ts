import type { Appended } from "./chain-writer.js";
import type { AuditBody, AuditRecord } from "./record.js";
import { GENESIS, sealRecord } from "./sealed-record.js";

/** A chain that is kept nowhere: for a logger that only has sinks. Every process starts a new one. */
export class MemoryChain {
  #seq = 0;
  #hash = GENESIS;

  open(): void {}

  begin(): void {}

  tryAppend(take: () => readonly AuditBody[]): Appended {
    return { records: take().map((body) => this.#append(body)) };
  }

  async sync(): Promise<void> {}

  settle(): void {}

  close(): void {}

  #append(body: AuditBody): AuditRecord {
    const { record } = sealRecord(body, this.#seq + 1, this.#hash);
    this.#seq = record.seq;
    this.#hash = record.hash;
    return record;
  }
}

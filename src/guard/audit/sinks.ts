import { once } from "node:events";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { Writable } from "node:stream";
import { canonicalJson, type Json } from "../../kit/canonical-json.js";
import type { AuditRecord } from "./record.js";

/** Another place for records, besides the log's own files. Gets each one after it is in the chain, in order. */
export interface AuditSink {
  /** What it throws makes the attempt AUDIT_FAILED: a sink that may fail catches by itself. */
  write(record: AuditRecord): void | Promise<void>;
  flush?(): void | Promise<void>;
  close?(): void | Promise<void>;
}

/** Calls a function with every record. */
export function createCallbackSink(callback: (record: AuditRecord) => void | Promise<void>): AuditSink {
  return { write: callback };
}

/** One line of JSON for every record, to standard output or another stream. It is not ended. */
export function createStreamSink(stream: Writable = process.stdout): AuditSink {
  return {
    async write(record) {
      if (!stream.write(asLine(record))) await once(stream, "drain");
    },
  };
}

/** One line of JSON for every record at the end of a plain file, for a program that ships logs. */
export function createFileSink(path: string): AuditSink {
  let handle: Promise<FileHandle> | undefined;
  const append = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;
  return {
    async write(record) {
      handle ??= open(path, append, 0o600);
      await (await handle).appendFile(asLine(record));
    },
    async flush() {
      await (await handle)?.sync();
    },
    async close() {
      await (await handle)?.close();
      handle = undefined;
    },
  };
}

function asLine(record: AuditRecord): string {
  const { hash, ...hashed } = record;
  return `${canonicalJson(hashed as unknown as Json).slice(0, -1)},"hash":"${hash}"}\n`;
}

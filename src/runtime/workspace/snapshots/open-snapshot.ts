import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { type Content, type SnapshotEntry, type SnapshotInfo, snapshotDamaged } from "./snapshot.js";
import { readEntries } from "./snapshot-record.js";
import { blobPath, isComplete } from "./stage.js";

/** A snapshot that is being read, and whose contents stay until it is closed. */
export class OpenSnapshot {
  readonly info: SnapshotInfo;
  readonly #list: string;
  readonly #blobs: string;
  readonly #close: () => Promise<void>;

  constructor(info: SnapshotInfo, list: string, blobs: string, close: () => Promise<void>) {
    this.info = info;
    this.#list = list;
    this.#blobs = blobs;
    this.#close = close;
  }

  /** What is in it, sorted by path. */
  entries(): AsyncGenerator<SnapshotEntry> {
    return readEntries(this.#list, this.info.id);
  }

  /** A file's content. One that is not what was kept is an error of the stream, at its end at the latest. */
  content(content: Content): Readable {
    return Readable.from(this.#verified(content), { objectMode: false });
  }

  /** Never rejects: what cannot be given back now goes with this process. */
  async close(): Promise<void> {
    await this.#close().catch(() => undefined);
  }

  async *#verified({ sha256, size }: Content): AsyncGenerator<Buffer> {
    const path = blobPath(this.#blobs, sha256);
    if (!(await isComplete(path, size))) throw snapshotDamaged(this.info.id);
    if (size === 0) return;
    const hash = createHash("sha256");
    for await (const chunk of createReadStream(path, { highWaterMark: Math.min(size, 256 * 1024) })) {
      hash.update(chunk as Buffer);
      yield chunk as Buffer;
    }
    if (hash.digest("hex") !== sha256) throw snapshotDamaged(this.info.id);
  }
}

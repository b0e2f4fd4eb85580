import { createReadStream } from "node:fs";
import { Readable, Transform } from "node:stream";
import { createDeferred } from "../../../kit/deferred.js";
import type { Runner } from "../../wire/index.js";
import type { ByteSource } from "../../workspace/index.js";
import { tooLarge } from "../../workspace/index.js";
import { tooSlow, transferFailure } from "./failures.js";

const PIECE_BYTES = 64 * 1024;

export interface ReceiveOptions {
  /** The path in messages. */
  readonly shown: string;
  readonly maxBytes: number;
  /** How long the guest may send nothing while the reader waits. */
  readonly idleMs: number;
  /** How long the whole transfer may take. Left out: as long as it makes progress. */
  readonly totalMs?: number;
}

/** A file from inside, as a stream that neither grows past its cap nor waits for a guest that has gone silent. */
export function receiveFile(runner: Runner, path: string, options: ReceiveOptions): Readable {
  const { shown, maxBytes, idleMs, totalMs } = options;
  const source = runner.readFile(path);
  let length = 0;
  const idle = setTimeout(() => {
    // While bytes wait to be read, the delay is the reader's.
    if (cap.readableLength > 0) idle.refresh();
    else cap.destroy(tooSlow(shown));
  }, idleMs);
  const total = totalMs === undefined ? undefined : setTimeout(() => cap.destroy(tooSlow(shown)), totalMs);
  const cap = new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      idle.refresh();
      length += chunk.length;
      if (length > maxBytes) callback(tooLarge(shown, maxBytes));
      else callback(null, chunk);
    },
  });
  cap.once("close", () => {
    clearTimeout(idle);
    clearTimeout(total);
    source.destroy();
  });
  // A late reader finds the error in the stream; it must not end the process.
  cap.on("error", () => undefined);
  source.once("error", (error) => cap.destroy(transferFailure(error, shown) as Error));
  return source.pipe(cap);
}

/** Reads such a stream to its end. */
export async function collect(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

export interface SendOptions {
  readonly shown: string;
  readonly mode: number;
  /** How long the guest may read nothing. */
  readonly idleMs: number;
}

/** Writes a file inside. A source that fails or a guest that takes nothing leaves no half of it. */
export async function sendFile(
  runner: Runner,
  path: string,
  source: ByteSource,
  options: SendOptions,
): Promise<void> {
  const stalled = createDeferred<never>();
  let timer: NodeJS.Timeout | undefined;
  let sourceFailure: { readonly error: unknown } | undefined;
  const waitForGuest = () => {
    clearTimeout(timer);
    timer = setTimeout(() => stalled.reject(tooSlow(options.shown)), options.idleMs);
  };
  async function* watched(): AsyncGenerator<Uint8Array | string> {
    try {
      for await (const chunk of source) {
        waitForGuest();
        if (chunk.length > 0) yield chunk;
        // Now it is the source that is waited for, as long as it takes.
        clearTimeout(timer);
      }
    } catch (error) {
      sourceFailure = { error };
      throw error;
    }
    waitForGuest();
  }
  const content = Readable.from(watched(), { objectMode: false });
  const written = runner.writeFile(path, options.mode, content);
  written.catch(() => undefined);
  try {
    await Promise.race([written, stalled.promise]);
  } catch (error) {
    content.destroy();
    throw sourceFailure === undefined ? transferFailure(error, options.shown) : sourceFailure.error;
  } finally {
    clearTimeout(timer);
  }
}

/** Bytes in pieces, so that each shows that the guest still takes them. */
export function* pieces(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}

/** An open file of this host as a source; it is closed at the end. */
export function readDescriptor(fd: number): Readable {
  return createReadStream("", { fd, start: 0 });
}

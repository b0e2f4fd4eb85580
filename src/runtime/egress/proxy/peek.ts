import type { Duplex } from "node:stream";

export interface PeekOptions<T> {
  /** Looks at all bytes so far. Undefined: more are needed. */
  look(bytes: Buffer): { readonly value: T; readonly used: number } | undefined;
  /** Sees this many bytes at most; with more than that there is no answer. */
  readonly maxBytes: number;
  /** For the whole answer, from now on or from the first byte on. */
  readonly timeoutMs: number;
  readonly fromFirstByte?: boolean;
}

/**
 * Reads as much of a stream as it takes to tell what it is, and puts back what was not used. Undefined: it ended before,
 * was too long, or took too long.
 */
export function peek<T>(stream: Duplex, options: PeekOptions<T>): Promise<T | undefined> {
  const { look, maxBytes, timeoutMs } = options;
  return new Promise((resolve) => {
    let bytes: Buffer = Buffer.alloc(0);
    let timer = options.fromFirstByte === true ? undefined : setTimeout(done, timeoutMs);
    stream.on("readable", read).on("end", done).on("close", done);
    if (stream.destroyed || stream.readableEnded) done();

    function read(): void {
      for (let chunk: Buffer | null = stream.read(); chunk !== null; chunk = stream.read()) {
        timer ??= setTimeout(done, timeoutMs);
        bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
        const answer = look(bytes.length > maxBytes ? bytes.subarray(0, maxBytes) : bytes);
        if (answer !== undefined) {
          // Before anything else happens, or the stream says that it has ended.
          if (answer.used < bytes.length) stream.unshift(bytes.subarray(answer.used));
          return done(answer.value);
        }
        if (bytes.length >= maxBytes) return done();
      }
    }

    function done(value?: T): void {
      clearTimeout(timer);
      stream.off("readable", read).off("end", done).off("close", done);
      resolve(value);
    }
  });
}

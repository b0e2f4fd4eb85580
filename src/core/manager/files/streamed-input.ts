import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { resolve } from "node:path";
import type { Readable } from "node:stream";
import { abortable } from "../../../kit/abortable.js";
import { MAX_INPUT_CHARACTERS } from "../../../kit/code-limits.js";
import { SandboxError, systemCode } from "../../../kit/errors.js";

/**
 * A file of this host that is copied into the workspace without being held in memory. It is a class, so that no JSON
 * from elsewhere can name a file of this host.
 */
export class HostFile {
  readonly path: string;
  /** As the caller wrote it, for messages. */
  readonly name: string;

  constructor(path: string) {
    if (typeof path !== "string" || path === "" || path.includes("\0")) {
      throw new SandboxError("INVALID_ARGUMENT", "A host file is named by its path", {
        hint: 'For example new HostFile("data.csv").',
      });
    }
    this.name = path;
    // The working directory may be another one when it is opened.
    this.path = resolve(path);
  }
}

/** What is read of an input before it is decided about: no UTF-16 unit has more than three bytes in UTF-8. */
export const HEAD_BYTES = 3 * (MAX_INPUT_CHARACTERS + 1);
const PIECE_BYTES = 256 * 1024;

interface Source {
  readonly size: number | undefined;
  /** The next bytes; undefined at the end. */
  next(): Promise<Buffer | undefined>;
  close(): void;
}

/**
 * An input file of one call. Its head is read first, and decided about; the very same bytes are what is written, and
 * the rest comes from the same open file, whatever stands at its path by then.
 */
export class StreamedInput {
  #source: Source | undefined;
  #head: Buffer | undefined;
  /** The head was the whole file; what is added later was not decided about, and is not read. */
  #isHeadAll = false;
  #isGiven = false;
  #hash: string | undefined;

  constructor(private readonly given: HostFile | Readable) {
    // It may fail before it is read.
    if (!(given instanceof HostFile)) given.on("error", () => undefined);
  }

  /** The first bytes; undefined: `look` was not called yet. */
  get head(): Buffer | undefined {
    return this.#head;
  }

  /** In bytes, where it is known. */
  get size(): number | undefined {
    return this.#source?.size;
  }

  /** Of the whole content, once all of it was read. */
  get hash(): string | undefined {
    return this.#hash;
  }

  /** Opens it and reads its head. */
  async look(signal: AbortSignal | undefined): Promise<void> {
    if (this.#head !== undefined) return;
    this.#source = this.given instanceof HostFile ? await openFile(this.given) : openStream(this.given);
    const pieces: Buffer[] = [];
    for (let length = 0; length < HEAD_BYTES; ) {
      const piece = await abortable(this.#source.next(), signal);
      if (piece === undefined) {
        this.#isHeadAll = true;
        break;
      }
      length += piece.length;
      pieces.push(piece);
    }
    this.#head = Buffer.concat(pieces);
  }

  /** All of it, once. */
  async *content(signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
    const source = this.#source;
    // Without `look` nothing was decided about it.
    if (source === undefined || this.#head === undefined || this.#isGiven)
      throw new SandboxError("INTERNAL", "An input was to be copied before it was looked at, or twice");
    this.#isGiven = true;
    const hash = createHash("sha256");
    for (let piece: Buffer | undefined = this.#head; piece !== undefined; ) {
      hash.update(piece);
      yield piece;
      piece = this.#isHeadAll ? undefined : await abortable(source.next(), signal);
    }
    this.#hash = `sha256:${hash.digest("hex")}`;
  }

  close(): void {
    if (this.#source !== undefined) this.#source.close();
    else if (!(this.given instanceof HostFile)) this.given.destroy();
  }
}

async function openFile({ path, name }: HostFile): Promise<Source> {
  let handle: FileHandle;
  try {
    // A pipe without a writer must not hold us up.
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    throw unreadable(name, cause);
  }
  // Closing waits for a read that is under way.
  const close = () => void handle.close().catch(() => undefined);
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) {
      throw new SandboxError("FILE_TYPE", `${name} is not a file`, { hint: "Give files one by one." });
    }
    return {
      size: stat.size,
      next: async () => {
        try {
          const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(PIECE_BYTES), 0, PIECE_BYTES);
          return bytesRead === 0 ? undefined : buffer.subarray(0, bytesRead);
        } catch (cause) {
          throw unreadable(name, cause);
        }
      },
      close,
    };
  } catch (error) {
    close();
    throw error instanceof SandboxError ? error : unreadable(name, error);
  }
}

function openStream(stream: Readable): Source {
  const pieces: AsyncIterator<unknown> = stream[Symbol.asyncIterator]();
  return {
    size: undefined,
    next: async () => {
      const { done, value } = await pieces.next().catch((cause: unknown) => {
        throw new SandboxError("FILE_FAILED", "An input's stream failed before its end", { cause });
      });
      if (done) return undefined;
      if (typeof value === "string") return Buffer.from(value);
      if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
      throw new SandboxError("INVALID_ARGUMENT", "An input's stream takes text or bytes");
    },
    close: () => stream.destroy(),
  };
}

function unreadable(name: string, cause: unknown): SandboxError {
  const code = systemCode(cause);
  if (code === "ENOENT")
    return new SandboxError("FILE_NOT_FOUND", `${name}: there is no such file`, { cause });
  if (code === "EACCES")
    return new SandboxError("FILE_DENIED", `${name}: no permission to read it`, { cause });
  return new SandboxError("FILE_FAILED", `${name}: cannot be read (${code ?? String(cause)})`, { cause });
}

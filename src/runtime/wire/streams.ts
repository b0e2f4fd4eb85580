import { Duplex, Readable, Writable } from "node:stream";
import { violation } from "./decoder.js";
import { encodeHeader, INPUT_WINDOW_BYTES, OUTPUT_WINDOW_BYTES, ToGuest } from "./frames.js";

/** Grant room in pieces of this size, so that a busy stream does not send a frame for every chunk. */
const GRANT_BYTES = OUTPUT_WINDOW_BYTES / 4;
const WRITE_BYTES = 64 * 1024;
/** As much as the guest has room for: a writer that waited for every piece would spend its time waiting. */
const SOCKET_BYTES = INPUT_WINDOW_BYTES;

/** Counts what the guest may still send; more than that is a violation. */
class OutputWindow {
  #allowed = OUTPUT_WINDOW_BYTES;
  #consumed = 0;

  constructor(private readonly grant: (bytes: number) => void) {}

  received(bytes: number): void {
    this.#allowed -= bytes;
    if (this.#allowed < 0) throw violation("more output than it was given room for");
    this.#consumed += bytes;
  }

  /** The reader wants more: everything received so far has been taken. */
  wanted(): void {
    if (this.#consumed < GRANT_BYTES) return;
    const bytes = this.#consumed;
    this.#consumed = 0;
    this.#allowed += bytes;
    this.grant(bytes);
  }
}

/** Puts what the guest sends into a stream, and gives room back as the stream is read. */
class Inlet {
  readonly #stream: Readable;
  readonly #window: OutputWindow;
  #ended = false;

  constructor(stream: Readable, grant: (bytes: number) => void) {
    this.#stream = stream;
    this.#window = new OutputWindow(grant);
  }

  receive(part: Buffer): void {
    this.#window.received(part.length);
    if (this.#stream.destroyed || this.#ended) this.#window.wanted();
    else this.#stream.push(part);
  }

  finish(): void {
    if (this.#ended || this.#stream.destroyed) return;
    this.#ended = true;
    this.#stream.push(null);
  }

  wanted(): void {
    this.#window.wanted();
  }
}

/** One output of the guest. Unread bytes stop the program that writes them, not this process. */
export class GuestReadable extends Readable {
  readonly inlet: Inlet;

  constructor(grant: (bytes: number) => void) {
    super({ highWaterMark: GRANT_BYTES });
    this.inlet = new Inlet(this, grant);
  }

  override _read(): void {
    this.inlet.wanted();
  }
}

/** Sends bytes on; the second function is called when they may change again. */
export type Send = (piece: Uint8Array, taken: () => void) => void;

/** Sends a frame of data whose bytes are not copied first. */
export function sendUncopied(toGuest: Writable, id: number, piece: Uint8Array, taken: () => void): void {
  toGuest.cork();
  toGuest.write(encodeHeader(ToGuest.data, id, piece.length));
  toGuest.write(piece, () => taken());
  toGuest.uncork();
}

/** Sends pieces while the guest has room, and waits when it has not. */
export class InputSender {
  #room = INPUT_WINDOW_BYTES;
  #waiting: (() => void) | undefined;

  constructor(private readonly send: Send) {}

  roomGranted(bytes: number): void {
    this.#room += bytes;
    if (this.#room > INPUT_WINDOW_BYTES) throw violation("more room than the window has");
    const resume = this.#waiting;
    this.#waiting = undefined;
    resume?.();
  }

  /** `done` is called when all of it may change again: pieces are taken in their order. */
  write(chunks: readonly Uint8Array[], done: () => void): void {
    const last = chunks.findLastIndex(({ length }) => length > 0);
    if (last === -1) return done();
    for (let at = 0; at <= last; at++) {
      let rest = chunks[at]!;
      while (rest.length > 0) {
        if (this.#room === 0) {
          this.#waiting = () => this.write([rest, ...chunks.slice(at + 1)], done);
          return;
        }
        const piece = rest.subarray(0, Math.min(rest.length, this.#room, WRITE_BYTES));
        rest = rest.subarray(piece.length);
        this.#room -= piece.length;
        this.send(piece, at === last && rest.length === 0 ? done : () => undefined);
      }
    }
  }

  /** Releases a waiting writer: the reader is gone. */
  abandon(): void {
    this.#room = 0;
    const resume = this.#waiting;
    this.#waiting = undefined;
    if (resume !== undefined) {
      this.write = (_chunks, done) => done();
      resume();
    }
    this.write = (_chunks, done) => done();
  }
}

/** A command's standard input, or a file being written. */
export class GuestWritable extends Writable {
  readonly sender: InputSender;
  readonly #end: () => void;

  constructor(send: (piece: Uint8Array) => void) {
    super({ highWaterMark: WRITE_BYTES, decodeStrings: true });
    this.sender = new InputSender((piece, taken) => {
      send(piece);
      taken();
    });
    this.#end = () => send(new Uint8Array(0));
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.sender.write([chunk], callback);
  }

  override _final(callback: () => void): void {
    this.#end();
    callback();
  }

  /** The other side is gone: what is still written goes nowhere, without an error. */
  abandon(): void {
    this.sender.abandon();
    if (!this.writableEnded) this.end();
  }
}

/** A connection to or from a port inside. */
export class GuestDuplex extends Duplex {
  readonly sender: InputSender;
  readonly inlet: Inlet;
  readonly #end: () => void;
  readonly #abort: () => void;

  constructor(send: Send, grant: (bytes: number) => void, abort: () => void) {
    super({ readableHighWaterMark: GRANT_BYTES, writableHighWaterMark: SOCKET_BYTES, allowHalfOpen: true });
    this.sender = new InputSender(send);
    this.inlet = new Inlet(this, grant);
    this.#end = () => send(new Uint8Array(0), () => undefined);
    this.#abort = abort;
  }

  override _read(): void {
    this.inlet.wanted();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.sender.write([chunk], callback);
  }

  override _writev(chunks: { chunk: Buffer }[], callback: () => void): void {
    this.sender.write(
      chunks.map(({ chunk }) => chunk),
      callback,
    );
  }

  override _final(callback: () => void): void {
    this.#end();
    callback();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.sender.abandon();
    this.#abort();
    callback(error);
  }
}

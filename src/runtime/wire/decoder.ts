import { SandboxError } from "../../kit/errors.js";
import { FromGuest, GUEST_PAYLOAD_LIMITS, HEADER_BYTES } from "./frames.js";

export interface FrameSink {
  /** Part of a stdout or stderr payload; one frame may arrive in several parts. */
  data(type: number, id: number, part: Buffer): void;
  /** Any other frame, whole. The payload is only valid during the call. */
  control(type: number, id: number, payload: Buffer): void;
}

/** A frame the guest must not send. */
export function violation(what: string): SandboxError {
  return new SandboxError("WIRE_VIOLATION", `The guest broke the protocol: ${what}`, {
    hint: "The sandbox was destroyed. The program inside may have attacked it.",
  });
}

/**
 * Cuts the guest's bytes into frames. Output passes through in parts as it arrives, so this never holds more
 * than one header and one small control payload, whatever the guest sends.
 */
export class FrameDecoder {
  readonly #header = Buffer.alloc(HEADER_BYTES);
  readonly #control = Buffer.alloc(2048);
  #headerUsed = 0;
  #controlUsed = 0;
  #type = 0;
  #id = 0;
  #left = -1;

  constructor(private readonly sink: FrameSink) {}

  /** Throws WIRE_VIOLATION; the caller must not push again afterwards. */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#left < 0) {
        at = this.#readHeader(chunk, at);
        // Still incomplete, or a frame without a payload.
        if (this.#left < 0) continue;
      }
      at = isOutput(this.#type) ? this.#passOutput(chunk, at) : this.#fillControl(chunk, at);
    }
  }

  #readHeader(chunk: Buffer, at: number): number {
    const take = Math.min(HEADER_BYTES - this.#headerUsed, chunk.length - at);
    chunk.copy(this.#header, this.#headerUsed, at, at + take);
    this.#headerUsed += take;
    if (this.#headerUsed < HEADER_BYTES) return at + take;
    this.#headerUsed = 0;
    const length = this.#header.readUInt32LE(0);
    this.#id = this.#header.readUInt32LE(4);
    this.#type = this.#header.readUInt32LE(8);
    const limit = GUEST_PAYLOAD_LIMITS.get(this.#type);
    if (limit === undefined) throw violation(`unknown frame type ${this.#type}`);
    if (length > limit) throw violation(`a frame of type ${this.#type} with ${length} bytes`);
    this.#left = length;
    this.#controlUsed = 0;
    if (length === 0) this.#finish();
    return at + take;
  }

  #passOutput(chunk: Buffer, at: number): number {
    const take = Math.min(this.#left, chunk.length - at);
    this.#left -= take;
    const done = this.#left === 0;
    if (done) this.#left = -1;
    this.sink.data(this.#type, this.#id, chunk.subarray(at, at + take));
    return at + take;
  }

  #fillControl(chunk: Buffer, at: number): number {
    const take = Math.min(this.#left, chunk.length - at);
    chunk.copy(this.#control, this.#controlUsed, at, at + take);
    this.#controlUsed += take;
    this.#left -= take;
    if (this.#left === 0) this.#finish();
    return at + take;
  }

  #finish(): void {
    this.#left = -1;
    if (!isOutput(this.#type))
      this.sink.control(this.#type, this.#id, this.#control.subarray(0, this.#controlUsed));
  }
}

function isOutput(type: number): boolean {
  return type === FromGuest.stdout || type === FromGuest.stderr;
}

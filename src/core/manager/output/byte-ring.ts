/** The last bytes of something without an end, by their position in it. */
export class ByteRing {
  #bytes: Buffer;
  #start = 0;
  #end = 0;

  constructor(capacity = 0) {
    this.#bytes = Buffer.allocUnsafeSlow(capacity);
  }

  /** The position of the oldest byte that is kept. */
  get start(): number {
    return this.#start;
  }

  /** How many bytes there have been. */
  get end(): number {
    return this.#end;
  }

  /** How many it can keep, which is the memory it takes. */
  get capacity(): number {
    return this.#bytes.length;
  }

  /** Of what no longer fits the oldest goes. */
  resize(capacity: number): void {
    const from = Math.max(this.#start, this.#end - capacity);
    const kept = this.read(from, this.#end - from);
    this.#bytes = Buffer.allocUnsafeSlow(capacity);
    this.#start = from;
    this.#put(from, kept);
  }

  /** The bytes are copied: those of the caller may be part of something larger. */
  append(data: Uint8Array): void {
    const at = this.#end;
    this.#end += data.length;
    this.#start = Math.max(this.#start, this.#end - this.capacity);
    this.#put(Math.max(at, this.#start), data.subarray(Math.max(0, this.#start - at)));
  }

  /** Keeps nothing before a position. */
  dropTo(position: number): void {
    this.#start = Math.max(this.#start, Math.min(position, this.#end));
  }

  /** A copy of what is kept of these positions. */
  read(from: number, length: number): Buffer {
    const first = Math.max(from, this.#start);
    const last = Math.min(from + length, this.#end);
    if (last <= first) return Buffer.alloc(0);
    const at = first % this.capacity;
    const untilTurn = this.#bytes.subarray(at, Math.min(this.capacity, at + last - first));
    return Buffer.concat([untilTurn, this.#bytes.subarray(0, last - first - untilTurn.length)]);
  }

  #put(position: number, data: Uint8Array): void {
    if (data.length === 0) return;
    const at = position % this.capacity;
    const room = this.capacity - at;
    this.#bytes.set(data.subarray(0, room), at);
    if (data.length > room) this.#bytes.set(data.subarray(room), 0);
  }
}

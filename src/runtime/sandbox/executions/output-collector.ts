/** Keeps the first bytes of both outputs, up to one limit for the two together. */
export class OutputCollector {
  readonly #limit: number;
  readonly #parts = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  #used = 0;
  #truncated = false;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  get truncated(): boolean {
    return this.#truncated;
  }

  /** Returns false once the limit is passed. */
  add(type: "stdout" | "stderr", data: Buffer): boolean {
    const room = this.#limit - this.#used;
    const kept = data.length <= room ? data : data.subarray(0, Math.max(0, room));
    if (kept.length < data.length) this.#truncated = true;
    // A small part of a large chunk would keep the whole chunk in memory.
    if (kept.length > 0)
      this.#parts[type].push(kept.length * 4 < kept.buffer.byteLength ? Buffer.from(kept) : kept);
    this.#used += kept.length;
    return !this.#truncated;
  }

  /** Bytes that are no UTF-8 become replacement characters; a character cut by the limit is left out. */
  text(type: "stdout" | "stderr"): string {
    const bytes = Buffer.concat(this.#parts[type]);
    return this.#truncated ? new TextDecoder().decode(bytes, { stream: true }) : bytes.toString("utf8");
  }
}

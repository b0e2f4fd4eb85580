import { isUtf8 } from "node:buffer";
import type { PrintedOutput } from "./result.js";

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

  get output(): PrintedOutput {
    const [stdout, stderr] = [Buffer.concat(this.#parts.stdout), Buffer.concat(this.#parts.stderr)];
    return {
      stdout: this.#text(stdout),
      stderr: this.#text(stderr),
      ...(!isUtf8(stdout) && { stdoutBase64: stdout.toString("base64") }),
      ...(!isUtf8(stderr) && { stderrBase64: stderr.toString("base64") }),
    };
  }

  /** Bytes that are no UTF-8 become replacement characters; a character cut by the limit is left out. */
  #text(bytes: Buffer): string {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    return this.#truncated ? decoder.decode(bytes, { stream: true }) : bytes.toString("utf8");
  }
}

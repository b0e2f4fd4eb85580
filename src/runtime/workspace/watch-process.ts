import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";

/** Frames of guest/src/watch.c: u32 length, u32 id, u32 type, then so many bytes. */
const Request = { watch: 0x21, take: 0x22, forget: 0x23 } as const;
const Reply = { taken: 0xa2, forgotten: 0xa3 } as const;
const Tag = { path: 1, limits: 2 } as const;
const HEADER_BYTES = 12;
const MAX_PAYLOAD_BYTES = 256 * 1024;

/** What is looked at in one directory tree. Never more than the watcher's own limits, which apply when left out. */
export interface WatchLimits {
  readonly directories: number;
  readonly depth: number;
  readonly paths: number;
  readonly bytes: number;
}

/** One run of the watcher's program. Once it has ended, every question is answered with undefined. */
export class WatchProcess {
  readonly #child: ChildProcess;
  readonly #timeoutMs: number;
  readonly #waiting = new Map<number, (answer: Buffer | undefined) => void>();
  #received: Buffer = Buffer.alloc(0);
  #lastId = 0;
  #lastSequence = 0;
  #isAlive = true;

  constructor(program: string, timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    const child = spawn(program, ["--watch"], {
      stdio: ["pipe", "pipe", "ignore"],
      env: {},
      cwd: "/",
      // A group of its own, so that a Ctrl-C on our terminal does not end it before the last question.
      detached: true,
    });
    this.#child = child;
    const end = () => this.end();
    child.on("error", end).on("exit", end);
    child.stdin?.on("error", end);
    child.stdout?.on("error", end).on("data", (chunk: Buffer) => this.#receive(chunk));
    // It must not keep this process alive; a pending request does so by its timer.
    child.unref();
    (child.stdin as Socket | null)?.unref();
    (child.stdout as Socket | null)?.unref();
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** Starts to watch; the id is for the calls below. */
  watch(directory: string, limits?: WatchLimits): number {
    const id = ++this.#lastId;
    const fields = [field(Tag.path, Buffer.from(directory))];
    if (limits !== undefined) {
      fields.push(field(Tag.limits, u32(limits.directories, limits.depth, limits.paths, limits.bytes)));
    }
    this.#send(Request.watch, id, Buffer.concat(fields));
    return id;
  }

  /** Flags and paths, or undefined when there is no answer in time. */
  take(id: number): Promise<Buffer | undefined> {
    return this.#ask(Request.take, id);
  }

  /** Resolves when nothing of the directory is watched any more, or after a while. */
  async forget(id: number): Promise<void> {
    await this.#ask(Request.forget, id);
  }

  /** The program ends when its input does. */
  end(): void {
    if (!this.#isAlive) return;
    this.#isAlive = false;
    this.#child.stdin?.destroy();
    this.#child.stdout?.destroy();
    for (const answer of this.#waiting.values()) answer(undefined);
    this.#waiting.clear();
  }

  #ask(type: number, id: number): Promise<Buffer | undefined> {
    if (!this.#isAlive) return Promise.resolve(undefined);
    const sequence = ++this.#lastSequence >>> 0;
    return new Promise((resolve) => {
      const answer = (payload: Buffer | undefined) => {
        clearTimeout(timer);
        this.#waiting.delete(sequence);
        resolve(payload);
      };
      // An answer that arrived while we were busy elsewhere is read before the immediate.
      const timer = setTimeout(() => setImmediate(answer, undefined), this.#timeoutMs);
      this.#waiting.set(sequence, answer);
      this.#send(type, id, u32(sequence));
    });
  }

  #send(type: number, id: number, payload: Buffer): void {
    if (this.#isAlive) this.#child.stdin?.write(Buffer.concat([u32(payload.length, id, type), payload]));
  }

  #receive(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    while (this.#received.length >= HEADER_BYTES) {
      const length = this.#received.readUInt32LE(0);
      const type = this.#received.readUInt32LE(8);
      if (length < 4 || length > MAX_PAYLOAD_BYTES || (type !== Reply.taken && type !== Reply.forgotten)) {
        this.end();
        return;
      }
      if (this.#received.length < HEADER_BYTES + length) return;
      const payload = this.#received.subarray(HEADER_BYTES, HEADER_BYTES + length);
      this.#received = this.#received.subarray(HEADER_BYTES + length);
      this.#waiting.get(payload.readUInt32LE(0))?.(payload.subarray(4));
    }
  }
}

function field(tag: number, value: Buffer): Buffer {
  return Buffer.concat([Buffer.of(tag), u32(value.length), value]);
}

function u32(...values: readonly number[]): Buffer {
  const buffer = Buffer.allocUnsafe(values.length * 4);
  for (const [index, value] of values.entries()) buffer.writeUInt32LE(value, index * 4);
  return buffer;
}

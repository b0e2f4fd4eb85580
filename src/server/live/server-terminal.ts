import { finished } from "node:stream/promises";
import {
  ByteRing,
  type GuardedTerminal,
  type OutputBudget,
  type OutputBuffer,
} from "../../core/manager/index.js";
import { SandboxError } from "../../kit/errors.js";
import { toExecutionReply } from "../executions/index.js";
import type { ManagedSocket } from "../http/index.js";
import { LiveCall, type LiveOwner } from "./live-call.js";
import { TerminalWatcher } from "./terminal-watcher.js";

/** What is kept of one terminal. */
const SCREEN_BYTES = 256 * 1024;
/** How far a watcher may be behind before the program waits: more than this and one chunk has to fit. */
const BEHIND_BYTES = SCREEN_BYTES / 2;

export interface TerminalSize {
  readonly rows: number;
  readonly columns: number;
}

/** A terminal that connections come to and go from. */
export class ServerTerminal extends LiveCall<GuardedTerminal> {
  readonly #screen = new ByteRing(SCREEN_BYTES);
  readonly #watchers = new Set<TerminalWatcher>();
  readonly #kept: OutputBuffer;
  /** Ids of the keys that have come to it. */
  readonly #keys = new Set<string>();
  #size: TerminalSize;
  #output: GuardedTerminal["output"] | undefined;
  #isReleased = false;
  #isForgotten = false;
  #clock: NodeJS.Timeout | undefined;

  constructor(
    owner: LiveOwner,
    /** What runs on it; undefined: a shell. */
    readonly command: string | undefined,
    { rows, columns }: TerminalSize,
    private readonly detachedMs: number,
    private readonly budget: OutputBudget,
  ) {
    super(owner);
    this.#size = { rows, columns };
    const screen = this.#screen;
    this.#kept = {
      get capacity() {
        return screen.capacity;
      },
      resize: (capacity) => screen.resize(capacity),
    };
  }

  get size(): TerminalSize {
    return this.#size;
  }

  /** Bytes that were on it so far. */
  get bytes(): number {
    return this.#screen.end;
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  /** Calls the function, and remembers the key, unless it has come before. */
  async meet(key: string, isNew: () => Promise<void>): Promise<void> {
    if (this.#keys.has(key)) return;
    await isNew();
    this.#keys.add(key);
  }

  /** INVALID_ARGUMENT: a position that has not come yet. CONFLICT: it has not opened yet. */
  checkCursor(cursor: number): void {
    if (this.state === "starting") {
      throw new SandboxError("CONFLICT", "The terminal has not opened yet", {
        hint: "It may wait for approval. Try again when its state is running.",
      });
    }
    if (cursor <= this.#screen.end) return;
    throw new SandboxError(
      "INVALID_ARGUMENT",
      `The cursor is ${cursor}, and there were ${this.bytes} bytes`,
      {
        hint: "It is the cursor of `open` and the bytes that came since. Leave it out for everything that is kept.",
      },
    );
  }

  /** Sends a connection the kept output from a position on, and new output, until it closes. */
  attach(socket: ManagedSocket, cursor: number): void {
    const watcher = new TerminalWatcher(socket, this.#screen, cursor, () => this.#hold());
    this.#watchers.add(watcher);
    clearTimeout(this.#clock);
    socket.onClose(() => {
      this.#watchers.delete(watcher);
      this.#startClock();
      this.#hold();
    });
    if (this.outcome !== undefined) watcher.end(this.#goodbye());
    else watcher.look();
    this.#hold();
  }

  /** Resolves when there is room for more. What comes after the end goes nowhere. */
  async type(data: string | Uint8Array): Promise<void> {
    if (this.state === "running") await this.handle.write(data);
  }

  resize(rows: number, columns: number): void {
    if (this.state !== "running") return;
    this.handle.resize(rows, columns);
    this.#size = { rows, columns };
  }

  /** A shell does not end by itself. */
  override stop(): void {
    this.end();
  }

  override release(): void {
    this.#isReleased = true;
    this.#hold();
  }

  override forget(): void {
    this.#isForgotten = true;
    clearTimeout(this.#clock);
    this.budget.remove(this.#kept);
  }

  protected override begun({ output }: GuardedTerminal): Promise<void> {
    this.#output = output;
    output.on("data", (data: Buffer) => {
      this.#screen.append(data);
      for (const watcher of this.#watchers) watcher.look();
      this.#hold();
    });
    this.#startClock();
    return finished(output);
  }

  protected override finished(): void {
    clearTimeout(this.#clock);
    for (const watcher of this.#watchers) watcher.end(this.#goodbye());
    if (!this.#isForgotten) this.budget.end(this.#kept, this.#screen.end - this.#screen.start);
  }

  /** The program waits for the slowest watcher. */
  #hold(): void {
    if (this.#output === undefined) return;
    const isBehind = [...this.#watchers].some(({ behind }) => behind > BEHIND_BYTES);
    if (isBehind && !this.#isReleased) this.#output.pause();
    else if (this.#output.isPaused()) this.#output.resume();
  }

  /** A terminal without connections is ended after a while. */
  #startClock(): void {
    clearTimeout(this.#clock);
    if (this.#watchers.size > 0 || this.outcome !== undefined || this.#isForgotten) return;
    this.#clock = setTimeout(() => this.end(), this.detachedMs).unref();
  }

  #goodbye(): unknown {
    const { result, failure } = this.outcome!;
    if (failure !== undefined) return { type: "exit", result: null, error: failure.toJSON() };
    const about = { executionId: this.id, sessionId: this.owner.session.name };
    return { type: "exit", result: toExecutionReply(result, about) };
  }
}

import { finished } from "node:stream/promises";
import type { SessionTerminalConnection } from "@skerry/client";
import type { GuardedTerminal } from "../call/open-terminal.js";
import type { ToolResult } from "../call/tool-call.js";
import { ByteRing } from "../output/byte-ring.js";
import { invalid } from "./check-arguments.js";
import { LiveCall } from "./live-call.js";

/** What is kept of one terminal. */
const SCREEN_BYTES = 256 * 1024;
/** How far a loop over a connection may be behind before the program waits: more than this and one chunk has to fit. */
const BEHIND_BYTES = SCREEN_BYTES / 2;
const PIECE_BYTES = 32 * 1024;

/** One terminal. The last of its output is kept; the program waits only for connections that are iterated. */
export class LiveTerminal extends LiveCall {
  readonly #terminal: GuardedTerminal;
  readonly #screen = new ByteRing(SCREEN_BYTES);
  readonly #connections = new Set<LiveTerminalConnection>();

  constructor(terminal: GuardedTerminal) {
    super(terminal);
    this.#terminal = terminal;
    terminal.output.on("data", (data: Buffer) => {
      this.#screen.append(data);
      this.#tell();
    });
    const tell = () => this.#tell();
    this.watch(finished(terminal.output)).then(tell, tell);
  }

  connect(ended: AbortSignal): SessionTerminalConnection {
    const took = () => {
      this.#hold();
      return this.hasEnded;
    };
    return new LiveTerminalConnection(this.#terminal, this.#screen, this.#connections, took, ended);
  }

  #tell(): void {
    for (const connection of this.#connections) connection.wake?.();
    this.#hold();
  }

  #hold(): void {
    const { output } = this.#terminal;
    const isBehind = [...this.#connections].some(({ behind }) => behind > BEHIND_BYTES);
    if (isBehind) output.pause();
    else if (output.isPaused()) output.resume();
  }
}

class LiveTerminalConnection implements SessionTerminalConnection {
  result: ToolResult | undefined;
  /** Set while its loop waits for more. */
  wake: (() => void) | undefined;
  #position = 0;
  #isClosed = false;

  /** `iterated`: those whose loop lasts. `took` is told when one has read, and says whether all has come. @internal */
  constructor(
    private readonly terminal: GuardedTerminal,
    private readonly screen: ByteRing,
    private readonly iterated: Set<LiveTerminalConnection>,
    private readonly took: () => boolean,
    private readonly ended: AbortSignal,
  ) {}

  get behind(): number {
    return this.screen.end - Math.max(this.#position, this.screen.start);
  }

  write(data: string | Uint8Array): void {
    if (typeof data !== "string" && !(data instanceof Uint8Array))
      throw invalid("What is typed is text or bytes", 'For example write("ls\\r").');
    void this.terminal.write(data);
  }

  resize(rows: number, columns: number): void {
    this.terminal.resize(rows, columns);
  }

  close(): void {
    this.#isClosed = true;
    this.wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    this.iterated.add(this);
    const wake = () => this.wake?.();
    this.ended.addEventListener("abort", wake);
    try {
      while (!this.#isClosed) {
        this.ended.throwIfAborted();
        this.#position = Math.max(this.#position, this.screen.start);
        const bytes = this.screen.read(this.#position, PIECE_BYTES);
        this.#position += bytes.length;
        const hasEnded = this.took();
        if (bytes.length > 0) yield bytes;
        else if (hasEnded) {
          this.result = await this.terminal.exit;
          return;
        } else
          await new Promise<void>((resolve) => {
            this.wake = resolve;
          });
      }
    } finally {
      this.ended.removeEventListener("abort", wake);
      this.iterated.delete(this);
      this.took();
    }
  }
}

import { randomUUID } from "node:crypto";
import { finished } from "node:stream/promises";
import type { SandboxSessionTerminals, SessionTerminal, SessionTerminalConnection } from "@skerry/client";
import type { GuardedTerminal, TerminalCall } from "../call/open-terminal.js";
import type { ToolResult } from "../call/tool-call.js";
import { ByteRing } from "../output/byte-ring.js";
import { refuseUnknown } from "../unknown-option.js";
import { type HandleCaller, type HandleHost, listCalls } from "./handle-host.js";

/** What is kept of one terminal. */
const SCREEN_BYTES = 256 * 1024;
/** How far a loop over a connection may be behind before the program waits: more than this and one chunk has to fit. */
const BEHIND_BYTES = SCREEN_BYTES / 2;
const PIECE_BYTES = 32 * 1024;

/** Terminals of a session, each one tool call. */
export class HandleTerminals implements SandboxSessionTerminals {
  readonly #host: HandleHost;
  readonly #caller: HandleCaller;

  /** @internal */
  constructor(host: HandleHost, caller: HandleCaller) {
    this.#host = host;
    this.#caller = caller;
  }

  async open({
    rows,
    columns,
    argv,
    ...unknown
  }: Pick<TerminalCall, "rows" | "columns" | "argv">): Promise<HandleTerminal> {
    refuseUnknown(unknown);
    const opened = await this.#host.openTerminal({ rows, columns, argv, ...this.#caller });
    const { terminals } = await this.#host.liveCalls(this.#caller.sessionId);
    const terminal = new HandleTerminal(opened, () => terminals.delete(terminal.id));
    terminals.set(terminal.id, terminal);
    return terminal;
  }

  async list(): Promise<readonly { readonly id: string; readonly state: "running" | "ended" }[]> {
    return listCalls((await this.#host.liveCalls(this.#caller.sessionId)).terminals);
  }
}

/** One terminal. The last of its output is kept; the program waits only for connections that are iterated. */
export class HandleTerminal implements SessionTerminal {
  readonly id = randomUUID();
  readonly #terminal: GuardedTerminal;
  readonly #forget: () => void;
  readonly #screen = new ByteRing(SCREEN_BYTES);
  readonly #connections = new Set<HandleTerminalConnection>();
  #state: "running" | "ended" = "running";

  /** @internal */
  constructor(terminal: GuardedTerminal, forget: () => void) {
    this.#terminal = terminal;
    this.#forget = forget;
    terminal.output.on("data", (data: Buffer) => {
      this.#screen.append(data);
      this.#tell();
    });
    const end = () => {
      this.#state = "ended";
      this.#tell();
    };
    finished(terminal.output)
      .then(() => terminal.exit)
      .then(end, end);
  }

  get state(): "running" | "ended" {
    return this.#state;
  }

  async connect(): Promise<SessionTerminalConnection> {
    return new HandleTerminalConnection(this.#terminal, this.#screen, this.#connections, () => {
      this.#hold();
      return this.#state === "ended";
    });
  }

  async delete(): Promise<void> {
    this.#forget();
    await this.#terminal.close();
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

class HandleTerminalConnection implements SessionTerminalConnection {
  result: ToolResult | undefined;
  /** Set while its loop waits for more. */
  wake: (() => void) | undefined;
  #position = 0;
  #isClosed = false;

  /** `iterated`: those whose loop lasts. `took` is told when one has read, and says whether all has come. @internal */
  constructor(
    private readonly terminal: GuardedTerminal,
    private readonly screen: ByteRing,
    private readonly iterated: Set<HandleTerminalConnection>,
    private readonly took: () => boolean,
  ) {}

  get behind(): number {
    return this.screen.end - Math.max(this.#position, this.screen.start);
  }

  write(data: string | Uint8Array): void {
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
    try {
      while (!this.#isClosed) {
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
      this.iterated.delete(this);
      this.took();
    }
  }
}

import { randomUUID } from "node:crypto";
import type { SandboxSessionTerminals, SessionTerminal, SessionTerminalConnection } from "@skerry/client";
import type { GuardedTerminal, TerminalCall } from "../call/open-terminal.js";
import type { ToolResult } from "../call/tool-call.js";
import type { HandleCaller, HandleHost } from "./handle-host.js";

/** Terminals of a session, each one tool call. */
export class HandleTerminals implements SandboxSessionTerminals {
  readonly #host: HandleHost;
  readonly #caller: HandleCaller;
  readonly #known = new Map<string, HandleTerminal>();

  /** @internal */
  constructor(host: HandleHost, caller: HandleCaller) {
    this.#host = host;
    this.#caller = caller;
  }

  async open(options: Pick<TerminalCall, "rows" | "columns" | "argv">): Promise<HandleTerminal> {
    const terminal = new HandleTerminal(await this.#host.openTerminal({ ...options, ...this.#caller }), () =>
      this.#known.delete(terminal.id),
    );
    this.#known.set(terminal.id, terminal);
    return terminal;
  }

  async list(): Promise<readonly { readonly id: string; readonly state: "running" | "ended" }[]> {
    return [...this.#known.values()].map(({ id, state }) => ({ id, state }));
  }
}

/** One terminal. What is on it and not seen holds its program back. */
export class HandleTerminal implements SessionTerminal {
  readonly id = randomUUID();
  readonly #terminal: GuardedTerminal;
  readonly #forget: () => void;
  #hasEnded = false;

  /** @internal */
  constructor(terminal: GuardedTerminal, forget: () => void) {
    this.#terminal = terminal;
    this.#forget = forget;
    const end = () => {
      this.#hasEnded = true;
    };
    terminal.exit.then(end, end);
  }

  get state(): "running" | "ended" {
    return this.#hasEnded ? "ended" : "running";
  }

  /** Sees what was not seen yet. */
  async connect(): Promise<SessionTerminalConnection> {
    return new HandleTerminalConnection(this.#terminal);
  }

  async delete(): Promise<void> {
    this.#forget();
    await this.#terminal.close();
  }
}

class HandleTerminalConnection implements SessionTerminalConnection {
  result: ToolResult | undefined;
  readonly #terminal: GuardedTerminal;
  readonly #left = new AbortController();

  /** @internal */
  constructor(terminal: GuardedTerminal) {
    this.#terminal = terminal;
  }

  write(data: string | Uint8Array): void {
    void this.#terminal.write(data);
  }

  resize(rows: number, columns: number): void {
    this.#terminal.resize(rows, columns);
  }

  close(): void {
    this.#left.abort();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const { signal } = this.#left;
    const left = new Promise<undefined>((resolve) => {
      signal.addEventListener("abort", () => resolve(undefined), { once: true });
    });
    // To leave it is not to close the terminal.
    const pieces = this.#terminal.output.iterator({ destroyOnReturn: false });
    while (!signal.aborted) {
      const next = await Promise.race([pieces.next(), left]);
      if (next === undefined) return;
      if (next.done === true) {
        this.result = await this.#terminal.exit;
        return;
      }
      yield next.value as Buffer;
    }
  }
}

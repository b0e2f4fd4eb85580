import type { SandboxSessionTerminals, SessionTerminal, SessionTerminalConnection } from "@skerry/client";
import { checkOptions, type OptionNames } from "../../../kit/check-options.js";
import type { TerminalCall } from "../call/open-terminal.js";
import type { HandleCaller, OpenHost } from "./handle-host.js";
import { addCall, findCall, type LiveCallInfo } from "./live-call.js";
import { LiveTerminal } from "./live-terminal.js";

type NewTerminal = Pick<TerminalCall, "rows" | "columns" | "argv" | "env" | "cwd">;
const OPTIONS: OptionNames<NewTerminal> = { rows: true, columns: true, argv: true, env: true, cwd: true };

/** Terminals of a session, each one tool call. */
export class HandleTerminals implements SandboxSessionTerminals {
  readonly #host: OpenHost;
  readonly #caller: HandleCaller;

  /** @internal */
  constructor(host: OpenHost, caller: HandleCaller) {
    this.#host = host;
    this.#caller = caller;
  }

  async open(
    options: Pick<TerminalCall, "rows" | "columns" | "argv" | "env" | "cwd">,
  ): Promise<HandleTerminal> {
    const wanted = checkOptions<NewTerminal>(options ?? {}, OPTIONS);
    const opened = await this.#host.openTerminal({ ...wanted, ...this.#caller });
    const { terminals } = await this.#host.liveCalls(this.#caller.sessionId);
    const terminal = new LiveTerminal(opened);
    addCall(terminals, terminal);
    return this.get(terminal.id);
  }

  async list(): Promise<readonly LiveCallInfo[]> {
    const { terminals } = await this.#host.liveCalls(this.#caller.sessionId);
    return [...terminals.values()].map((each) => each.info());
  }

  get(id: string): HandleTerminal {
    return new HandleTerminal(this.#host, this.#caller, id);
  }
}

/** One terminal of a session. The last of its output is kept; the program waits only for connections that are iterated. */
export class HandleTerminal implements SessionTerminal {
  readonly id: string;
  readonly #host: OpenHost;
  readonly #caller: HandleCaller;

  /** @internal */
  constructor(host: OpenHost, caller: HandleCaller, id: string) {
    this.#host = host;
    this.#caller = caller;
    this.id = id;
  }

  async info(): Promise<LiveCallInfo> {
    return (await this.#find()).info();
  }

  async connect(): Promise<SessionTerminalConnection> {
    return (await this.#find()).connect(this.#host.ended);
  }

  async delete(): Promise<void> {
    const found = await this.#find();
    const { terminals } = await this.#host.liveCalls(this.#caller.sessionId);
    terminals.delete(this.id);
    await found.close();
  }

  async #find(): Promise<LiveTerminal> {
    return findCall((await this.#host.liveCalls(this.#caller.sessionId)).terminals, this.id, "terminal");
  }
}

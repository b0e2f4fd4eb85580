import { type Answer, type CallOptions, call, fill, type Input } from "./api.js";
import { RemoteExecution } from "./execution.js";
import { SessionContexts } from "./session-contexts.js";
import { SessionFiles } from "./session-files.js";
import { SessionPorts } from "./session-ports.js";
import { SessionProcesses } from "./session-processes.js";
import { SessionSnapshots } from "./session-snapshots.js";
import { SessionTerminals } from "./session-terminals.js";
import type { Transport } from "./transport.js";

const ONE = "/v1/sessions/{name}";
type ExecuteRequest = Input<`${typeof ONE}/execute`, "post">["json"];

export type SessionInfo = Answer<typeof ONE, "get">;

export interface RunOptions extends CallOptions, Omit<ExecuteRequest, "code" | "command" | "argv"> {
  /** True: it will be iterated, though not at once. */
  readonly stream?: boolean;
}

/** A session by its name. It is there when something is asked of it, or not: nothing is asked before. */
export class Session implements AsyncDisposable {
  readonly name: string;
  readonly files: SessionFiles;
  readonly contexts: SessionContexts;
  readonly snapshots: SessionSnapshots;
  readonly processes: SessionProcesses;
  readonly terminals: SessionTerminals;
  readonly ports: SessionPorts;
  readonly #transport: Transport;

  constructor(transport: Transport, name: string) {
    this.name = name;
    this.#transport = transport;
    this.files = new SessionFiles(transport, name);
    this.contexts = new SessionContexts(transport, name);
    this.snapshots = new SessionSnapshots(transport, name);
    this.processes = new SessionProcesses(transport, name);
    this.terminals = new SessionTerminals(transport, name);
    this.ports = new SessionPorts(transport, name);
  }

  /** Runs a command: a list without a shell, a text by one. Await the result, or iterate the events. */
  exec(command: string | readonly string[], options: RunOptions = {}): RemoteExecution {
    return this.#run(typeof command === "string" ? { command } : { argv: [...command] }, options);
  }

  /** Runs a program given as text. */
  run(code: string, options: RunOptions & { readonly language: string }): RemoteExecution {
    return this.#run({ code }, options);
  }

  /** What the server knows of it. SESSION_NOT_FOUND: there is none. */
  info(options: CallOptions = {}): Promise<SessionInfo> {
    return call(this.#transport, "get", ONE, { path: { name: this.name } }, options);
  }

  /** Lets it live longer, from now; null: until somebody deletes it. */
  renew({ signal, ...json }: CallOptions & { readonly ttlMs?: number | null } = {}): Promise<SessionInfo> {
    const input = { path: { name: this.name }, json };
    return call(this.#transport, "post", `${ONE}/renew`, input, { signal, isRepeatable: true });
  }

  /** A new session with the files of now, or of a snapshot. */
  async fork({
    signal,
    ...json
  }: CallOptions & { name?: string; snapshotId?: string; ttlMs?: number | null } = {}): Promise<Session> {
    const input = { path: { name: this.name }, json };
    const { name } = await call(this.#transport, "post", `${ONE}/fork`, input, { signal });
    return new Session(this.#transport, name);
  }

  /** Lets it reach more hosts while it runs, or fewer. Takes a key with the scope admin. */
  async changeEgress({
    signal,
    ...json
  }: CallOptions & { readonly allow?: string[]; readonly deny?: string[] }): Promise<void> {
    const input = { path: { name: this.name }, json };
    await call(this.#transport, "post", `${ONE}/egress`, input, { signal, isRepeatable: true });
  }

  /** Ends it: what runs in it stops, and its files go. */
  async delete(options: CallOptions = {}): Promise<void> {
    await call(this.#transport, "delete", ONE, { path: { name: this.name } }, options);
  }

  /** The same; one that has ended already is fine. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.delete().catch((error: unknown) => {
      if ((error as { code?: unknown }).code !== "SESSION_NOT_FOUND") throw error;
    });
  }

  #run(what: object, { signal, stream, ...rest }: RunOptions): RemoteExecution {
    const json: ExecuteRequest = { ...what, ...rest };
    return new RemoteExecution(this.#transport, {
      path: fill(`${ONE}/execute`, { name: this.name }),
      json,
      signal,
      stream,
    });
  }
}

import { type Answer, type CallOptions, type Input, Routes, type SessionRoutes } from "./api.js";
import { RemoteExecution } from "./execution.js";
import { SandboxError } from "./sandbox-error.js";
import type { SandboxSession } from "./sandbox-session.js";
import { SessionContexts } from "./session-contexts.js";
import { SessionFiles } from "./session-files.js";
import { SessionPorts } from "./session-ports.js";
import { SessionProcesses } from "./session-processes.js";
import { SessionSnapshots } from "./session-snapshots.js";
import { SessionTerminals } from "./session-terminals.js";
import { Transport } from "./transport.js";

const ONE = "/v1/sessions/{sessionId}";
export type ExecuteRequest = Input<`${typeof ONE}/execute`, "post">["json"];

export type SessionInfo = Answer<typeof ONE, "get">;

export interface RunOptions extends CallOptions, Omit<ExecuteRequest, "code" | "command" | "argv"> {}

/** A session of a server by its name. Making this object asks the server nothing; running something in it makes the session. */
export class Session implements SandboxSession {
  readonly sessionId: string;
  readonly files: SessionFiles;
  readonly contexts: SessionContexts;
  readonly snapshots: SessionSnapshots;
  readonly processes: SessionProcesses;
  readonly terminals: SessionTerminals;
  readonly ports: SessionPorts;
  readonly #routes: SessionRoutes;
  /** Also after its close: it can still be deleted, and forks go on. */
  readonly #transport: Transport;
  #isClosed = false;
  #isDeleted = false;

  /** @internal */
  constructor(transport: Transport, sessionId: string) {
    this.sessionId = sessionId;
    this.#transport = transport;
    const open = new Transport(transport.settings, () => this.#assertOpen());
    const routes = new Routes(open, { sessionId });
    this.#routes = routes;
    this.files = new SessionFiles(routes);
    this.contexts = new SessionContexts(routes);
    this.snapshots = new SessionSnapshots(routes);
    this.processes = new SessionProcesses(routes);
    this.terminals = new SessionTerminals(routes);
    this.ports = new SessionPorts(routes);
  }

  /** Runs a command: a list without a shell, a text by one. Await the result, or iterate the events. */
  exec(command: string | readonly string[], options: RunOptions = {}): RemoteExecution {
    return this.#run(typeof command === "string" ? { command } : { argv: [...command] }, options);
  }

  /** Runs a program given as text. */
  runCode(code: string, options: RunOptions & { readonly language: string }): RemoteExecution {
    return this.#run({ code }, options);
  }

  /** What the server knows of it. SESSION_NOT_FOUND: there is none. */
  info(options: CallOptions = {}): Promise<SessionInfo> {
    return this.#routes.call("get", ONE, {}, options);
  }

  /** Lets it live longer, from now; null: until it is deleted. */
  renew({ signal, ...json }: CallOptions & { readonly ttlMs?: number | null } = {}): Promise<SessionInfo> {
    return this.#routes.call("post", `${ONE}/renew`, { json }, { signal, isRepeatable: true });
  }

  /** A new session with the files of now, or of a snapshot. */
  async fork({
    signal,
    ...json
  }: CallOptions & {
    sessionId?: string;
    snapshotId?: string;
    ttlMs?: number | null;
  } = {}): Promise<Session> {
    const forked = await this.#routes.call("post", `${ONE}/fork`, { json }, { signal });
    return new Session(this.#transport, forked.sessionId);
  }

  /** Lets it reach more hosts while it runs, or fewer. Takes a key with the scope admin. */
  async changeEgress({
    signal,
    ...json
  }: CallOptions & { readonly allow?: string[]; readonly deny?: string[] }): Promise<void> {
    await this.#routes.call("post", `${ONE}/egress`, { json }, { signal, isRepeatable: true });
  }

  /** Ends it: what runs in it stops, and its files go. */
  async delete(options: CallOptions = {}): Promise<void> {
    if (this.#isDeleted) return;
    await new Routes(this.#transport, { sessionId: this.sessionId }).call("delete", ONE, {}, options);
    this.#isClosed = true;
    this.#isDeleted = true;
  }

  /** Lets go of it. The session stays at the server, with its files, until it expires or is deleted. */
  async close(): Promise<void> {
    this.#isClosed = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #assertOpen(): void {
    if (!this.#isClosed) return;
    throw new SandboxError("SANDBOX_NOT_RUNNING", "This session has been closed", {
      hint: "Open it again by its sessionId; one that was deleted starts empty.",
    });
  }

  #run(what: object, { signal, ...rest }: RunOptions): RemoteExecution {
    const json: ExecuteRequest = { ...what, ...rest };
    return new RemoteExecution(this.#routes.transport, {
      path: this.#routes.at(`${ONE}/execute`),
      json,
      signal,
    });
  }
}

import { type Answer, type CallOptions, Routes, type SessionRoutes } from "./api.js";
import { checkLanguage, codeOf, commandOf } from "./check-arguments.js";
import { checkOptions, SIGNAL } from "./check-options.js";
import { RemoteExecution } from "./execution.js";
import { bodyOf, EXEC_OPTIONS, type ExecOptions, RUN_OPTIONS, type RunOptions } from "./run-options.js";
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

export type SessionInfo = Answer<typeof ONE, "get">;

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
  readonly #ending = new AbortController();
  #isDeleted = false;

  /** @internal */
  constructor(transport: Transport, sessionId: string) {
    this.sessionId = sessionId;
    this.#transport = transport;
    const open = new Transport(transport.settings, this.#ending.signal);
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
  exec(command: string | readonly string[], options: ExecOptions = {}): RemoteExecution {
    return this.#run(() => {
      const { signal, ...rest } = checkOptions(options, EXEC_OPTIONS);
      return { json: { ...commandOf(command), ...bodyOf(rest) }, signal };
    });
  }

  /** Runs a program given as text. */
  runCode(code: string, options: RunOptions & { readonly language: string }): RemoteExecution {
    return this.#run(() => {
      const { signal, ...rest } = checkOptions(options ?? {}, RUN_OPTIONS);
      checkLanguage(rest.language);
      const example = 'runCode("print(1)", { language: "python" })';
      return { json: { ...codeOf(code, example), ...bodyOf(rest) }, signal };
    });
  }

  /** What the server knows of it. SESSION_NOT_FOUND: there is none. */
  async info(options: CallOptions = {}): Promise<SessionInfo> {
    checkOptions(options, SIGNAL);
    return this.#routes.call("get", ONE, {}, options);
  }

  /** Lets it live longer, from now; null: until it is deleted. */
  async renew(options: CallOptions & { readonly ttlMs?: number | null } = {}): Promise<SessionInfo> {
    const { signal, ...json } = checkOptions(options, { ...SIGNAL, ttlMs: true });
    return this.#routes.call("post", `${ONE}/renew`, { json }, { signal, isRepeatable: true });
  }

  /** A new session with the files of now, or of a snapshot. */
  async fork(
    options: CallOptions & { sessionId?: string; snapshotId?: string; ttlMs?: number | null } = {},
  ): Promise<Session> {
    const { signal, ...json } = checkOptions(options, {
      ...SIGNAL,
      sessionId: true,
      snapshotId: true,
      ttlMs: true,
    });
    const forked = await this.#routes.call("post", `${ONE}/fork`, { json }, { signal });
    return new Session(this.#transport, forked.sessionId);
  }

  /** Lets it reach more hosts while it runs, or fewer. Takes a key with the scope admin. */
  async changeEgress(
    change: CallOptions & { readonly allow?: string[]; readonly deny?: string[] },
  ): Promise<void> {
    const { signal, ...json } = checkOptions(change, { ...SIGNAL, allow: true, deny: true });
    await this.#routes.call("post", `${ONE}/egress`, { json }, { signal, isRepeatable: true });
  }

  /** Ends it: what runs in it stops, and its files go. */
  async delete(options: CallOptions = {}): Promise<void> {
    checkOptions(options, SIGNAL);
    await this.close();
    if (this.#isDeleted) return;
    await new Routes(this.#transport, { sessionId: this.sessionId }).call("delete", ONE, {}, options);
    this.#isDeleted = true;
  }

  /** Lets go of it: what it still waits for is SANDBOX_NOT_RUNNING. The session stays at the server until it expires or is deleted. */
  async close(): Promise<void> {
    if (this.#ending.signal.aborted) return;
    this.#ending.abort(
      new SandboxError("SANDBOX_NOT_RUNNING", "This session has been closed", {
        hint: "Open it again by its sessionId; one that was deleted starts empty.",
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #run(order: () => { readonly json: object; readonly signal: AbortSignal | undefined }): RemoteExecution {
    const { transport } = this.#routes;
    return new RemoteExecution(transport, () => ({ path: this.#routes.at(`${ONE}/execute`), ...order() }));
  }
}

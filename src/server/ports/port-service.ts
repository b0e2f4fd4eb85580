import type { Duplex } from "node:stream";
import type { Config } from "../../core/config/index.js";
import type { SandboxManager } from "../../core/manager/index.js";
import { workValue } from "../../core/manager/index.js";
import type { AuditLogger } from "../../guard/audit/index.js";
import { abortable } from "../../kit/abortable.js";
import { SandboxError } from "../../kit/errors.js";
import { assertPorts } from "../../runtime/sandbox/index.js";
import { recordEvent } from "../audit/index.js";
import { RetryLater } from "../http/index.js";
import type { CallerIdentity, SessionService } from "../sessions/index.js";
import type { SessionRecord } from "../store/index.js";

export interface PortServiceOptions {
  readonly config: Config;
  readonly manager: SandboxManager;
  readonly sessions: Pick<SessionService, "use">;
  readonly audit?: AuditLogger | undefined;
}

/** A connection to open, and its caller. */
export interface WantedPort {
  readonly session: SessionRecord;
  readonly caller: CallerIdentity;
  /** The id of the caller's key. */
  readonly key: string;
  readonly port: number;
}

/** Connections to one session at once. */
const MOST_CONNECTIONS = 128;
/** Decisions that are remembered of one session; one that was dropped is made again. */
const MOST_REMEMBERED = 1024;

/** Connections to ports inside. The first of a key to a port is a tool call of its own: the policy decides, and it is recorded. */
export class PortService {
  readonly #connections = new Map<string, number>();
  /** Ports that are allowed, or being decided, by session. */
  readonly #opened = new Map<string, Map<string, Promise<void>>>();
  readonly #tunnels = new Set<() => void>();
  #isStopping = false;

  constructor(private readonly options: PortServiceOptions) {}

  /** PORT_FAILED: nothing listens there. The signal destroys it. */
  async connect(wanted: WantedPort, signal: AbortSignal): Promise<Duplex> {
    const { config, manager } = this.options;
    const { session, port } = wanted;
    assertPorts(config.sandbox.network.allowLocalBinding);
    if (!manager.isRunning(session.id)) {
      throw new SandboxError("SANDBOX_NOT_RUNNING", "Nothing runs in this session", {
        hint: "Start what listens first: POST /v1/sessions/{sessionId}/processes.",
      });
    }
    await abortable(this.#open(wanted), signal);
    const leave = this.#enter(session.id);
    const connecting = manager.connectPort(session.id, port);
    // A connection that is being opened counts even when its client has disconnected.
    connecting.then((connection) => {
      connection.once("close", leave).on("error", () => undefined);
      // The other end may have closed it already, before this listener was added.
      if (connection.destroyed) leave();
    }, leave);
    const close = () => void connecting.then((connection) => connection.destroy()).catch(() => undefined);
    if (signal.aborted) close();
    signal.addEventListener("abort", close, { once: true });
    const connection = await abortable(connecting, signal);
    if (!connection.destroyed) return connection;
    throw new SandboxError("PORT_FAILED", "The port closed the connection at once", {
      hint: "Does what listens on this port take connections?",
    });
  }

  /** Closes a tunnel when the server stops, unless the returned function was called. */
  addTunnel(closeSocket: () => void): () => void {
    if (this.#isStopping) closeSocket();
    this.#tunnels.add(closeSocket);
    return () => this.#tunnels.delete(closeSocket);
  }

  stop(): void {
    this.#isStopping = true;
    for (const closeSocket of this.#tunnels) closeSocket();
  }

  forgetSession(session: string): void {
    this.#opened.delete(session);
  }

  #enter(session: string): () => void {
    const now = this.#connections.get(session) ?? 0;
    if (now >= MOST_CONNECTIONS) {
      throw new RetryLater(
        "RATE_LIMITED",
        `This session has ${now} connections to its ports, which is the limit`,
        1,
        "Wait for one of them to end.",
      );
    }
    this.#connections.set(session, now + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const left = (this.#connections.get(session) ?? 1) - 1;
      if (left > 0) this.#connections.set(session, left);
      else this.#connections.delete(session);
    };
  }

  #open(wanted: WantedPort): Promise<void> {
    const { session, caller, key, port } = wanted;
    const opened = this.#opened.get(session.id) ?? new Map<string, Promise<void>>();
    const name = JSON.stringify([key, caller.role ?? null, port]);
    const known = opened.get(name);
    if (known !== undefined) return known;
    const opening = this.#decide(wanted);
    this.#opened.set(session.id, opened.set(name, opening));
    const [oldest] = opened.keys();
    if (opened.size > MOST_REMEMBERED) opened.delete(oldest!);
    // A refusal is not remembered.
    opening.catch(() => opened.delete(name));
    return opening;
  }

  /** Continues when its client disconnects: others may wait for the same decision. */
  async #decide({ session, caller, port }: WantedPort): Promise<void> {
    const { manager, sessions, audit } = this.options;
    const { signal, end } = sessions.use(session);
    try {
      const summary = `reach port ${port}`;
      const call = { ...caller, signal, tool: "shell_exec", summary, paths: [], work: async () => undefined };
      workValue(await manager.useSandbox(call));
      await recordEvent(audit, caller, "port_opened", { port });
    } finally {
      end();
    }
  }
}

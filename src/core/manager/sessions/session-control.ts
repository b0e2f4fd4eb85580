import type { Duplex } from "node:stream";
import type { ControlSocket } from "../../../kit/control-socket.js";
import { SandboxError } from "../../../kit/errors.js";
import { checkChange, EGRESS_PORT, type EgressChange } from "../../../runtime/egress/index.js";
import type { RunningSandbox } from "../../../runtime/sandbox/index.js";
import {
  assertPorts,
  broadcastToSession,
  checkPort,
  hasControlSocket,
  type OpenPort,
  type OpenPortOptions,
  openControlSocket,
  openPort,
  reapControlSockets,
  requestFromSession,
} from "../../../runtime/sandbox/index.js";
import type { EgressController } from "../egress/egress-controller.js";

export interface SessionControlOptions {
  readonly stateDir: string;
  readonly egress: EgressController;
  /** Sessions of this process can be reached from others of this user. */
  readonly areOpen: boolean;
  /** Ports inside may be opened on this host. */
  readonly ports: boolean;
  /** The session's sandbox, if it runs here. */
  readonly find: (session: string) => RunningSandbox | undefined;
}

/** The ways into sessions that run, here or in another process of this user: ports, and changes of their rules. */
export class SessionControl {
  readonly #ports = new Set<OpenPort>();
  readonly #control = new Set<Promise<ControlSocket | undefined>>();

  constructor(private readonly options: SessionControlOptions) {}

  /** Opens the control socket of a started sandbox; the function returned closes it. */
  open(sandbox: RunningSandbox): () => void {
    const { stateDir, egress, areOpen } = this.options;
    if (!areOpen) return () => undefined;
    const handler = {
      connect: (port: number) => sandbox.network.connect(port),
      changeEgress: (change: EgressChange) => egress.change(sandbox, change),
    };
    // A session whose control socket cannot be opened still runs.
    const socket = openControlSocket(stateDir, sandbox.sessionId, handler).catch(() => undefined);
    this.#control.add(socket);
    return () => {
      void socket.then(async (opened) => {
        await opened?.close();
        this.#control.delete(socket);
      });
    };
  }

  /** Opens a session's port on this host's loopback; every connection looks up which process runs the session. */
  async openPort(session: string, port: number, options: OpenPortOptions): Promise<OpenPort> {
    assertPorts(this.options.ports);
    const opened = await openPort((wanted) => this.#connect(session, wanted), port, options);
    this.#ports.add(opened);
    void opened.closed.then(() => this.#ports.delete(opened));
    return opened;
  }

  /** One connection to a session's port. The egress proxy's own is refused: programs inside have rules, callers not. */
  async connectPort(session: string, port: number): Promise<Duplex> {
    assertPorts(this.options.ports);
    checkPort(port, 1);
    if (port === EGRESS_PORT) {
      throw new SandboxError("INVALID_ARGUMENT", `Port ${port} inside is the sandbox's own egress proxy`, {
        hint: "Have the program inside listen on another.",
      });
    }
    this.options.find(session)?.touch();
    return this.#connect(session, port);
  }

  /** Changes what a session may reach, in every process that runs it; resolves to how many do. */
  async changeEgress(session: string, change: EgressChange): Promise<number> {
    const checked = checkChange(change);
    const here = this.options.find(session);
    if (here !== undefined) await this.options.egress.change(here, checked);
    const ask = { ask: "change-egress", ...checked } as const;
    const elsewhere = await broadcastToSession(this.options.stateDir, session, ask, { exceptOwn: true });
    return elsewhere + (here === undefined ? 0 : 1);
  }

  /** True when the session runs here, or in another process that opens its control socket. */
  isRunning(session: string): boolean {
    return this.options.find(session) !== undefined || hasControlSocket(this.options.stateDir, session);
  }

  reap(): number {
    return reapControlSockets(this.options.stateDir);
  }

  async close(): Promise<void> {
    await Promise.all([
      ...[...this.#ports].map((port) => port.close()),
      ...[...this.#control].map(async (socket) => (await socket)?.close()),
    ]);
  }

  async #connect(session: string, port: number): Promise<Duplex> {
    const here = this.options.find(session);
    if (here !== undefined) return here.network.connect(port);
    return requestFromSession(this.options.stateDir, session, { ask: "connect", port });
  }
}

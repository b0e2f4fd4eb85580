import type { Duplex } from "node:stream";
import { SandboxError } from "../../../kit/errors.js";
import type { Egress, EgressRules, EgressTotals, GuestFile, RuleSets } from "../../egress/index.js";
import { EGRESS_PORT } from "../../egress/index.js";
import type { Runner } from "../../wire/index.js";
import { assertPorts, type OpenPort, type OpenPortOptions, openPort } from "./open-port.js";

/** What opens a sandbox's egress, on its first use. */
export interface NetworkInit {
  /** Left out: this backend has none. */
  readonly egress?: {
    readonly open: () => Promise<EgressConnection>;
    /** What programs find while nothing may be reached: the proxy, which tells them so. */
    readonly closedEnvironment: Readonly<Record<string, string>>;
  };
  /** Ports inside may be opened on this host. */
  readonly ports: boolean;
}

export interface EgressConnection {
  readonly egress: Egress;
  /** What programs inside need to find it. */
  readonly environment: Readonly<Record<string, string>>;
  /** What they need as files: certificates that they trust, and the configuration of clients. */
  readonly files?: readonly GuestFile[];
}

/** What an execution did on the network. */
export interface NetworkUse {
  readonly bytesSent: number;
  readonly bytesReceived: number;
  /** What it was told about hosts it may not reach, a line each. */
  readonly denied: readonly string[];
  /** The same about hosts that it may reach, and did not: why, as far as it is known. */
  readonly failed: readonly string[];
}

type Notes = Omit<NetworkUse, "bytesSent" | "bytesReceived">;

interface Measured {
  /** Left out: egress is not loaded yet. */
  tell: (() => Notes) | undefined;
}

interface Entered {
  readonly rules: EgressRules;
  /** Left out: egress is not loaded yet. */
  leave: (() => void) | undefined;
}

const NO_VARIABLES: Readonly<Record<string, string>> = {};
const NOTHING: EgressTotals = { bytesSent: 0, bytesReceived: 0 };

/**
 * A sandbox's network: its own loopback, and on it a proxy from the start. Egress is loaded with the first connection, and
 * opened by who lets something out; until then every connection is refused by its rules.
 */
export class SandboxNetwork {
  readonly #runner: Runner;
  readonly #init: NetworkInit;
  readonly #ports = new Set<OpenPort>();
  /** The rules of calls that run now. */
  readonly #entered = new Set<Entered>();
  /** Executions that are measured now. */
  readonly #measured = new Set<Measured>();
  /** Resolves when the proxy's port is taken, which is before anything runs inside. */
  readonly #listening: Promise<void> | undefined;
  #loading: Promise<EgressConnection> | undefined;
  #connection: EgressConnection | undefined;
  #isOpen = false;
  #closed = false;

  /** @internal */
  constructor(runner: Runner, init: NetworkInit = { ports: false }) {
    this.#runner = runner;
    this.#init = init;
    if (init.egress === undefined) return;
    // Nobody waits for it: the guest does what it is told in turn, so the port is there before the first program.
    this.#listening = runner.listen(EGRESS_PORT, (stream) => void this.#accept(stream));
    this.#listening.catch(() => undefined);
  }

  /** What programs inside need in their environment to find the egress proxy. */
  get environment(): Readonly<Record<string, string>> {
    const open = this.#isOpen ? this.#connection?.environment : undefined;
    return open ?? this.#init.egress?.closedEnvironment ?? NO_VARIABLES;
  }

  /** Bytes that went out and came in since the sandbox started. */
  get totals(): EgressTotals {
    return this.#connection?.egress.totals ?? NOTHING;
  }

  /** Something inside may have been let out, or has asked for it. */
  get isLoaded(): boolean {
    return this.#connection !== undefined;
  }

  /** Opens egress, for whatever its rules allow. Idempotent. */
  async open(): Promise<void> {
    await this.#open();
  }

  /**
   * Changes what this sandbox may reach, from now on: connections that are no longer allowed are closed. Rules that a
   * policy sets for a call hold as well.
   * @internal
   */
  async setRules(rules: RuleSets): Promise<void> {
    (await this.#open()).egress.update(rules);
  }

  /** Puts a call's own rules in force without opening anything: they hold when it is opened later. @internal */
  restrict(rules: EgressRules): () => void {
    const entered: Entered = { rules, leave: this.#connection?.egress.enter(rules) };
    this.#entered.add(entered);
    return () => {
      this.#entered.delete(entered);
      entered.leave?.();
    };
  }

  /** The same, and opens it; what every set that is in force allows can be reached. @internal */
  async enter(rules: EgressRules): Promise<() => void> {
    // In force before it is open, so that nothing gets out between the two.
    const leave = this.restrict(rules);
    try {
      await this.#open();
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Opens a port inside on this host's loopback. */
  async openPort(port: number, options: OpenPortOptions = {}): Promise<OpenPort> {
    assertPorts(this.#init.ports);
    this.#assertOpen();
    const opened = await openPort((wanted) => this.connect(wanted), port, options);
    if (this.#closed) {
      await opened.close();
      this.#assertOpen();
    }
    this.#ports.add(opened);
    void opened.closed.then(() => this.#ports.delete(opened));
    return opened;
  }

  /** One connection to a port inside. */
  connect(port: number): Promise<Duplex> {
    return this.#runner.connect(port);
  }

  /** Starts counting and noting; the function returned ends that and tells what was used. It has to be called. @internal */
  measure(): () => NetworkUse | undefined {
    const before = this.totals;
    const measured: Measured = { tell: this.#connection?.egress.takeNotes() };
    this.#measured.add(measured);
    return () => {
      this.#measured.delete(measured);
      const notes = measured.tell?.() ?? { denied: [], failed: [] };
      if (this.#connection === undefined) return undefined;
      const { bytesSent, bytesReceived } = this.totals;
      return {
        bytesSent: bytesSent - before.bytesSent,
        bytesReceived: bytesReceived - before.bytesReceived,
        ...notes,
      };
    };
  }

  /** Ends every connection in both directions. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#connection?.egress.close();
    await Promise.all([...this.#ports].map((port) => port.close()));
  }

  async #open(): Promise<EgressConnection> {
    const connection = await this.#load();
    if (!this.#isOpen) {
      for (const { path, text } of connection.files ?? [])
        await this.#runner.writeFile(path, 0o644, Buffer.from(text));
    }
    this.#assertOpen();
    this.#isOpen = true;
    return connection;
  }

  #load(): Promise<EgressConnection> {
    this.#loading ??= this.#start().catch((error: unknown) => {
      this.#loading = undefined;
      throw error;
    });
    return this.#loading;
  }

  async #start(): Promise<EgressConnection> {
    const { egress: init } = this.#init;
    if (init === undefined) {
      throw new SandboxError("UNSUPPORTED", "This backend cannot tell one host from another", {
        hint: "Choose one that can: skerry doctor -v lists them.",
      });
    }
    this.#assertOpen();
    const [connection] = await Promise.all([init.open(), this.#listening]);
    const { egress } = connection;
    if (this.#closed) egress.close();
    this.#assertOpen();
    // Every rule is in force before the first connection is taken.
    for (const entered of this.#entered) entered.leave = egress.enter(entered.rules);
    for (const measured of this.#measured) measured.tell = egress.takeNotes();
    this.#connection = connection;
    return connection;
  }

  /** The first caller waits until egress is loaded. */
  async #accept(stream: Duplex): Promise<void> {
    if (this.#connection !== undefined) return this.#connection.egress.accept(stream);
    // The program may leave meanwhile.
    stream.on("error", () => undefined);
    try {
      (await this.#load()).egress.accept(stream);
    } catch {
      // Rules that cannot be loaded let nothing out. Who opens egress is told why.
      stream.destroy();
    }
  }

  #assertOpen(): void {
    if (this.#closed) throw new SandboxError("SANDBOX_NOT_RUNNING", "The sandbox has stopped");
  }
}

import type { Duplex } from "node:stream";
import { SandboxError } from "../../../kit/errors.js";
import type { Egress, EgressRules, EgressTotals, RuleSets } from "../../egress/index.js";
import { EGRESS_PORT } from "../../egress/index.js";
import type { Runner } from "../../wire/index.js";
import { assertPorts, type OpenPort, type OpenPortOptions, openPort } from "./open-port.js";

/** What opens a sandbox's egress, on its first use. */
export interface NetworkInit {
  /** Left out: this backend has none. */
  readonly open?: () => Promise<EgressConnection>;
  /** Ports inside may be opened on this host. */
  readonly ports: boolean;
}

export interface EgressConnection {
  readonly egress: Egress;
  /** What programs inside need to find it. */
  readonly environment: Readonly<Record<string, string>>;
  /** Certificates that programs inside trust, and where they look for them. */
  readonly certificates?: { readonly path: string; readonly text: string };
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

interface Entered {
  readonly rules: EgressRules;
  /** Left out: egress is not open yet. */
  leave: (() => void) | undefined;
}

const NO_VARIABLES: Readonly<Record<string, string>> = {};
const NOTHING: EgressTotals = { bytesSent: 0, bytesReceived: 0 };

/** A sandbox's network: its own loopback, and egress once it is opened. */
export class SandboxNetwork {
  readonly #runner: Runner;
  readonly #init: NetworkInit;
  readonly #ports = new Set<OpenPort>();
  /** The rules of calls that run now. */
  readonly #entered = new Set<Entered>();
  /** Before it is open. */
  #egress: Egress | undefined;
  #opening: Promise<EgressConnection> | undefined;
  #connection: EgressConnection | undefined;
  #closed = false;

  /** @internal */
  constructor(runner: Runner, init: NetworkInit = { ports: false }) {
    this.#runner = runner;
    this.#init = init;
  }

  /** What programs inside need in their environment to find the egress proxy. */
  get environment(): Readonly<Record<string, string>> {
    return this.#connection?.environment ?? NO_VARIABLES;
  }

  /** Bytes that went out and came in since the sandbox started. */
  get totals(): EgressTotals {
    return this.#connection?.egress.totals ?? NOTHING;
  }

  get isOpen(): boolean {
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
    const entered: Entered = { rules, leave: this.#egress?.enter(rules) };
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
    const tell = this.#egress?.takeNotes();
    return () => {
      const notes = tell?.() ?? { denied: [], failed: [] };
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

  #open(): Promise<EgressConnection> {
    this.#opening ??= this.#start().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #start(): Promise<EgressConnection> {
    const { open } = this.#init;
    if (open === undefined) {
      throw new SandboxError("UNSUPPORTED", "This backend cannot tell one host from another", {
        hint: "Choose one that can: skerry doctor -v lists them.",
      });
    }
    this.#assertOpen();
    const connection = await open();
    const { egress, certificates } = connection;
    this.#egress = egress;
    for (const entered of this.#entered) entered.leave = egress.enter(entered.rules);
    try {
      if (certificates !== undefined)
        await this.#runner.writeFile(certificates.path, 0o644, Buffer.from(certificates.text));
      await this.#runner.listen(EGRESS_PORT, (stream) => egress.accept(stream));
      this.#assertOpen();
    } catch (error) {
      egress.close();
      this.#egress = undefined;
      for (const entered of this.#entered) entered.leave = undefined;
      throw error;
    }
    this.#connection = connection;
    return connection;
  }

  #assertOpen(): void {
    if (this.#closed) throw new SandboxError("SANDBOX_NOT_RUNNING", "The sandbox has stopped");
  }
}

import type { AuditLogger } from "../audit/index.js";
import type { Limits } from "../backends/backend.js";
import { reapUnusedContainers } from "../backends/docker/reap-unused.js";
import type { Config } from "../config/index.js";
import { SandboxError } from "../errors.js";
import type { PoolManager } from "../pool/index.js";
import type { Sandbox } from "../sandbox/sandbox.js";
import type { AccessWatcher } from "../workspace/access-watcher.js";
import { backendOptions, type ChosenBackend } from "./choose-backend.js";
import { KnownBackends } from "./known-backends.js";
import { checkSameLimits, sameLimits } from "./limits.js";
import { PooledSandboxes, type TakeOrder } from "./pooled-sandboxes.js";
import { reapAll } from "./reap-all.js";
import { SandboxExpiry } from "./sandbox-expiry.js";
import type { SessionStore } from "./session-store.js";
import { cleanUpOnSignals } from "./signals.js";
import { SandboxStarter } from "./start-sandbox.js";
import { throwStopFailures } from "./stop-failures.js";
import { unlessAborted } from "./unless-aborted.js";
import { UnsavedChanges } from "./unsaved-changes.js";
import type { WaysOut } from "./ways-out.js";

export interface LiveSandboxesOptions {
  readonly config: Config["sandbox"];
  readonly stateDir: string;
  readonly store: SessionStore;
  /** Of sandboxes whose caller names none. */
  readonly backend: string;
  /** Win over the configuration's. */
  readonly limits: Limits;
  readonly warm?: boolean | undefined;
  readonly accessWatcher?: (() => AccessWatcher) | undefined;
  readonly waysOut: WaysOut;
  /** Left out: every sandbox starts when it is wanted. */
  readonly pool?: PoolManager | undefined;
  readonly handleSignals?: boolean | undefined;
  readonly audit?: AuditLogger | undefined;
  /** Removes what else killed processes left behind; returns how many things. */
  readonly reapMore?: () => number;
  /** Throws when no sandbox may start any more. */
  readonly assertUsable: () => void;
  /** Called with every sandbox that has started; what it returns is called when that one has stopped. */
  readonly onStarted?: (sandbox: Sandbox) => (() => void) | undefined;
}

export interface StartOptions {
  /** Files are put in before anything runs. */
  readonly hasInputs?: boolean | undefined;
  readonly limits?: Limits | undefined;
  /** Left out: the manager's. */
  readonly backend?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** A tool call's own: it is never idle, until it is discarded. */
  readonly leased?: boolean | undefined;
  /** Nobody hears what comes of it. */
  readonly isUnasked?: boolean | undefined;
}

interface Entry {
  readonly key: string;
  readonly startedAt: number;
  /** What the first caller asked for. */
  readonly limits: Limits;
  readonly backend: string;
  readonly sandbox: Promise<Sandbox>;
  /** Once it has started. */
  running?: Sandbox;
  /** Tool calls that use it now. */
  leases: number;
  /** It makes way for another one; resolves when it is gone. */
  leaving?: Promise<void>;
}

const MAX_DISCARDING = 4;

/** The sandboxes that run now: one per session, and those that are thrown away. */
export class LiveSandboxes {
  readonly #options: LiveSandboxesOptions;
  readonly #config: Config["sandbox"];
  readonly #store: SessionStore;
  readonly #starter: SandboxStarter;
  readonly #pooled: PooledSandboxes | undefined;
  readonly #expiry: SandboxExpiry;
  readonly #entries = new Map<string, Entry>();
  readonly #ephemeral = new Set<Entry>();
  /** Session by sandbox, of those that run. */
  readonly #started = new Map<string, string>();
  readonly #discarding = new Set<Promise<void>>();
  /** Sandboxes whose empty directory the next one may have. */
  readonly #leavesSpare = new WeakSet<Sandbox>();
  readonly #unsaved: UnsavedChanges;
  readonly #backends: KnownBackends;
  #reaping: Promise<void> | undefined;
  #forgetSignals: (() => void) | undefined;

  constructor(options: LiveSandboxesOptions) {
    this.#options = options;
    this.#config = options.config;
    this.#store = options.store;
    this.#unsaved = new UnsavedChanges(options.audit);
    this.#backends = new KnownBackends(options.stateDir, options.config);
    const { config, store, warm, accessWatcher, waysOut } = options;
    this.#starter = new SandboxStarter({ config, store, warm, accessWatcher, waysOut });
    this.#expiry = new SandboxExpiry(config.runtime, () => [...this.#entries.values(), ...this.#ephemeral]);
    this.#pooled = options.pool === undefined ? undefined : this.#bind(options.pool);
  }

  /** Begins to prepare sandboxes in the background, where there is a pool. */
  prepare(): void {
    this.#pooled?.start();
  }

  get size(): number {
    return this.#entries.size + this.#ephemeral.size;
  }

  /** The session's sandbox; the first call starts it, calls at the same time get the same one. */
  async get(name: string, options: StartOptions): Promise<Sandbox> {
    for (;;) {
      this.#options.assertUsable();
      if (options.isUnasked !== true) this.#unsaved.tell(name);
      const entry = this.#entries.get(name) ?? this.#startEntry(name, options);
      if (entry.leaving !== undefined) {
        await entry.leaving;
        continue;
      }
      checkSameLimits(entry.limits, options.limits);
      // One caller's signal lets that caller go; the start is everybody's.
      const sandbox = await unlessAborted(entry.sandbox, options.signal);
      sandbox.touch();
      if (sandbox.isRunning) return sandbox;
      // It has just stopped: wait until its traces are gone, then start anew.
      await sandbox.stop();
      this.#forget(entry);
    }
  }

  /**
   * The same until it is released. An idle sandbox with other limits or of another backend makes way for a new one;
   * one that somebody has leased, or that runs something, does not.
   */
  async lease(name: string, options: StartOptions): Promise<{ sandbox: Sandbox; release: () => void }> {
    for (;;) {
      this.#options.assertUsable();
      this.#unsaved.tell(name);
      const known = this.#entries.get(name);
      if (known?.leaving !== undefined) await known.leaving;
      else if (known !== undefined && !this.#fits(known, options)) await this.#makeWay(known);
      else {
        // From here to the end of the lease nobody else can send it away.
        const entry = known ?? this.#startEntry(name, options);
        entry.leases++;
        const release = () => {
          entry.leases--;
        };
        try {
          const sandbox = await unlessAborted(entry.sandbox, options.signal);
          sandbox.touch();
          if (sandbox.isRunning) return { sandbox, release };
          await sandbox.stop();
          this.#forget(entry);
        } catch (error) {
          release();
          throw error;
        }
        release();
      }
    }
  }

  #fits(entry: Entry, { limits, backend = this.#options.backend }: StartOptions): boolean {
    return this.#backends.areSame(entry.backend, backend) && sameLimits(entry.limits, limits);
  }

  /** Stops an idle sandbox. Those who ask for the session meanwhile wait for that. */
  async #makeWay(entry: Entry): Promise<void> {
    if (entry.leases > 0 || (entry.running?.activeExecutions ?? 0) > 0) throw busy();
    entry.leaving = entry.sandbox
      .then(
        (sandbox) => sandbox.stop(),
        () => undefined,
      )
      .finally(() => this.#forget(entry));
    await entry.leaving;
  }

  /** A sandbox of its own whose files go with it. */
  async start(key: string, options: StartOptions): Promise<Sandbox> {
    const forget = () => {
      this.#ephemeral.delete(entry);
    };
    const place = { key, isEphemeral: true, openSession: async () => this.#store.openEphemeral(key) };
    const sandbox = this.#start(place, options, forget);
    const entry = this.#entry(key, options, sandbox);
    this.#ephemeral.add(entry);
    this.#expiry.watch();
    sandbox.catch(forget);
    return sandbox;
  }

  /** Lets a sandbox go in the background of the next one's start; `cleanupAll` waits for those still going. */
  async discard(sandbox: Sandbox): Promise<void> {
    if (this.#pooled?.giveBack(sandbox) === true) return;
    this.#leavesSpare.add(sandbox);
    const discarded = sandbox.stop();
    this.#discarding.add(discarded);
    // One that fails stays, for the next `cleanupAll` to report.
    discarded.then(
      () => this.#discarding.delete(discarded),
      () => undefined,
    );
    if (this.#discarding.size > MAX_DISCARDING) await Promise.allSettled([Promise.race(this.#discarding)]);
  }

  /** The session of a sandbox that was started here and runs. */
  sessionOf(sandboxId: string): string | undefined {
    return this.#started.get(sandboxId);
  }

  /** The session's sandbox if it runs; starts none. */
  find(name: string): Sandbox | undefined {
    const running = this.#entries.get(name)?.running;
    return running?.isRunning ? running : undefined;
  }

  /** The names of the sessions that run. */
  async running(): Promise<Set<string>> {
    const names = new Set<string>();
    for (const { key, sandbox } of this.#entries.values()) {
      if ((await sandbox.catch(() => undefined))?.isRunning) names.add(key);
    }
    return names;
  }

  /** Stops a session's sandbox; its files stay. */
  async stop(name: string): Promise<void> {
    const entry = this.#entries.get(name);
    if (entry === undefined) return this.#unsaved.tell(name);
    const sandbox = await entry.sandbox.catch(() => undefined);
    await sandbox?.stop();
    this.#forget(entry);
  }

  /** Stops every sandbox, all at once and past failures, which it reports together. */
  async stopAll(): Promise<void> {
    this.#expiry.stop();
    const entries = [...this.#entries.values(), ...this.#ephemeral];
    // First, so that nobody waits for what is given back below.
    const drained = this.#pooled?.clear();
    const stopped = await Promise.allSettled([
      ...entries.map(async ({ sandbox }) => (await sandbox.catch(() => undefined))?.stop()),
      ...this.#discarding,
      this.#reaping,
      drained,
    ]);
    this.#discarding.clear();
    const outcomes = [...stopped, ...(await Promise.allSettled([this.#store.discardSpares()]))];
    for (const entry of entries) {
      this.#forget(entry);
      this.#ephemeral.delete(entry);
    }
    this.#forgetSignals?.();
    this.#forgetSignals = undefined;
    throwStopFailures(outcomes, this.#unsaved.takeAll());
  }

  /** Afterwards the pool prepares nothing any more. */
  async close(): Promise<void> {
    await this.#pooled?.stop();
  }

  /** Removes what killed processes left behind, past failures; resolves to how many things. */
  async reap(): Promise<number> {
    const { stateDir, reapMore } = this.#options;
    return reapAll([
      () => reapMore?.() ?? 0,
      async () => (await this.backend()).backend.reap(),
      () => reapUnusedContainers({ stateDir, options: backendOptions("docker", this.#config) }),
      () => this.#store.reap(),
    ]);
  }

  /** The backend of that name, probed. */
  backend(name: string = this.#options.backend): Promise<ChosenBackend> {
    return this.#backends.get(name);
  }

  /** What was asked for by the configuration and the manager's caller together. */
  get requestedLimits(): Limits {
    const { outputBytes: _, ...limits } = this.#config.limits;
    return { ...limits, ...this.#options.limits };
  }

  #forget(entry: Entry): void {
    if (this.#entries.get(entry.key) === entry) this.#entries.delete(entry.key);
  }

  #entry(key: string, options: StartOptions, sandbox: Promise<Sandbox>): Entry {
    const backend = options.backend ?? this.#options.backend;
    const entry: Entry = {
      key,
      startedAt: Date.now(),
      limits: options.limits ?? {},
      backend,
      sandbox,
      leases: options.leased === true ? 1 : 0,
    };
    sandbox.then(
      (running) => {
        entry.running = running;
      },
      () => undefined,
    );
    return entry;
  }

  #startEntry(key: string, options: StartOptions): Entry {
    const forget = () => this.#forget(entry);
    const { signal: _, ...shared } = options;
    const place = { key, isEphemeral: false, openSession: () => this.#store.open(key) };
    const sandbox = this.#start(place, shared, forget);
    const entry = this.#entry(key, options, sandbox);
    this.#entries.set(key, entry);
    this.#expiry.watch();
    sandbox.catch(forget);
    return entry;
  }

  async #start(
    place: Pick<TakeOrder, "key" | "isEphemeral" | "openSession">,
    options: StartOptions,
    forget: () => void,
  ): Promise<Sandbox> {
    const chosen = await this.backend(options.backend);
    this.#forgetSignals ??= this.#watchSignals();
    let ended: (() => void) | undefined;
    const order: TakeOrder = {
      ...place,
      limits: { ...this.requestedLimits, ...options.limits },
      signal: options.signal,
      hasInputs: options.hasInputs === true,
      isLeased: options.leased === true,
      onStopped: (stopped) => {
        forget();
        ended?.();
        if (!place.isEphemeral) this.#unsaved.note(place.key, stopped);
        this.#started.delete(stopped.id);
        return this.#leavesSpare.has(stopped) ? "spare" : "removed";
      },
    };
    const sandbox = await (this.#pooled?.take(chosen, order) ?? this.#starter.start(chosen, order));
    try {
      this.#options.assertUsable();
    } catch (error) {
      await sandbox.stop();
      throw error;
    }
    this.#started.set(sandbox.id, sandbox.sessionId);
    ended = this.#options.onStarted?.(sandbox);
    this.#startReaping();
    return sandbox;
  }

  #bind(manager: PoolManager): PooledSandboxes {
    const { stateDir, store, waysOut } = this.#options;
    return new PooledSandboxes({
      manager,
      stateDir,
      store,
      waysOut,
      starter: this.#starter,
      limits: this.requestedLimits,
      backend: () => this.backend(),
      backendName: this.#options.backend,
      onPreparing: () => {
        this.#forgetSignals ??= this.#watchSignals();
      },
      onPrepared: () => this.#startReaping(),
    });
  }

  #startReaping(): void {
    this.#reaping ??= this.reap().then(
      () => undefined,
      () => undefined,
    );
  }

  #watchSignals(): () => void {
    if (!(this.#options.handleSignals ?? this.#config.runtime.cleanupOnExit)) return () => undefined;
    return cleanUpOnSignals(() => this.stopAll());
  }
}

function busy(): SandboxError {
  return new SandboxError("SANDBOX_BUSY", "This session's sandbox runs something with other limits", {
    hint: "Wait until it has ended, or use another session.",
  });
}

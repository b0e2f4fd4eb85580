import { randomBytes } from "node:crypto";
import type { AuditLogger } from "../../../guard/audit/index.js";
import { abortable, throwIfCancelled } from "../../../kit/abortable.js";
import { SandboxError } from "../../../kit/errors.js";
import type { Limits } from "../../../runtime/backends/index.js";
import { reapUnusedBackends } from "../../../runtime/backends/index.js";
import type { PoolManager } from "../../../runtime/pool/index.js";
import type { RunningSandbox } from "../../../runtime/sandbox/index.js";
import type { AccessWatcher } from "../../../runtime/workspace/index.js";
import type { Config } from "../../config/index.js";
import type { EgressController } from "../egress/egress-controller.js";
import { UnsavedChanges } from "../files/unsaved-changes.js";
import { reapSnapshots } from "../sessions/session-snapshots.js";
import type { SessionStore } from "../sessions/session-store.js";
import type { ChosenBackend } from "./choose-backend.js";
import { forkSession } from "./fork-session.js";
import { KnownBackends } from "./known-backends.js";
import { checkSameLimits, sameLimits } from "./limits.js";
import { PooledSandboxes } from "./pooled-sandboxes.js";
import { reapAll } from "./reap-all.js";
import { SandboxExpiry } from "./sandbox-expiry.js";
import { cleanUpOnSignals } from "./signals.js";
import { type SandboxStarts, StartCounter } from "./start-counter.js";
import type { ForkRequest, InitialContent, SandboxRequest, StartOptions } from "./start-request.js";
import { SandboxStarter } from "./start-sandbox.js";
import { throwStopFailures } from "./stop-failures.js";

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
  readonly egress: EgressController;
  /** Left out: every sandbox starts when it is wanted. */
  readonly pool?: PoolManager | undefined;
  readonly handleSignals?: boolean | undefined;
  readonly audit?: AuditLogger | undefined;
  /** Removes what else killed processes left behind; returns how many things. */
  readonly reapMore?: () => number;
  /** All keys mean the same session, which cannot be forked. */
  readonly isShared: boolean;
  /** Throws when no sandbox may start any more. */
  readonly assertUsable: () => void;
  /** Called with every sandbox that has started; what it returns is called when that one has stopped. */
  readonly onStarted?: (sandbox: RunningSandbox) => (() => void) | undefined;
}

type WorkspaceSource = Pick<SandboxRequest, "key" | "isEphemeral" | "openSession" | "fill">;

interface Entry {
  /** Under which it is found. */
  readonly key: string;
  /** False: it is no session's, and its files go with it. */
  readonly isSession: boolean;
  readonly startedAt: number;
  /** What the first caller asked for. */
  readonly limits: Limits;
  readonly backend: string;
  /** What its cells have, as text; undefined: it has none. */
  readonly cells: string | undefined;
  readonly sandbox: Promise<RunningSandbox>;
  /** Once it has started. */
  running?: RunningSandbox;
  /** Tool calls that use it now. */
  leases: number;
  /** Callers that wait for its start, and have it first when it has to make way. */
  readonly waiting: Set<Promise<RunningSandbox>>;
  /** It makes way for another one; resolves when it is gone. */
  leaving?: Promise<void>;
}

export interface LeasedSandbox {
  readonly sandbox: RunningSandbox;
  readonly release: () => void;
}

const MAX_DISCARDING = 4;

/** The sandboxes that run now: one per session, and those that are thrown away. */
export class LiveSandboxes {
  readonly #config: Config["sandbox"];
  readonly #store: SessionStore;
  readonly #starter: SandboxStarter;
  readonly #pooled: PooledSandboxes | undefined;
  readonly #expiry: SandboxExpiry;
  readonly #entries = new Map<string, Entry>();
  readonly #ephemeral = new Set<Entry>();
  /** Sessions whose files go with their first sandbox. */
  readonly #inMemory = new Set<string>();
  /** Session by sandbox, of those that run. */
  readonly #started = new Map<string, string>();
  readonly #discarding = new Set<Promise<void>>();
  /** Sandboxes whose empty directory the next one may have. */
  readonly #leavesSpare = new WeakSet<RunningSandbox>();
  readonly #unsaved: UnsavedChanges;
  readonly #backends: KnownBackends;
  readonly #startCounter = new StartCounter();
  #reaping: Promise<void> | undefined;
  #forgetSignals: (() => void) | undefined;

  constructor(private readonly options: LiveSandboxesOptions) {
    this.#config = options.config;
    this.#store = options.store;
    this.#unsaved = new UnsavedChanges(options.audit);
    this.#backends = new KnownBackends(options.stateDir, options.config);
    const { config, store, warm, accessWatcher, egress } = options;
    const fork = (request: ForkRequest) => this.#fork(request);
    this.#starter = new SandboxStarter({
      config,
      store,
      stateDir: options.stateDir,
      warm,
      accessWatcher,
      egress,
      fork,
    });
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

  /** How starts went so far. */
  get starts(): SandboxStarts {
    return this.#startCounter.starts;
  }

  /** The session's sandbox; the first call starts it, calls at the same time get the same one. */
  async get(name: string, options: StartOptions): Promise<RunningSandbox> {
    for (;;) {
      this.options.assertUsable();
      if (options.isBackground !== true) this.#unsaved.tell(name);
      const entry = this.#entries.get(name) ?? this.#startEntry(name, options);
      if (entry.leaving !== undefined) {
        if (options.isBackground === true) throw madeWay();
        await abortable(entry.leaving, options.signal);
        continue;
      }
      checkSameLimits(entry.limits, options.limits);
      checkSameCells(entry.cells, options);
      const sandbox = await this.#waitForStart(entry, options);
      sandbox.touch();
      if (sandbox.isRunning) return sandbox;
      // Started again, it would be in the call's way again, and so for ever.
      if (options.isBackground === true && entry.leaving !== undefined) throw madeWay();
      // It has just stopped: wait until its traces are gone, then start another.
      await sandbox.stop();
      this.#forget(entry);
    }
  }

  /** Waits for the start. One caller's signal ends that caller's wait; the start goes on for the others. */
  async #waitForStart(entry: Entry, { signal, isBackground }: StartOptions): Promise<RunningSandbox> {
    const started = abortable(entry.sandbox, signal);
    // Nobody uses what starts in the background: a call need not wait for it.
    if (isBackground === true) return started;
    entry.waiting.add(started);
    try {
      return await started;
    } finally {
      entry.waiting.delete(started);
    }
  }

  /**
   * The same until it is released. An idle sandbox with other limits or of another backend makes way for a new one;
   * one that is leased, or that runs something, does not.
   */
  lease(name: string, options: StartOptions): Promise<LeasedSandbox> {
    return this.#lease(name, options, () => this.#startEntry(name, options));
  }

  /** A sandbox for programs in cells: only this owner's, with no session's files. It stays for the owner's next call. */
  leaseForCells(owner: string, options: StartOptions): Promise<LeasedSandbox> {
    const { limits, backend, cells } = options;
    // No session can be called that.
    const name = `/cells/${JSON.stringify([owner, backend ?? null, limits, cells])}`;
    return this.#lease(name, options, () => this.#startEphemeralEntry(name, options));
  }

  async #lease(name: string, options: StartOptions, startEntry: () => Entry): Promise<LeasedSandbox> {
    for (;;) {
      this.options.assertUsable();
      throwIfCancelled(options.signal);
      this.#unsaved.tell(name);
      const known = this.#entries.get(name);
      if (known?.leaving !== undefined) await abortable(known.leaving, options.signal);
      else if (known !== undefined && !this.#fits(known, options)) {
        await abortable(this.#makeWay(known), options.signal);
      } else {
        // From here to the end of the lease no other call can make it stop.
        const entry = known ?? startEntry();
        entry.leases++;
        const release = () => {
          entry.leases--;
        };
        try {
          const sandbox = await abortable(entry.sandbox, options.signal);
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

  #fits(entry: Entry, options: StartOptions): boolean {
    const { limits, backend = this.options.backend } = options;
    if (options.forFiles === true) return true;
    return this.#backends.areSame(entry.backend, backend) && sameLimits(entry.limits, limits);
  }

  /** Stops an idle sandbox, once those have it that wait for its start. Calls for the session wait for that. */
  async #makeWay(entry: Entry): Promise<void> {
    if (entry.leases > 0 || (entry.running?.activeExecutions ?? 0) > 0) throw busy();
    if (entry.waiting.size > 0) {
      await Promise.allSettled(entry.waiting);
      // The caller looks again: meanwhile another one may have leased it.
      return;
    }
    entry.leaving = entry.sandbox
      .then(
        (sandbox) => sandbox.stop(),
        () => undefined,
      )
      .finally(() => this.#forget(entry));
    await entry.leaving;
  }

  /** A sandbox of its own whose files go with it; with `content` the caller fills and removes them, once it has opened. */
  async start(key: string, options: StartOptions, content?: InitialContent): Promise<RunningSandbox> {
    const forget = () => {
      this.#ephemeral.delete(entry);
    };
    const sandbox = this.#start(this.#ephemeralSource(key, content), options, forget);
    const entry = this.#entry(key, options, sandbox, false);
    this.#ephemeral.add(entry);
    this.#expiry.watch();
    sandbox.catch(forget);
    return sandbox;
  }

  /** Lets a sandbox go in the background of the next one's start; `cleanupAll` waits for those still going. */
  async discard(sandbox: RunningSandbox): Promise<void> {
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
  find(name: string): RunningSandbox | undefined {
    const running = this.#entries.get(name)?.running;
    return running?.isRunning ? running : undefined;
  }

  /** The names of the sessions that run. */
  async running(): Promise<Set<string>> {
    const names = new Set<string>();
    for (const { key, sandbox, isSession } of this.#entries.values()) {
      if (isSession && (await sandbox.catch(() => undefined))?.isRunning) names.add(key);
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
    // First, so that no request waits for the items released below.
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
    const { stateDir, reapMore } = this.options;
    return reapAll([
      () => reapMore?.() ?? 0,
      async () => (await this.backend()).backend.reap(),
      () => reapUnusedBackends(stateDir, this.#config.backends),
      async () => {
        const count = await this.#store.reap();
        return count + (await reapSnapshots(this.#store.paths(), this.#config.snapshots));
      },
    ]);
  }

  /** The backend of that name, probed. */
  backend(name: string = this.options.backend): Promise<ChosenBackend> {
    return this.#backends.get(name);
  }

  /** What was asked for by the configuration and the manager's caller together. */
  get requestedLimits(): Limits {
    const { outputBytes: _, ...limits } = this.#config.limits;
    return { ...limits, ...this.options.limits };
  }

  #forget(entry: Entry): void {
    if (this.#entries.get(entry.key) === entry) this.#entries.delete(entry.key);
  }

  #entry(key: string, options: StartOptions, sandbox: Promise<RunningSandbox>, isSession: boolean): Entry {
    const backend = options.backend ?? this.options.backend;
    const entry: Entry = {
      key,
      isSession,
      startedAt: Date.now(),
      limits: options.limits ?? {},
      backend,
      cells: cellsOf(options),
      sandbox,
      leases: options.leased === true ? 1 : 0,
      waiting: new Set(),
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
    if (this.#inMemory.has(key)) {
      throw new SandboxError("SANDBOX_NOT_RUNNING", "This session was temporary, and its files are gone", {
        hint: "Make a new one.",
      });
    }
    if (options.inMemory === true) {
      this.#inMemory.add(key);
      return this.#addEntry(key, this.#ephemeralSource(key), { ...options, hasInputs: true });
    }
    const source = { key, isEphemeral: false, openSession: () => this.#store.open(key) };
    return this.#addEntry(key, source, options);
  }

  #startEphemeralEntry(name: string, options: StartOptions): Entry {
    return this.#addEntry(name, this.#ephemeralSource(`cells-${randomBytes(4).toString("hex")}`), options);
  }

  #ephemeralSource(key: string, content?: InitialContent): WorkspaceSource {
    const openSession = async () => {
      const session = this.#store.openEphemeral(key);
      content?.opened(session);
      return session;
    };
    return { key, isEphemeral: true, openSession, fill: content?.fill };
  }

  #addEntry(name: string, source: WorkspaceSource, options: StartOptions): Entry {
    const forget = () => this.#forget(entry);
    const { signal: _, ...shared } = options;
    const sandbox = this.#start(source, shared, forget);
    const entry = this.#entry(name, options, sandbox, !source.isEphemeral);
    this.#entries.set(name, entry);
    this.#expiry.watch();
    sandbox.catch(forget);
    return entry;
  }

  #start(source: WorkspaceSource, options: StartOptions, forget: () => void): Promise<RunningSandbox> {
    return this.#startCounter.track(() => this.#startOne(source, options, forget));
  }

  async #startOne(
    source: WorkspaceSource,
    options: StartOptions,
    forget: () => void,
  ): Promise<RunningSandbox> {
    const chosen = await this.backend(options.backend);
    this.#forgetSignals ??= this.#watchSignals();
    let ended: (() => void) | undefined;
    const request: SandboxRequest = {
      ...source,
      limits: { ...this.requestedLimits, ...options.limits },
      signal: options.signal,
      hasInputs: options.hasInputs === true,
      cells: options.cells,
      isLeased: options.leased === true,
      onStopped: (stopped) => {
        forget();
        ended?.();
        if (!source.isEphemeral) this.#unsaved.note(source.key, stopped);
        this.#started.delete(stopped.id);
        if (source.fill !== undefined) return "kept";
        return this.#leavesSpare.has(stopped) ? "spare" : "removed";
      },
    };
    const sandbox = await (this.#pooled?.take(chosen, request) ?? this.#starter.start(chosen, request));
    try {
      this.options.assertUsable();
    } catch (error) {
      await sandbox.stop();
      throw error;
    }
    this.#started.set(sandbox.id, sandbox.sessionId);
    ended = this.options.onStarted?.(sandbox);
    this.#startReaping();
    return sandbox;
  }

  /** Makes a new session out of the files of another. */
  async #fork(request: ForkRequest): Promise<RunningSandbox> {
    this.options.assertUsable();
    if (this.options.isShared) {
      throw new SandboxError("UNSUPPORTED", "In mode shared there is one session, which cannot be forked", {
        hint: 'Set sandbox.mode to "per-session".',
      });
    }
    return forkSession({ ...request, backend: this.#backends.askedAs(request.backend) }, this, this.#store);
  }

  #bind(manager: PoolManager): PooledSandboxes {
    const { stateDir, store, egress } = this.options;
    return new PooledSandboxes({
      manager,
      stateDir,
      store,
      egress,
      starter: this.#starter,
      limits: this.requestedLimits,
      backend: () => this.backend(),
      backendName: this.options.backend,
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
    if (!(this.options.handleSignals ?? this.#config.runtime.cleanupOnExit)) return () => undefined;
    return cleanUpOnSignals(() => this.stopAll());
  }
}

/** What cells are asked for, as text; undefined: none. */
function cellsOf({ cells }: StartOptions): string | undefined {
  return cells === undefined || cells === false ? undefined : JSON.stringify(cells);
}

/** Throws where a sandbox that runs has no cells, or others than these. */
function checkSameCells(running: string | undefined, options: StartOptions): void {
  const wanted = cellsOf(options);
  if (wanted === undefined || wanted === running || (options.cells === true && running !== undefined)) return;
  const what = running === undefined ? "was not made for cells" : "has cells with other limits";
  throw new SandboxError("SANDBOX_BUSY", `This session's sandbox runs already, and ${what}`, {
    hint: "Close the session first, or use another one.",
  });
}

/** What nobody hears of: see `isBackground`. */
function madeWay(): SandboxError {
  return new SandboxError("SANDBOX_BUSY", "The session's sandbox made way for a call");
}

function busy(): SandboxError {
  return new SandboxError("SANDBOX_BUSY", "This session's sandbox runs something with other limits", {
    hint: "Wait until it has ended, or use another session.",
  });
}

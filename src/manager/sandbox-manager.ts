import { randomBytes } from "node:crypto";
import type { Instance, Limits } from "../backends/backend.js";
import {
  type Config,
  DEFAULT_CONFIG,
  DEFAULT_LANGUAGE,
  DEFAULT_LIMITS,
  expandHome,
  SANDBOX_MODES,
  type SandboxMode,
} from "../config/index.js";
import { SandboxError, toSandboxError } from "../errors.js";
import { findLanguage } from "../sandbox/languages.js";
import type { ExecutionResult } from "../sandbox/result.js";
import { type RunCodeOptions, Sandbox } from "../sandbox/sandbox.js";
import type { WarmSettings } from "../sandbox/warm-interpreters.js";
import { bootstrapWorkspace, validateSessionKey, type WorkspaceFiles } from "../workspace/index.js";
import { defaultStateDirectory } from "../workspace/state-directory.js";
import { checkLanguages } from "./check-languages.js";
import { type ChosenBackend, chooseBackend } from "./choose-backend.js";
import { checkLimits, checkSameLimits, effectiveLimits } from "./limits.js";
import { openWorkspace } from "./open-workspace.js";
import { type SessionInfo, SessionStore, SHARED_KEY, type StoredSession } from "./session-store.js";
import { cleanUpOnSignals } from "./signals.js";
import { unlessAborted } from "./unless-aborted.js";

export interface SandboxManagerOptions {
  /** From `loadConfig` or `parseConfig`. Left out: the defaults, no file is read. */
  readonly config?: Config;
  /** "auto", or a backend's name. Wins over the configuration's. */
  readonly backend?: string;
  readonly mode?: SandboxMode;
  /** Where sessions are kept. */
  readonly stateDir?: string;
  /** Win over the configuration's. */
  readonly limits?: Limits;
  /** False: never keep interpreters started. */
  readonly warm?: boolean;
  /** False: leave SIGINT and SIGTERM to the caller. Left out: `runtime.cleanupOnExit`. */
  readonly handleSignals?: boolean;
}

export interface GetSandboxOptions {
  /** A sandbox of its own whose files go with it. */
  readonly ephemeral?: boolean;
  readonly limits?: Limits;
  readonly signal?: AbortSignal;
}

interface Entry {
  readonly key: string;
  readonly startedAt: number;
  /** What the first caller asked for. */
  readonly limits: Limits;
  readonly sandbox: Promise<Sandbox>;
}

const MAX_RETIRING = 4;

/** Makes sandboxes, hands out the same one per session, and cleans up after them. */
export class SandboxManager {
  readonly #config: Config["sandbox"];
  readonly #options: SandboxManagerOptions;
  readonly #stateDir: string;
  readonly #store: SessionStore;
  readonly #entries = new Map<string, Entry>();
  readonly #ephemeral = new Set<Entry>();
  readonly #retiring = new Set<Promise<void>>();
  /** Sandboxes whose empty directory the next one may have. */
  readonly #recycled = new WeakSet<Sandbox>();
  #chosen: Promise<ChosenBackend> | undefined;
  #reaping: Promise<void> | undefined;
  #expiry: NodeJS.Timeout | undefined;
  #forgetSignals: (() => void) | undefined;
  #closed = false;

  constructor(options: SandboxManagerOptions = {}) {
    this.#options = options;
    this.#config = (options.config ?? DEFAULT_CONFIG).sandbox;
    if (options.limits !== undefined) checkLimits(options.limits);
    if (options.mode !== undefined && !SANDBOX_MODES.includes(options.mode)) {
      throw new SandboxError("INVALID_ARGUMENT", `There is no mode named ${JSON.stringify(options.mode)}`, {
        hint: `Known modes: ${SANDBOX_MODES.join(", ")}.`,
      });
    }
    checkLanguages(this.#config.languages);
    this.#stateDir = expandHome(options.stateDir ?? this.#config.stateDir ?? defaultStateDirectory());
    if (!this.#stateDir.startsWith("/")) {
      throw new SandboxError("CONFIG_INVALID", "The state directory must be an absolute path", {
        hint: "It comes from SKERRY_STATE_DIR, sandbox.stateDir or the stateDir option.",
      });
    }
    this.#store = new SessionStore(this.#stateDir, this.#config.backends.bubblewrap.uidRange);
  }

  /** The session's sandbox; the first call starts it, calls at the same time get the same one. */
  async getSandbox(key: string, options: GetSandboxOptions = {}): Promise<Sandbox> {
    this.#assertUsable();
    validateSessionKey(key);
    if (options.limits !== undefined) checkLimits(options.limits);
    if (options.ephemeral) return this.#startEphemeral(key, options);
    const name = this.#nameFor(key);
    for (;;) {
      this.#assertUsable();
      const entry = this.#entries.get(name) ?? this.#startEntry(name, options);
      checkSameLimits(entry.limits, options.limits);
      // One caller's signal lets that caller go; the start is everybody's.
      const sandbox = await unlessAborted(entry.sandbox, options.signal);
      sandbox.touch();
      if (sandbox.isRunning) return sandbox;
      // It has just stopped: wait until its traces are gone, then start anew.
      await sandbox.stop();
      if (this.#entries.get(name) === entry) this.#entries.delete(name);
    }
  }

  /** Starts a session's sandbox in the background; a failure shows when it is asked for. */
  openSession(key: string, options: GetSandboxOptions = {}): void {
    this.getSandbox(key, options).catch(() => undefined);
  }

  /** Runs a program in the session's sandbox, or without a session in one that is thrown away. */
  async execute(options: RunCodeOptions & { readonly sessionId?: string }): Promise<ExecutionResult> {
    const { sessionId, ...rest } = options;
    if (sessionId === undefined) return this.runCodeOnce(rest);
    return await (await this.getSandbox(sessionId)).runCode(rest);
  }

  /** Runs a program in a fresh sandbox; it goes in the background, and at the latest with the manager. */
  async runCodeOnce(options: RunCodeOptions & { readonly limits?: Limits }): Promise<ExecutionResult> {
    const { limits, ...rest } = options;
    findLanguage(rest.language);
    const sandbox = await this.getSandbox(`once-${randomBytes(4).toString("hex")}`, {
      ephemeral: true,
      ...(limits !== undefined && { limits }),
      ...(rest.signal !== undefined && { signal: rest.signal }),
    });
    try {
      const result = await sandbox.runCode(rest);
      await this.#retire(sandbox);
      return result;
    } catch (error) {
      await sandbox.stop();
      throw error;
    }
  }

  /** Every session with files on this host, last used first. */
  async listSessions(): Promise<(SessionInfo & { readonly running: boolean })[]> {
    const running = new Set<string>();
    for (const { key, sandbox } of this.#entries.values()) {
      if ((await sandbox.catch(() => undefined))?.isRunning) running.add(key);
    }
    return this.#store.list().map((session) => ({ ...session, running: running.has(session.key) }));
  }

  /** True when a session of that name has files here. */
  hasSession(key: string): boolean {
    return this.#store.exists(this.#nameFor(key));
  }

  /** Stops a session's sandbox; its files stay. */
  async cleanupSession(key: string): Promise<void> {
    const entry = this.#entries.get(this.#nameFor(key));
    if (entry === undefined) return;
    const sandbox = await entry.sandbox.catch(() => undefined);
    await sandbox?.stop();
    if (this.#entries.get(entry.key) === entry) this.#entries.delete(entry.key);
  }

  /** Stops a session and removes its files. False when there was no such session. */
  async deleteSession(key: string): Promise<boolean> {
    validateSessionKey(key);
    await this.cleanupSession(key);
    return this.#store.delete(this.#nameFor(key));
  }

  /** Stops every sandbox, all at once and past failures, which it reports together. */
  async cleanupAll(): Promise<void> {
    clearInterval(this.#expiry);
    this.#expiry = undefined;
    const entries = [...this.#entries.values(), ...this.#ephemeral];
    const stopped = await Promise.allSettled([
      ...entries.map(async ({ sandbox }) => (await sandbox.catch(() => undefined))?.stop()),
      ...this.#retiring,
      this.#reaping,
    ]);
    const outcomes = [...stopped, ...(await Promise.allSettled([this.#store.discardSpares()]))];
    for (const entry of entries) {
      if (this.#entries.get(entry.key) === entry) this.#entries.delete(entry.key);
      this.#ephemeral.delete(entry);
    }
    this.#forgetSignals?.();
    this.#forgetSignals = undefined;
    const failures = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
    if (failures.length === 0) return;
    throw new SandboxError("INTERNAL", `${failures.length} sandboxes could not be cleaned up`, {
      cause: new AggregateError(failures),
    });
  }

  /** Stops everything; the manager cannot be used afterwards. */
  async close(): Promise<void> {
    this.#closed = true;
    do await this.cleanupAll();
    while (this.#entries.size + this.#ephemeral.size > 0);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Removes what killed processes left behind; resolves to how many things. */
  async reap(): Promise<number> {
    const { backend } = await this.#backend();
    return (await backend.reap()) + (await this.#store.reap());
  }

  /** Lets a sandbox go in the background of the next one's start; `cleanupAll` waits for those still going. */
  async #retire(sandbox: Sandbox): Promise<void> {
    this.#recycled.add(sandbox);
    const retired = sandbox.stop();
    this.#retiring.add(retired);
    // One that fails stays, for `cleanupAll` to report.
    retired.then(
      () => this.#retiring.delete(retired),
      () => undefined,
    );
    if (this.#retiring.size > MAX_RETIRING) await Promise.allSettled([Promise.race(this.#retiring)]);
  }

  #startEntry(key: string, options: GetSandboxOptions): Entry {
    const forget = () => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    };
    const { signal: _, ...shared } = options;
    const sandbox = this.#start(() => this.#store.open(key), shared, forget);
    const entry: Entry = { key, startedAt: Date.now(), limits: options.limits ?? {}, sandbox };
    this.#entries.set(key, entry);
    this.#watchExpiry();
    sandbox.catch(forget);
    return entry;
  }

  async #startEphemeral(key: string, options: GetSandboxOptions): Promise<Sandbox> {
    const forget = () => {
      this.#ephemeral.delete(entry);
    };
    const sandbox = this.#start(async () => this.#store.openEphemeral(key), options, forget);
    const entry: Entry = { key, startedAt: Date.now(), limits: options.limits ?? {}, sandbox };
    this.#ephemeral.add(entry);
    this.#watchExpiry();
    sandbox.catch(forget);
    return sandbox;
  }

  async #start(
    openSession: () => Promise<StoredSession>,
    options: GetSandboxOptions,
    onStopped: () => void,
  ): Promise<Sandbox> {
    const { backend, probe } = await this.#backend();
    const requestedLimits = { ...this.#requestedLimits(), ...options.limits };
    const limits = effectiveLimits(requestedLimits, probe.capabilities, backend.name);
    this.#assertNetwork(probe.capabilities.network, backend.name);
    this.#forgetSignals ??= this.#watchSignals();
    const session = await openSession();
    let instance: Instance | undefined;
    try {
      instance = await backend.create({
        id: `sbx-${randomBytes(6).toString("hex")}`,
        sessionKey: session.key,
        ephemeral: session.ephemeral,
        directory: { path: session.path, ...(session.owner !== undefined && { owner: session.owner }) },
        limits,
        requestedLimits,
        filesystem: this.#filesystem(),
        ...(options.signal !== undefined && { signal: options.signal }),
      });
      const sandbox = await this.#furnish(instance, session, { backend, probe }, onStopped);
      if (this.#closed) {
        await sandbox.stop();
        this.#assertUsable();
      }
      this.#prewarm(sandbox);
      this.#startReaping();
      return sandbox;
    } catch (error) {
      await instance?.destroy();
      // A session that never ran leaves no directory behind.
      await this.#store.discardUnready(session);
      throw toSandboxError(error, "SANDBOX_START_FAILED");
    }
  }

  /** Puts a sandbox around a running instance, with its workspace filled. */
  async #furnish(
    instance: Instance,
    session: StoredSession,
    chosen: ChosenBackend,
    onStopped: () => void,
  ): Promise<Sandbox> {
    const workspace = openWorkspace(instance, chosen, {
      denyWrite: this.#config.filesystem.denyWrite,
      ...(session.owner !== undefined && { owner: session.owner }),
    });
    const sandbox = new Sandbox({
      instance,
      type: chosen.backend.name,
      sessionId: session.key === SHARED_KEY ? "shared" : session.key,
      workspace,
      settings: {
        timeoutMs: this.#config.runtime.timeoutMs,
        maxOutputBytes: this.#config.limits.outputBytes ?? DEFAULT_LIMITS.outputBytes,
        warm: ({ name }) => this.#warmSettings(name, session.ephemeral),
      },
      onStopped: async () => {
        onStopped();
        const recycle = instance.directoryUntouched === true && this.#recycled.has(sandbox);
        await this.#store.discardEphemeral(session, recycle);
      },
    });
    if (!session.ready) await this.#bootstrap(workspace);
    this.#store.markReady(session);
    return sandbox;
  }

  async #bootstrap(workspace: WorkspaceFiles): Promise<void> {
    const { source, initDirectory, bootstrapFiles } = this.#config.workspace;
    if (source === undefined) return;
    await bootstrapWorkspace({ sourceRoot: expandHome(source), workspace, initDirectory, bootstrapFiles });
  }

  #prewarm(sandbox: Sandbox): void {
    for (const [name, { warm, preload }] of Object.entries(this.#config.languages)) {
      if (warm && preload.length > 0 && this.#options.warm !== false)
        sandbox.prewarm(name).catch(() => undefined);
    }
  }

  #warmSettings(language: string, ephemeral: boolean): WarmSettings {
    const { warm, preload, freshHashSeed } = this.#config.languages[language] ?? DEFAULT_LANGUAGE;
    const wanted = this.#options.warm ?? (!ephemeral || preload.length > 0);
    return { enabled: warm && wanted, preload, freshHashSeed };
  }

  #backend(): Promise<ChosenBackend> {
    if (this.#chosen === undefined) {
      const name = this.#options.backend ?? this.#config.backend;
      const chosen = chooseBackend(name, this.#stateDir, this.#config);
      // A host that lacks something may get it; a failure is not remembered.
      chosen.catch(() => {
        if (this.#chosen === chosen) this.#chosen = undefined;
      });
      this.#chosen = chosen;
    }
    return this.#chosen;
  }

  #requestedLimits(): Limits {
    const { outputBytes: _, ...limits } = this.#config.limits;
    return { ...limits, ...this.#options.limits };
  }

  #filesystem() {
    const { allowRead, allowWrite, denyRead, denyWrite } = this.#config.filesystem;
    const expand = (paths: readonly string[]) => paths.map((path) => expandHome(path));
    return {
      allowRead: expand(allowRead),
      allowWrite: expand(allowWrite),
      denyRead: expand(denyRead),
      denyWrite,
    };
  }

  /** The session that a key stands for. */
  #nameFor(key: string): string {
    return this.#mode() === "shared" ? SHARED_KEY : key;
  }

  #mode(): SandboxMode {
    return this.#options.mode ?? this.#config.mode;
  }

  #assertUsable(): void {
    if (this.#closed) {
      throw new SandboxError("SANDBOX_NOT_RUNNING", "This manager has been closed", {
        hint: "Make a new SandboxManager: its sessions with files are still there.",
      });
    }
    if (this.#config.enabled && this.#mode() !== "disabled") return;
    throw new SandboxError("SANDBOX_DISABLED", "Sandboxes are switched off by the configuration", {
      hint: 'Set sandbox.enabled to true and sandbox.mode to "per-session". Code never runs outside a sandbox instead.',
    });
  }

  #assertNetwork(network: "none" | "all-or-nothing" | "per-host", backend: string): void {
    const { allowedDomains, deniedDomains } = this.#config.network;
    // Without any network there is nothing left to deny.
    const rules = network === "none" ? allowedDomains : [...allowedDomains, ...deniedDomains];
    if (rules.length === 0 || network === "per-host") return;
    throw new SandboxError("UNSUPPORTED", `The backend ${backend} cannot tell one domain from another`, {
      hint: "Leave sandbox.network.allowedDomains empty: then there is no network inside.",
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
    return cleanUpOnSignals(() => this.cleanupAll());
  }

  #watchExpiry(): void {
    const { idleTimeoutMs, maxAgeMs } = this.#config.runtime;
    const shortest = Math.min(
      idleTimeoutMs ?? Number.POSITIVE_INFINITY,
      maxAgeMs ?? Number.POSITIVE_INFINITY,
    );
    if (this.#expiry !== undefined || !Number.isFinite(shortest)) return;
    this.#expiry = setInterval(() => this.#expire(), Math.max(50, Math.min(shortest / 4, 30_000)));
    this.#expiry.unref();
  }

  #expire(): void {
    const { idleTimeoutMs, maxAgeMs } = this.#config.runtime;
    const now = Date.now();
    for (const entry of [...this.#entries.values(), ...this.#ephemeral]) {
      entry.sandbox
        .then((sandbox) => {
          const idle = idleTimeoutMs !== null && now - sandbox.lastUsedAt >= idleTimeoutMs;
          const old = maxAgeMs !== null && now - entry.startedAt >= maxAgeMs;
          return idle || old ? sandbox.stop() : undefined;
        })
        // A failed start is its caller's to hear of, a failed stop the next caller's.
        .catch(() => undefined);
    }
  }
}

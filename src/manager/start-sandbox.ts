import { randomBytes } from "node:crypto";
import type { Instance, Limits } from "../backends/backend.js";
import { type Config, DEFAULT_LANGUAGE, DEFAULT_LIMITS, expandHome } from "../config/index.js";
import { SandboxError, toSandboxError } from "../errors.js";
import { Sandbox } from "../sandbox/sandbox.js";
import type { WarmSettings } from "../sandbox/warm-interpreters.js";
import type { AccessWatcher } from "../workspace/access-watcher.js";
import { bootstrapWorkspace, type WorkspaceFiles } from "../workspace/index.js";
import type { ChosenBackend } from "./choose-backend.js";
import { effectiveLimits } from "./limits.js";
import { openWorkspace } from "./open-workspace.js";
import { type SessionStore, SHARED_KEY, type StoredSession } from "./session-store.js";

export interface SandboxStarterOptions {
  readonly config: Config["sandbox"];
  readonly store: SessionStore;
  readonly warm: boolean | undefined;
  /** Tells which files programs read; left out: nobody wants to know. */
  readonly accessWatcher: (() => AccessWatcher) | undefined;
}

export interface StartOrder {
  readonly openSession: () => Promise<StoredSession>;
  readonly limits: Limits;
  readonly signal: AbortSignal | undefined;
  /** A throw-away sandbox that starts empty has nothing to read but its own: watching it would only cost. */
  readonly hasInputs: boolean;
  /** Called once, when the sandbox has stopped; true: its empty directory may be used again. */
  readonly onStopped: (sandbox: Sandbox) => boolean;
}

/** Starts sandboxes: limits that hold or an error, a session's directory, an instance, and its files in place. */
export class SandboxStarter {
  readonly #options: SandboxStarterOptions;
  readonly #config: Config["sandbox"];
  readonly #store: SessionStore;

  constructor(options: SandboxStarterOptions) {
    this.#options = options;
    this.#config = options.config;
    this.#store = options.store;
  }

  /** Leaves nothing behind when it throws. */
  async start(chosen: ChosenBackend, order: StartOrder): Promise<Sandbox> {
    const { backend, probe } = chosen;
    const limits = effectiveLimits(order.limits, probe.capabilities, backend.name);
    this.#assertNetwork(probe.capabilities.network, backend.name);
    const session = await order.openSession();
    let instance: Instance | undefined;
    try {
      instance = await backend.create({
        id: `sbx-${randomBytes(6).toString("hex")}`,
        sessionKey: session.key,
        ephemeral: session.ephemeral,
        directory: { path: session.path, ...(session.owner !== undefined && { owner: session.owner }) },
        limits,
        requestedLimits: order.limits,
        filesystem: this.#filesystem(),
        ...(order.signal !== undefined && { signal: order.signal }),
      });
      const sandbox = await this.#furnish(instance, session, chosen, order);
      this.#prewarm(sandbox);
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
    { onStopped, hasInputs }: StartOrder,
  ): Promise<Sandbox> {
    const workspace = openWorkspace(instance, chosen, {
      denyWrite: this.#config.filesystem.denyWrite,
      ...(session.owner !== undefined && { owner: session.owner }),
    });
    const { hostWorkspace } = instance;
    const isWorthWatching = hasInputs || !session.ephemeral || this.#config.workspace.source !== undefined;
    const reads =
      hostWorkspace === undefined || !isWorthWatching
        ? undefined
        : this.#options.accessWatcher?.().watch(hostWorkspace);
    const sandbox: Sandbox = new Sandbox({
      instance,
      type: chosen.backend.name,
      sessionId: session.key === SHARED_KEY ? "shared" : session.key,
      workspace,
      ...(reads !== undefined && { reads }),
      network: { ports: this.#config.network.allowLocalBinding },
      settings: {
        timeoutMs: this.#config.runtime.timeoutMs,
        maxOutputBytes: this.#config.limits.outputBytes ?? DEFAULT_LIMITS.outputBytes,
        warm: ({ name }) => this.#warmSettings(name, session.ephemeral),
      },
      onStopped: async () => {
        const recycle = onStopped(sandbox) && instance.directoryUntouched === true;
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

  #assertNetwork(network: "none" | "all-or-nothing" | "per-host", backend: string): void {
    const { allowedDomains, deniedDomains } = this.#config.network;
    // Without any network there is nothing left to deny.
    const rules = network === "none" ? allowedDomains : [...allowedDomains, ...deniedDomains];
    if (rules.length === 0 || network === "per-host") return;
    throw new SandboxError("UNSUPPORTED", `The backend ${backend} cannot tell one domain from another`, {
      hint: "Leave sandbox.network.allowedDomains empty: then there is no network inside.",
    });
  }
}

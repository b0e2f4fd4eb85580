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
import type { WaysOut } from "./ways-out.js";

export interface SandboxStarterOptions {
  readonly config: Config["sandbox"];
  readonly store: SessionStore;
  readonly warm: boolean | undefined;
  /** Tells which files programs read; left out: nobody wants to know. */
  readonly accessWatcher: (() => AccessWatcher) | undefined;
  readonly waysOut: WaysOut;
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
    const { waysOut } = this.#options;
    const type = chosen.backend.name;
    const sessionId = session.key === SHARED_KEY ? "shared" : session.key;
    const traveller = {
      sandboxId: instance.id,
      sessionId,
      backend: type,
      guestRuntime: instance.guestRuntime,
    };
    const sandbox: Sandbox = new Sandbox({
      instance,
      type,
      sessionId,
      workspace,
      ...(reads !== undefined && { reads }),
      network: waysOut.networkFor(traveller, chosen.probe.capabilities),
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
    if (waysOut.opensAtStart) await sandbox.network.open();
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
    return { enabled: warm && wanted, preload, freshHashSeed, keeps: true };
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
    const { isOpen, denies, hasSecrets } = this.#options.waysOut;
    // Without any network there is nothing left to deny.
    const isAsked = isOpen || hasSecrets || (denies && network !== "none");
    if (!isAsked || network === "per-host") return;
    throw new SandboxError("UNSUPPORTED", `The backend ${backend} cannot tell one host from another`, {
      hint: "Choose a backend that can (skerry doctor lists them), or leave out the network's rules and secrets.",
    });
  }
}

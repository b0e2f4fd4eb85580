import { randomBytes } from "node:crypto";
import { SandboxError, toSandboxError } from "../../../kit/errors.js";
import { expandHome } from "../../../kit/expand-home.js";
import type { CreateSpec, Instance, Limits, SandboxBackend } from "../../../runtime/backends/index.js";
import type { CellSettings, WarmSettings } from "../../../runtime/sandbox/index.js";
import { RunningSandbox } from "../../../runtime/sandbox/index.js";
import type { AccessWatcher } from "../../../runtime/workspace/index.js";
import { bootstrapWorkspace, type WorkspaceFiles } from "../../../runtime/workspace/index.js";
import { type Config, DEFAULT_LANGUAGE_CONFIG, DEFAULT_LIMITS } from "../../config/index.js";
import type { EgressController } from "../egress/egress-controller.js";
import { type StoredSession, sessionIdOf } from "../sessions/session-directory.js";
import { openProjectStore } from "../sessions/session-projects.js";
import { openSnapshotStore } from "../sessions/session-snapshots.js";
import type { SessionStore } from "../sessions/session-store.js";
import { cellSettings } from "./cell-options.js";
import type { ChosenBackend } from "./choose-backend.js";
import { effectiveLimits, unenforcedDefaults } from "./limits.js";
import { assertFilesReachable, openSessionSync, openWorkspace } from "./open-workspace.js";
import type { ForkRequest, PrepareRequest, StartRequest, WorkspaceSlot } from "./start-request.js";

export interface SandboxStarterOptions {
  readonly config: Config["sandbox"];
  readonly store: SessionStore;
  readonly stateDir: string;
  readonly warm: boolean | undefined;
  /** Tells which files programs read; left out: reads are not recorded. */
  readonly accessWatcher: (() => AccessWatcher) | undefined;
  readonly egress: EgressController;
  readonly fork: (request: ForkRequest) => Promise<RunningSandbox>;
}

export interface Prepared {
  readonly sandbox: RunningSandbox;
  readonly slot: WorkspaceSlot;
}

/** Starts sandboxes: limits that hold or an error, a session's directory, an instance, and its files in place. */
export class SandboxStarter {
  readonly #config: Config["sandbox"];
  readonly #store: SessionStore;
  readonly #warnedOf = new Set<string>();

  constructor(private readonly options: SandboxStarterOptions) {
    this.#config = options.config;
    this.#store = options.store;
  }

  /** Leaves nothing behind when it throws. */
  async start(chosen: ChosenBackend, request: StartRequest): Promise<RunningSandbox> {
    const { backend, probe } = chosen;
    const limits = effectiveLimits(request.limits, probe.capabilities, backend.name);
    const cells = cellSettings(request.cells, limits, probe.capabilities, backend.name);
    this.#assertNetwork(probe.capabilities.network, backend.name);
    const session = await request.openSession();
    let instance: Instance | undefined;
    try {
      assertFilesReachable(session, probe);
      const spec = {
        ...this.#spec(session, limits, request),
        ephemeral: session.ephemeral && request.fill === undefined,
      };
      instance = await backend.create(cells === undefined ? spec : { ...spec, cells: true });
      const slot = { session, keepsWarm: !request.isLeased };
      const sandbox = await this.#assemble(instance, slot, chosen, { ...request, cells });
      this.#prewarm(sandbox);
      return sandbox;
    } catch (error) {
      // What cannot be removed now is the backend's to try again; why the start failed is the caller's to hear.
      await Promise.allSettled([instance?.destroy()]);
      // A session that never ran leaves no directory behind.
      await this.#store.discardUnready(session);
      throw toSandboxError(error, "SANDBOX_START_FAILED");
    }
  }

  /**
   * Starts one that has no session yet, and that a session can keep as well as a call can throw away. With `used`, in what
   * is left of another one that had this slot. Leaves nothing behind when it throws.
   */
  async prepare(
    chosen: ChosenBackend,
    request: PrepareRequest,
    used?: { readonly instance: Instance; readonly slot: WorkspaceSlot },
  ): Promise<Prepared> {
    const { backend, probe } = chosen;
    let session: StoredSession | undefined;
    let instance = used?.instance;
    let sandbox: RunningSandbox | undefined;
    try {
      const limits = effectiveLimits(request.limits, probe.capabilities, backend.name);
      this.#assertNetwork(probe.capabilities.network, backend.name);
      session =
        used === undefined
          ? this.#store.openEphemeral(request.key)
          : this.#store.renew(used.slot.session, request.key);
      // A workspace that lasts: a session may get it.
      const spec = { ...this.#spec(session, limits, request), ephemeral: false };
      instance = await (used === undefined ? backend.create(spec) : recycled(backend, used.instance, spec));
      const slot: WorkspaceSlot = { session, keepsWarm: false };
      sandbox = await this.#assemble(instance, slot, chosen, { ...request, hasInputs: true });
      await this.#prewarmAll(sandbox, request.languages);
      // One that died while its interpreters started is useless.
      if (!sandbox.isRunning)
        throw new SandboxError("SANDBOX_LOST", "The sandbox ended as soon as it had started");
      return { sandbox, slot };
    } catch (error) {
      await Promise.allSettled([sandbox?.stop()]);
      await Promise.allSettled([instance?.destroy()]);
      if (session !== undefined) await this.#store.discardUnready(session);
      throw toSandboxError(error, "SANDBOX_START_FAILED");
    } finally {
      // Only now has everything ended that could write there.
      if (used !== undefined) await this.#store.discardOutgrown(used.slot.session);
    }
  }

  #spec(
    session: StoredSession,
    limits: Limits,
    request: Pick<StartRequest, "limits" | "signal">,
  ): CreateSpec {
    return {
      id: `sbx-${randomBytes(6).toString("hex")}`,
      sessionKey: session.key,
      ephemeral: session.ephemeral,
      directory: { path: session.path, ...(session.owner !== undefined && { owner: session.owner }) },
      limits,
      requestedLimits: request.limits,
      filesystem: this.#filesystem(),
      ...(request.signal !== undefined && { signal: request.signal }),
    };
  }

  /** Puts a sandbox around a running instance, with its workspace filled. */
  async #assemble(
    instance: Instance,
    slot: WorkspaceSlot,
    chosen: ChosenBackend,
    {
      onStopped,
      hasInputs,
      limits,
      cells,
      fill,
    }: Pick<StartRequest, "onStopped" | "hasInputs" | "limits" | "fill"> & {
      readonly cells?: CellSettings | undefined;
    },
  ): Promise<RunningSandbox> {
    const { session } = slot;
    const { denyWrite } = this.#config.filesystem;
    const workspace = openWorkspace(instance, chosen, {
      denyWrite,
      ...(session.owner !== undefined && { owner: session.owner }),
    });
    const sync = openSessionSync(workspace, slot, { denyWrite, limits });
    const { hostWorkspace } = instance;
    const isWorthWatching = hasInputs || !session.ephemeral || this.#config.workspace.source !== undefined;
    const reads =
      hostWorkspace === undefined || !isWorthWatching
        ? undefined
        : this.options.accessWatcher?.().watch(hostWorkspace);
    const { egress } = this.options;
    const type = chosen.backend.name;
    const origin = {
      sandboxId: instance.id,
      get sessionId() {
        return sandbox.sessionId;
      },
      backend: type,
      guestRuntime: instance.guestRuntime,
    };
    const sandbox: RunningSandbox = new RunningSandbox({
      instance,
      type,
      sessionId: sessionIdOf(session.key),
      workspace,
      ...(sync !== undefined && { sync }),
      ...(reads !== undefined && { reads }),
      snapshots: openSnapshotStore(() => slot.session.path, this.#config.snapshots),
      projects: openProjectStore(() => slot.session.path, this.options.stateDir, this.#config.projects),
      fork: (key, filling, signal) =>
        this.options.fork({ key, source: slot.session.key, fill: filling, limits, backend: type, signal }),
      network: egress.networkFor(origin, chosen.probe.capabilities),
      settings: {
        timeoutMs: this.#config.runtime.timeoutMs,
        maxOutputBytes: this.#config.limits.outputBytes ?? DEFAULT_LIMITS.outputBytes,
        ...unenforcedDefaults(chosen.probe.capabilities),
        warm: ({ name }) => this.#warmSettings(name, slot),
        ...(cells !== undefined && { cells }),
      },
      onStopped: async () => {
        const fate = onStopped(sandbox);
        const isSpare = fate === "spare" && instance.directoryUntouched === true;
        if (fate !== "kept") await this.#store.discardEphemeral(slot.session, isSpare);
      },
    });
    if (egress.opensAtStart) await sandbox.network.open();
    const files = sync?.hostFiles ?? workspace;
    if (!session.ready) await (fill === undefined ? this.#bootstrap(files) : fill(files));
    const hasContent = session.ready || fill !== undefined || this.#config.workspace.source !== undefined;
    if (hasContent) await sync?.start(!session.ready);
    this.#store.markReady(session);
    return sandbox;
  }

  async #bootstrap(workspace: WorkspaceFiles): Promise<void> {
    const { source, initDirectory, bootstrapFiles } = this.#config.workspace;
    if (source === undefined) return;
    await bootstrapWorkspace({ sourceRoot: expandHome(source), workspace, initDirectory, bootstrapFiles });
  }

  #prewarm(sandbox: RunningSandbox): void {
    for (const [name, { warm, preload }] of Object.entries(this.#config.languages)) {
      if (warm && preload.length > 0 && this.options.warm !== false)
        sandbox.prewarm(name).catch(() => undefined);
    }
  }

  /** A language that is missing is its programs' trouble, and they say so; here once is enough. */
  async #prewarmAll(sandbox: RunningSandbox, languages: readonly string[]): Promise<void> {
    await Promise.all(
      languages.map((language) =>
        sandbox.prewarm(language).catch((error: unknown) => {
          if (!sandbox.isRunning || this.#warnedOf.has(language)) return;
          this.#warnedOf.add(language);
          const { message } = toSandboxError(error);
          process.emitWarning(`No interpreter can be started ahead for ${language}: ${message}`);
        }),
      ),
    );
  }

  #warmSettings(language: string, { keepsWarm }: WorkspaceSlot): WarmSettings {
    const { warm, preload, freshHashSeed } = this.#config.languages[language] ?? DEFAULT_LANGUAGE_CONFIG;
    return { enabled: warm && this.options.warm !== false, preload, freshHashSeed, keeps: keepsWarm };
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
    const { isOpen, denies, hasSecrets } = this.options.egress;
    // Without any network there is nothing left to deny.
    const isAsked = isOpen || hasSecrets || (denies && network !== "none");
    if (!isAsked || network === "per-host") return;
    throw new SandboxError("UNSUPPORTED", `The backend ${backend} cannot tell one host from another`, {
      hint: "Choose a backend that can (skerry doctor -v lists them), or leave out the network's rules and secrets.",
    });
  }
}

function recycled(backend: SandboxBackend, used: Instance, spec: CreateSpec): Promise<Instance> {
  if (backend.recycle === undefined)
    throw new SandboxError("INTERNAL", `The backend ${backend.name} resets nothing`);
  return backend.recycle(used, spec);
}

import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { SandboxError } from "../../../kit/errors.js";
import type { Limits } from "../../../runtime/backends/index.js";
import type { BoundPool, PoolLease, PoolManager } from "../../../runtime/pool/index.js";
import type { RunningSandbox } from "../../../runtime/sandbox/index.js";
import { findLanguage } from "../../../runtime/sandbox/index.js";
import type { EgressController } from "../egress/egress-controller.js";
import { sessionIdOf } from "../sessions/session-directory.js";
import type { SessionStore } from "../sessions/session-store.js";
import type { ChosenBackend } from "./choose-backend.js";
import { effectiveLimits, sameLimits } from "./limits.js";
import { PooledSandbox } from "./pooled-sandbox.js";
import type { SandboxRequest, WorkspaceSlot } from "./start-request.js";
import type { SandboxStarter } from "./start-sandbox.js";

export interface PooledSandboxesOptions {
  readonly manager: PoolManager;
  readonly stateDir: string;
  readonly starter: SandboxStarter;
  readonly store: SessionStore;
  readonly egress: EgressController;
  /** Of those that are prepared. */
  readonly limits: Limits;
  /** The same. */
  readonly backend: () => Promise<ChosenBackend>;
  /** As it was asked for. */
  readonly backendName: string;
  /** Called before the first one starts, and before every other. */
  readonly onPreparing: () => void;
  readonly onPrepared: () => void;
}

/** Longer than a small program takes in a sandbox that was ready. */
const GIVE_WAY_MS = 10;

/** The manager's sandboxes where it has a pool: prepared ones where they fit the request, the others made to order. */
export class PooledSandboxes {
  readonly #pool: BoundPool<PooledSandbox>;
  readonly #items = new WeakMap<RunningSandbox, PooledSandbox>();
  readonly #languages: readonly string[];
  #backendName = "";
  /** How many wait for one. */
  #wait = 0;
  #handedOutAt = Number.NEGATIVE_INFINITY;
  /** False: programs inside see the directory by its own name, so that no session can take it over. */
  #canBeAdopted = true;

  constructor(private readonly options: PooledSandboxesOptions) {
    const { manager, stateDir } = options;
    this.#languages = (manager.options.preload ?? []).map((each) => findLanguage(each).name);
    this.#pool = manager.bind(
      { create: (signal) => this.#prepare(signal) },
      { stateDir, backend: () => this.#backendName || options.backendName },
    );
  }

  /** Begins to prepare sandboxes in the background. */
  start(): void {
    this.#pool.start();
  }

  /** Waits in line for a sandbox, and hands it out. */
  async take(chosen: ChosenBackend, request: SandboxRequest): Promise<RunningSandbox> {
    const { signal, key, isEphemeral } = request;
    const whose = {
      ...(signal !== undefined && { signal }),
      // The key of a throw-away sandbox is no session.
      ...(!isEphemeral && { sessionId: sessionIdOf(key) }),
    };
    // Once: what could not be handed out would not be the next time either.
    if (this.#mayTakePrepared(request) && (await this.#fits(chosen, request.limits))) {
      const lease = await this.#waiting(this.#pool.acquire(whose));
      this.#handedOutAt = performance.now();
      const sandbox = await this.#handOut(lease, request);
      if (sandbox !== undefined) return sandbox;
    }
    const create = (abandoned: AbortSignal) => this.#make(chosen, request, abandoned);
    const lease = await this.#waiting(this.#pool.acquire({ ...whose, create }));
    const { item } = lease;
    // One that has ended meanwhile has no tenant any more.
    if (item.tenant === undefined) await lease.release({ reusable: false });
    else item.tenant = { ...item.tenant, lease };
    return runningIn(item);
  }

  /** Gives a throw-away sandbox back in the background. False: it is not from the pool. */
  giveBack(sandbox: RunningSandbox): boolean {
    const item = this.#items.get(sandbox);
    if (item === undefined) return false;
    void item.tenant?.lease?.release({ reusable: true });
    return true;
  }

  /** Rejects requests that wait; resolves when every sandbox of the pool is gone. The next request starts it again. */
  clear(): Promise<void> {
    return this.#pool.clear();
  }

  /** Rejects later requests as well. */
  stop(): Promise<void> {
    return this.#pool.stop();
  }

  #mayTakePrepared({ key, isEphemeral, cells, fill }: SandboxRequest): boolean {
    if (fill !== undefined) return false;
    if (cells !== undefined && cells !== false) return false;
    return isEphemeral || (this.#canBeAdopted && !this.options.store.exists(key));
  }

  async #fits({ backend, probe }: ChosenBackend, limits: Limits): Promise<boolean> {
    const prepared = await this.options.backend();
    if (prepared.backend.name !== backend.name) return false;
    const effective = (requested: Limits) => effectiveLimits(requested, probe.capabilities, backend.name);
    return sameLimits(effective(limits), effective(this.options.limits));
  }

  /** Undefined: it is no use for this request, and is back with the pool. */
  async #handOut(
    lease: PoolLease<PooledSandbox>,
    request: SandboxRequest,
  ): Promise<RunningSandbox | undefined> {
    const { item } = lease;
    const { slot } = item;
    const sandbox = runningIn(item);
    const { egress } = this.options;
    try {
      if (!sandbox.isRunning || slot === undefined || !this.#settle(slot, request)) {
        await lease.release({ reusable: false });
        return undefined;
      }
      // No await since it was seen running: from here on its end is the tenant's to hear of.
      item.tenant = { lease, onStopped: request.onStopped };
      slot.keepsWarm = !request.isLeased;
      sandbox.assign(sessionIdOf(request.key));
    } catch (error) {
      await lease.release({ reusable: false });
      throw error;
    }
    try {
      if (egress.hasChanged(sandbox)) await egress.apply(sandbox);
    } catch (error) {
      await sandbox.stop();
      throw error;
    }
    return sandbox;
  }

  /** Makes a new session's directory of it. False: the session was made meanwhile, or the directory cannot be moved. */
  #settle(slot: WorkspaceSlot, { key, isEphemeral }: SandboxRequest): boolean {
    if (isEphemeral) return true;
    if (!this.#canBeAdopted) return false;
    const adopted = this.options.store.adopt(slot.session, key);
    if (adopted !== undefined) slot.session = adopted;
    return adopted !== undefined;
  }

  async #make(chosen: ChosenBackend, request: SandboxRequest, signal: AbortSignal): Promise<PooledSandbox> {
    const item = new PooledSandbox(`made-${randomBytes(6).toString("hex")}`);
    item.tenant = { onStopped: request.onStopped };
    const sandbox = await this.options.starter.start(chosen, {
      ...request,
      signal,
      onStopped: (stopped) => item.stopped(stopped),
    });
    this.#hold(item, sandbox);
    return item;
  }

  async #waiting<T>(acquired: Promise<T>): Promise<T> {
    this.#wait++;
    try {
      return await acquired;
    } finally {
      this.#wait--;
    }
  }

  /** A start takes processor time from what runs: the call that just got a sandbox goes first, unless another waits for one. */
  async #giveWay(signal: AbortSignal): Promise<void> {
    for (;;) {
      // A hit is over in a moment; a longer wait counts as a miss.
      await sleep(1, undefined, { signal });
      const remainingMs = this.#handedOutAt + GIVE_WAY_MS - performance.now();
      if (this.#wait > 0 || remainingMs <= 0) return;
      await sleep(remainingMs, undefined, { signal });
    }
  }

  async #prepare(signal: AbortSignal): Promise<PooledSandbox> {
    this.options.onPreparing();
    await this.#giveWay(signal);
    const chosen = await this.options.backend();
    this.#backendName = chosen.backend.name;
    const item = new PooledSandbox(`pool-${randomBytes(6).toString("hex")}`);
    await this.#fill(chosen, item, signal);
    if (chosen.backend.recycle !== undefined) {
      item.offerReset(
        (used) => this.#fill(chosen, item, item.abandoned, used),
        ({ session }) => this.options.store.discardEphemeral(session),
      );
    }
    this.options.onPrepared();
    return item;
  }

  async #fill(
    chosen: ChosenBackend,
    item: PooledSandbox,
    signal: AbortSignal,
    used?: Parameters<SandboxStarter["prepare"]>[2],
  ): Promise<void> {
    const { starter, limits } = this.options;
    const { sandbox, slot } = await starter.prepare(
      chosen,
      {
        key: item.id,
        limits,
        signal,
        languages: this.#languages,
        onStopped: (stopped) => item.stopped(stopped),
      },
      used,
    );
    this.#canBeAdopted = !sandbox.workspacePath.startsWith(slot.session.path);
    this.#hold(item, sandbox, slot);
  }

  #hold(item: PooledSandbox, sandbox: RunningSandbox, slot?: WorkspaceSlot): void {
    item.holds(sandbox, slot);
    this.#items.set(sandbox, item);
  }
}

function runningIn({ sandbox }: PooledSandbox): RunningSandbox {
  if (sandbox === undefined) throw new SandboxError("INTERNAL", "The pool gave no sandbox");
  return sandbox;
}

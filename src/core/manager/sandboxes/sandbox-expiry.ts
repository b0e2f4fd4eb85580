import type { RunningSandbox } from "../../../runtime/sandbox/index.js";
import type { Config } from "../../config/index.js";

/** What may have been idle for too long, or be too old. */
export interface ExpiringSandbox {
  readonly startedAt: number;
  readonly sandbox: Promise<RunningSandbox>;
  /** Tool calls that use it now: then it is not idle. */
  readonly leases: number;
}

const LONGEST_RETRY_MS = 60_000;

/**
 * Stops sandboxes that were idle for a while, and those that are too old. An idle one whose files cannot all be
 * copied to this host keeps running until they can, or until it is too old.
 */
export class SandboxExpiry {
  /** Idle sandboxes that are being copied, or could not be: when to try again. */
  readonly #nextTry = new WeakMap<RunningSandbox, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly runtime: Pick<Config["sandbox"]["runtime"], "idleTimeoutMs" | "maxAgeMs">,
    private readonly running: () => readonly ExpiringSandbox[],
  ) {}

  /** Looks from now on, where something can expire. Keeps no process alive. */
  watch(): void {
    const { idleTimeoutMs, maxAgeMs } = this.runtime;
    const shortest = Math.min(
      idleTimeoutMs ?? Number.POSITIVE_INFINITY,
      maxAgeMs ?? Number.POSITIVE_INFINITY,
    );
    if (this.#timer !== undefined || !Number.isFinite(shortest)) return;
    this.#timer = setInterval(() => this.#expire(), Math.max(50, Math.min(shortest / 4, 30_000)));
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #expire(): void {
    for (const entry of this.running()) {
      // A failed start is its caller's to hear of.
      entry.sandbox.then((sandbox) => this.#expireOne(entry, sandbox)).catch(() => undefined);
    }
  }

  async #expireOne(entry: ExpiringSandbox, sandbox: RunningSandbox): Promise<void> {
    const { idleTimeoutMs, maxAgeMs } = this.runtime;
    if (!sandbox.isRunning) return;
    if (maxAgeMs !== null && Date.now() - entry.startedAt >= maxAgeMs) return sandbox.stopInBackground();
    if (!this.#isIdle(entry, sandbox) || Date.now() < (this.#nextTry.get(sandbox) ?? 0)) return;
    const isFirst = !this.#nextTry.has(sandbox);
    this.#nextTry.set(sandbox, Number.POSITIVE_INFINITY);
    const isSaved = await sandbox.save().catch(() => false);
    this.#nextTry.set(sandbox, Date.now() + Math.min(idleTimeoutMs ?? 0, LONGEST_RETRY_MS));
    // It may have been used meanwhile.
    if (isSaved && this.#isIdle(entry, sandbox)) return sandbox.stopInBackground();
    if (isSaved || !isFirst || !sandbox.isRunning) return;
    process.emitWarning(
      `Session ${JSON.stringify(sandbox.sessionId)} is idle and keeps running: not all that changed in its sandbox can be copied to this host`,
    );
  }

  #isIdle({ leases }: ExpiringSandbox, { lastUsedAt }: RunningSandbox): boolean {
    const { idleTimeoutMs } = this.runtime;
    return leases === 0 && idleTimeoutMs !== null && Date.now() - lastUsedAt >= idleTimeoutMs;
  }
}

import { expect, vi } from "vitest";
import { createDeferred, type Deferred } from "../../src/kit/deferred.js";
import { SandboxError } from "../../src/kit/errors.js";
import { Pool } from "../../src/runtime/pool/pool.js";
import type { PoolItem } from "../../src/runtime/pool/pool-item.js";
import type { PoolLease, PoolStatus } from "../../src/runtime/pool/pool-lease.js";
import { DEFAULT_SETTINGS, type PoolSettings } from "../../src/runtime/pool/pool-options.js";

/** Something the pool asked for and that has not been answered. */
interface Operation {
  readonly kind: "create" | "order" | "health" | "reset" | "destroy";
  readonly number: number;
  readonly askedAt: number;
  readonly item?: ModelItem;
  /** Of something that is being made. */
  readonly signal?: AbortSignal;
  answer(outcome: Outcome): void;
}

export type Outcome = "good" | "no" | "failure";

const PATIENCE = {
  create: "createTimeoutMs",
  order: "createTimeoutMs",
  health: "healthTimeoutMs",
  reset: "resetTimeoutMs",
} as const;

class ModelItem implements PoolItem {
  readonly #ended: Deferred<void> = createDeferred();
  readonly ended = this.#ended.promise;
  hasEnded = false;
  isGone = false;
  /** When its removal was asked for. */
  toGoSince: number | undefined;
  readonly madeAt = Date.now();
  uses = 0;
  isReusable = true;
  lastSession: string | undefined;
  /** A caller had it since it was made or reset. */
  isDirty = false;
  /** It has been made, or found healthy, in this very step, and no caller has had it since. */
  isVouchedFor = true;
  holder: Wish | undefined;
  readonly isHealthy = () =>
    this.ask("health", (good) => {
      this.isVouchedFor = good;
      return good;
    });
  readonly destroy = () =>
    this.ask("destroy", () => {
      this.isGone = true;
    });
  reset?: () => Promise<boolean>;

  constructor(
    readonly id: string,
    readonly isMadeToOrder: boolean,
    isResettable: boolean,
    readonly ask: <T>(kind: Operation["kind"], answer: (good: boolean) => T) => Promise<T>,
  ) {
    if (!isResettable) return;
    this.reset = () =>
      this.ask("reset", (good) => {
        if (good) {
          this.isDirty = false;
          this.lastSession = undefined;
        }
        return good;
      });
  }

  end(): void {
    this.hasEnded = true;
    this.#ended.resolve();
  }
}

/** As `expect`, and much cheaper: it is asked thousands of times. */
function demand(isTrue: boolean, promise: string): void {
  if (!isTrue) throw new Error(`broken: ${promise}`);
}

/** What one or several callers of a session want: one item. */
interface Wish {
  readonly isOrder: boolean;
  readonly session: string | undefined;
  readonly callers: Set<Caller>;
  item: ModelItem | undefined;
  leases: number;
}

interface Caller {
  readonly wish: Wish;
  readonly abort: AbortController;
  readonly isPatient: boolean;
}

interface Held {
  readonly wish: Wish;
  readonly item: ModelItem;
  readonly lease: PoolLease<ModelItem>;
  isReleased: boolean;
}

export interface Setup extends Pick<PoolSettings, "minInstances" | "maxInstances" | "maxUses" | "maxAgeMs"> {
  readonly isResettable: boolean;
}

/** The pool with a source whose every answer is ours to give, and everything that must be true of it. */
export class PoolModel {
  readonly pool: Pool<ModelItem>;
  readonly items: ModelItem[] = [];
  readonly operations: Operation[] = [];
  readonly wishes: Wish[] = [];
  readonly leases: Held[] = [];
  readonly seen = { leases: 0, timeouts: 0, cancelled: 0, failed: 0, stopped: 0, asked: 0 };
  readonly #failed = new Map<string, Wish>();
  /** What was found where a failure would only be an answer to the pool. */
  readonly #wrong: unknown[] = [];
  #number = 0;
  stopped: Promise<unknown> | undefined;

  constructor(readonly setup: Setup) {
    this.pool = new Pool<ModelItem>({ create: (signal) => this.#create("create", signal) }, setup);
    this.pool.start();
  }

  #ask<T>(
    kind: Operation["kind"],
    { item, signal }: Pick<Operation, "item" | "signal">,
    answer: (good: boolean) => T,
  ): Promise<T> {
    this.#demand(() => {
      if (item === undefined) return;
      const twice = this.operations.some((each) => each.kind === kind && each.item === item);
      demand(!twice && !item.isGone, `${kind} of something that is there, one at a time`);
      if (kind === "destroy") item.toGoSince ??= Date.now();
      else demand(item.toGoSince === undefined, `no ${kind} of something that is being destroyed`);
      if (kind !== "reset") return;
      demand(item.holder === undefined, "nothing is reset while it is held");
      demand(!item.isMadeToOrder, "what was made to order fits no other request");
      demand(item.isReusable, "what must not be used again is not");
      demand(item.uses <= this.setup.maxUses, "nothing is used more often than it may be");
      demand(Date.now() - item.madeAt < this.setup.maxAgeMs, "nothing is used longer than it may be");
    });
    const asked: Deferred<T> = createDeferred();
    const number = ++this.#number;
    const operation: Operation = {
      kind,
      number,
      askedAt: Date.now(),
      ...(signal !== undefined && { signal }),
      ...(item !== undefined && { item }),
      answer: (outcome) => {
        this.operations.splice(this.operations.indexOf(operation), 1);
        if (outcome === "failure" || (outcome === "no" && kind !== "health" && kind !== "reset")) {
          asked.reject(new SandboxError("DISK_FULL", `failure ${number}`));
        } else asked.resolve(answer(outcome === "good"));
      },
    };
    this.operations.push(operation);
    this.#demand(() => this.#expectNeverTooMany());
    return asked.promise;
  }

  #demand(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.#wrong.push(error);
    }
  }

  #create(kind: "create" | "order", signal: AbortSignal): Promise<ModelItem> {
    return this.#ask(kind, { signal }, () => {
      const ask = <T>(of: Operation["kind"], answer: (good: boolean) => T): Promise<T> =>
        this.#ask(of, { item }, answer);
      const item = new ModelItem(`item-${this.items.length}`, kind === "order", this.setup.isResettable, ask);
      this.items.push(item);
      return item;
    });
  }

  #createFor(session: string | undefined, signal: AbortSignal): Promise<ModelItem> {
    const isLeaving = ({ lastSession, toGoSince, isGone }: ModelItem) =>
      session !== undefined &&
      lastSession === session &&
      !isGone &&
      Date.now() - (toGoSince ?? Number.NEGATIVE_INFINITY) < DEFAULT_SETTINGS.destroyTimeoutMs;
    this.#demand(() => demand(!this.items.some(isLeaving), "a session's next item comes after its last"));
    return this.#create("order", signal);
  }

  acquire(session: string | undefined, isOrder: boolean, isPatient: boolean): void {
    const abort = new AbortController();
    const wish = this.#wishOf(session) ?? this.#wish(session, isOrder);
    const caller: Caller = { wish, abort, isPatient };
    wish.callers.add(caller);
    this.seen.asked += 1;
    this.pool
      .acquire({
        ...(session !== undefined && { sessionId: session }),
        ...(isOrder && { create: (order: AbortSignal) => this.#createFor(session, order) }),
        signal: abort.signal,
        timeoutMs: isPatient ? 2_000_000_000 : 1000,
      })
      .then(
        (lease) => this.#demand(() => this.#granted(caller, lease)),
        (error: unknown) => this.#demand(() => this.#refused(caller, error)),
      );
  }

  #wish(session: string | undefined, isOrder: boolean): Wish {
    const wish: Wish = { isOrder, session, callers: new Set(), item: undefined, leases: 0 };
    this.wishes.push(wish);
    return wish;
  }

  /** What the session waits for, or has. */
  #wishOf(session: string | undefined): Wish | undefined {
    if (session === undefined) return undefined;
    return this.wishes.find(
      (wish) =>
        wish.session === session &&
        (wish.item === undefined ? wish.callers.size > 0 : wish.leases > 0 && !wish.item.hasEnded),
    );
  }

  #granted(caller: Caller, lease: PoolLease<ModelItem>): void {
    const { wish } = caller;
    const { item } = lease;
    wish.callers.delete(caller);
    this.seen.leases += 1;
    if (wish.item === undefined) {
      demand(this.stopped === undefined, "nothing is handed out after stop");
      demand(item.holder === undefined, "it has no other holder");
      demand(!item.isDirty && item.isVouchedFor, "it is clean, and was found healthy just now");
      demand(!this.operations.some((each) => each.item === item), "nothing is being done to it");
      this.#expectFair(wish);
      wish.item = item;
      item.holder = wish;
      item.isDirty = true;
      item.uses += 1;
      item.lastSession = wish.session;
      item.isVouchedFor = false;
    }
    demand(item === wish.item, "one item for one session");
    wish.leases += 1;
    this.leases.push({ wish, item, lease, isReleased: false });
  }

  /** Callers that came earlier and still wait are being served: something is made, checked or destroyed for each. */
  #expectFair(wish: Wish): void {
    const earlier = this.wishes.slice(0, this.wishes.indexOf(wish)).filter((each) => this.isWaiting(each));
    const { acquiring, leaving, instances } = this.pool.status();
    demand(earlier.length <= acquiring + leaving, "no request is passed by");
    if (wish.isOrder) return;
    const checked = instances.filter(({ id, state }) => state === "acquiring" && id !== undefined).length;
    const alike = earlier.filter(({ isOrder }) => !isOrder).length;
    demand(alike <= checked, "what is prepared goes to the first in line");
  }

  isWaiting(wish: Wish): boolean {
    return wish.item === undefined && wish.callers.size > 0;
  }

  #refused(caller: Caller, error: unknown): void {
    caller.wish.callers.delete(caller);
    const { code, message } = error as SandboxError;
    if (code === "POOL_EXHAUSTED") {
      expect(caller.isPatient).toBe(false);
      this.seen.timeouts += 1;
    } else if (code === "CANCELLED") {
      expect(caller.abort.signal.aborted).toBe(true);
      this.seen.cancelled += 1;
    } else if (code === "SANDBOX_NOT_RUNNING") {
      expect(this.stopped).toBeDefined();
      this.seen.stopped += 1;
    } else {
      expect(message).toMatch(/^failure \d+$|^Starting a sandbox took longer/);
      if (code === "DISK_FULL") {
        expect(this.#failed.get(message) ?? caller.wish, "one failure is told once").toBe(caller.wish);
        this.#failed.set(message, caller.wish);
      }
      this.seen.failed += 1;
    }
  }

  release(held: Held, reusable: boolean): void {
    const { wish, item, lease } = held;
    if (!held.isReleased) {
      held.isReleased = true;
      wish.leases -= 1;
      if (!reusable) item.isReusable = false;
      if (wish.leases === 0) item.holder = undefined;
    }
    void lease.release({ reusable });
  }

  stop(): void {
    this.stopped ??= this.pool.stop().catch((error: unknown) => error);
  }

  get callers(): Caller[] {
    return this.wishes.flatMap((wish) => [...wish.callers]);
  }

  get alive(): number {
    const beingMade = this.operations.filter(({ kind }) => kind === "create" || kind === "order").length;
    return beingMade + this.items.filter((item) => !item.isGone).length;
  }

  #expectNeverTooMany(): void {
    demand(this.alive <= this.setup.maxInstances, "never more than the maximum");
  }

  /** Lets everything happen that waits for nothing but its turn. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 40; turn += 1) await Promise.resolve();
    for (const item of this.items) item.isVouchedFor = false;
  }

  /** In steps: what a timer sets in motion may set another one. */
  async pass(ms: number): Promise<void> {
    const steps = Math.min(ms, 5);
    for (let step = 0; step < steps; step += 1) {
      vi.advanceTimersByTime(Math.ceil(ms / steps));
      await this.settle();
    }
  }

  expectTruth(): void {
    const status = this.pool.status();
    const { idle, acquiring, busy, resetting, leaving } = status;
    if (this.#wrong.length > 0) throw this.#wrong[0];
    this.#expectNeverTooMany();
    demand(idle + acquiring + busy + resetting + leaving === this.alive, "no slot is lost");
    demand(status.instances.length === this.alive, "everything is told of");
    const { leases, timeouts, cancelled, failed, stopped, asked } = this.seen;
    demand(status.hits + status.misses === leases, "hits and misses add up");
    demand(status.created === this.items.length, "what was made is counted");
    demand(status.destroyed === this.items.filter(({ isGone }) => isGone).length, "what is gone is counted");
    demand(status.timeouts === timeouts, "timeouts are counted");
    const waiting = this.callers.length;
    demand(status.waiting === waiting, "who waits is counted");
    demand(
      leases + timeouts + cancelled + failed + stopped + waiting === asked,
      "every caller is accounted for",
    );
    this.#expectPatienceEnds();
    this.#expectBusy(status);
    if (this.stopped === undefined) this.#expectEffort(status);
    else demand(status.waiting + idle + resetting === 0, "nothing is kept after stop");
  }

  #expectBusy({ busy }: PoolStatus): void {
    const held = new Set(this.leases.filter(({ isReleased }) => !isReleased).map(({ item }) => item));
    const used = [...held].filter((item) => !item.hasEnded);
    if (this.stopped === undefined) demand(busy === used.length, "what is held is busy");
  }

  /** No caller waits while there is room or an idle item. */
  #expectEffort({ idle, acquiring, leaving, maxInstances }: PoolStatus): void {
    const waiting = this.wishes.filter((wish) => this.isWaiting(wish));
    if (waiting.length <= acquiring + leaving) return;
    demand(this.alive === maxInstances, "room is used");
    demand(idle === 0, "what is idle is used");
  }

  /** A step that hangs is given up. */
  #expectPatienceEnds(): void {
    for (const { kind, item, askedAt, signal } of this.operations) {
      if (kind === "destroy") continue;
      const isGivenUp = item === undefined ? signal?.aborted : item.toGoSince !== undefined;
      demand(isGivenUp || Date.now() - askedAt <= DEFAULT_SETTINGS[PATIENCE[kind]], `${kind} hangs`);
    }
  }

  /** From here on everything works, and every holder gives its item back. */
  async heal(): Promise<void> {
    for (let round = 0; round < 100; round += 1) {
      for (const operation of [...this.operations]) {
        operation.answer("good");
        await this.settle();
      }
      for (const held of this.leases) if (!held.isReleased) this.release(held, true);
      await this.settle();
      if (this.operations.length === 0) await this.pass(5000);
      this.expectTruth();
      if (round > 16 && this.operations.length === 0) break;
    }
  }
}

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { SandboxError } from "../../kit/errors.js";
import { Pool } from "./pool.js";
import type { PoolItem } from "./pool-item.js";
import { PoolManager } from "./pool-manager.js";
import type { PoolOptions, PoolSettings } from "./pool-options.js";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

let made: Item[] = [];

class Item implements PoolItem {
  readonly id = `item-${made.push(this)}`;
  destroyed = 0;
  resets = 0;
  end!: () => void;
  readonly ended = new Promise<void>((resolve) => {
    this.end = resolve;
  });
  isHealthy = async () => true;
  destroy = async () => {
    this.destroyed += 1;
  };
  reset?: () => Promise<boolean>;
}

class ResettableItem extends Item {
  override reset = async () => {
    this.resets += 1;
    return true;
  };
}

function createPool(
  settings: Partial<PoolSettings> = {},
  create: () => Promise<Item> = async () => new Item(),
) {
  made = [];
  return new Pool<Item>({ create }, settings);
}

const turn = () => vi.advanceTimersByTimeAsync(0);

describe("a pool", () => {
  it("keeps as many ready as it should, and says whether one was", async () => {
    const pool = createPool({ minInstances: 1, maxInstances: 3 });
    pool.start();
    await turn();
    expect(pool.status()).toMatchObject({ idle: 1, created: 1 });
    const first = await pool.acquire();
    const second = await pool.acquire({ create: async () => new Item() });
    expect([first.wasReady, second.wasReady]).toEqual([true, false]);
    await turn();
    expect(pool.status()).toMatchObject({ idle: 1, busy: 2, hits: 1, misses: 1, created: 3 });
  });

  it("makes nothing ahead with a minimum of 0, and on demand all the same", async () => {
    const pool = createPool({ minInstances: 0 });
    pool.start();
    await turn();
    expect(made).toEqual([]);
    const lease = await pool.acquire();
    await lease.release();
    await turn();
    expect(pool.status()).toMatchObject({ created: 1, destroyed: 1, instances: [] });
  });

  it("gives everybody of a session the same one, until the last has released it", async () => {
    const pool = createPool({ minInstances: 0 });
    const [a, b] = await Promise.all([pool.acquire({ sessionId: "s" }), pool.acquire({ sessionId: "s" })]);
    const c = await pool.acquire({ sessionId: "s" });
    expect([a.item.id, b.item.id, c.item.id, made.length]).toEqual(["item-1", "item-1", "item-1", 1]);
    await a.release();
    await a.release();
    await b.release();
    expect(pool.status().instances).toEqual([
      { id: "item-1", state: "busy", ageMs: 0, uses: 1, sessionId: "s" },
    ]);
    await c.release();
    await turn();
    expect((await pool.acquire({ sessionId: "s" })).item.id).toBe("item-2");
  });

  it("resets what can be, as often as it may, and not what its caller wants destroyed", async () => {
    const pool = createPool({ minInstances: 0, maxUses: 2 }, async () => new ResettableItem());
    const ids: string[] = [];
    for (const reusable of [true, true, true, false, true]) {
      const { item, release } = await pool.acquire();
      ids.push(item.id);
      await release({ reusable });
      await turn();
    }
    expect(ids).toEqual(["item-1", "item-1", "item-1", "item-2", "item-3"]);
    expect(made.map(({ resets, destroyed }) => [resets, destroyed])).toEqual([
      [2, 1],
      [0, 1],
      [1, 0],
    ]);
  });

  it("replaces an idle one that is too old, and does not reset such a one", async () => {
    const pool = createPool({ minInstances: 1, maxAgeMs: 1000 }, async () => new ResettableItem());
    pool.start();
    await turn();
    await vi.advanceTimersByTimeAsync(1000);
    expect([made[0]?.destroyed, pool.status().idle, made.length]).toEqual([1, 1, 2]);
    const lease = await pool.acquire();
    await vi.advanceTimersByTimeAsync(1000);
    await lease.release();
    await turn();
    expect([made[1]?.resets, made[1]?.destroyed]).toEqual([0, 1]);
  });

  it("tells a caller why none could be made, and asks later and later in the background", async () => {
    const times: number[] = [];
    const pool = createPool({ minInstances: 1, maxInstances: 1 }, async () => {
      times.push(performance.now());
      throw new SandboxError("IMAGE_MISSING", "no image", { hint: "build it" });
    });
    await expect(pool.acquire()).rejects.toMatchObject({ code: "IMAGE_MISSING", hint: "build it" });
    expect(pool.status()).toMatchObject({
      failures: 1,
      lastFailure: { code: "IMAGE_MISSING", message: "no image" },
      nextAttemptAt: expect.any(Date),
    });
    await vi.advanceTimersByTimeAsync(300_000);
    const waits = times.slice(1).map((time, index) => time - times[index]!);
    expect(waits.length).toBeGreaterThan(8);
    expect(waits.length).toBeLessThan(30);
    for (const [index, wait] of waits.entries()) {
      const longest = Math.min(30_000, 500 * 2 ** index);
      expect(wait).toBeGreaterThanOrEqual(longest / 2);
      expect(wait).toBeLessThanOrEqual(longest + 2);
    }
  });

  it("does not make again and again what ends as soon as it is made", async () => {
    const pool = createPool({ minInstances: 1 }, async () => {
      const item = new Item();
      item.end();
      return item;
    });
    pool.start();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(made.length).toBeGreaterThan(3);
    expect(made.length).toBeLessThan(15);
    expect(made.every(({ destroyed }) => destroyed === 1)).toBe(true);
  });

  it("has got over an outage once it has refilled itself, without a request", async () => {
    let isDown = true;
    const pool = createPool({ minInstances: 2 }, async () => {
      if (isDown) throw new SandboxError("BACKEND_UNAVAILABLE", "down");
      return new Item();
    });
    pool.start();
    await vi.advanceTimersByTimeAsync(60_000);
    isDown = false;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(pool.status()).toMatchObject({ idle: 2 });
    isDown = true;
    made[0]?.end();
    await turn();
    const { nextAttemptAt } = pool.status();
    expect(nextAttemptAt!.getTime() - Date.now()).toBeLessThanOrEqual(500);
  });

  it("has got over an outage as soon as it can hand something out", async () => {
    let isDown = true;
    const pool = createPool({ minInstances: 3 }, async () => {
      if (isDown) throw new SandboxError("BACKEND_UNAVAILABLE", "down");
      return new Item();
    });
    pool.start();
    await vi.advanceTimersByTimeAsync(60_000);
    isDown = false;
    const lease = await pool.acquire();
    await lease.release();
    await turn();
    expect(pool.status()).toMatchObject({ idle: 3 });
  });

  it("gives up what resets left over, after a while, and keeps its minimum", async () => {
    const pool = createPool({ minInstances: 1, surplusMs: 1000 }, async () => new ResettableItem());
    pool.start();
    await turn();
    for (const lease of [await pool.acquire(), await pool.acquire()]) await lease.release();
    await vi.advanceTimersByTimeAsync(999);
    expect(pool.status().idle).toBeGreaterThan(1);
    const held = await pool.acquire();
    await vi.advanceTimersByTimeAsync(1);
    await held.release();
    await vi.advanceTimersByTimeAsync(2000);
    expect(pool.status()).toMatchObject({ idle: 1, instances: [{ state: "idle" }] });
    expect(made.filter(({ destroyed }) => destroyed === 0)).toHaveLength(1);
  });

  it("makes room for what is made to order by giving up something idle", async () => {
    const pool = createPool({ minInstances: 1, maxInstances: 1 });
    pool.start();
    await turn();
    const lease = await pool.acquire({ sessionId: "s", create: async () => new Item() });
    expect([lease.item.id, made[0]?.destroyed]).toEqual(["item-2", 1]);
  });

  it("refuses who waits too long, who has given up, and what it never handed out", async () => {
    const pool = createPool({ minInstances: 0, maxInstances: 1, acquireTimeoutMs: 5000 });
    await pool.acquire();
    const late = expect(pool.acquire()).rejects.toMatchObject({
      code: "POOL_EXHAUSTED",
      message: "No sandbox was free within 5 s: of 1, 1 in use",
      hint: expect.stringContaining("maxInstances"),
    });
    const abort = new AbortController();
    const cancelled = expect(pool.acquire({ signal: abort.signal })).rejects.toMatchObject({
      code: "CANCELLED",
    });
    abort.abort();
    await vi.advanceTimersByTimeAsync(5000);
    await Promise.all([late, cancelled]);
    await expect(pool.acquire({ signal: abort.signal })).rejects.toMatchObject({ code: "CANCELLED" });
    await expect(pool.acquire({ timeoutMs: Number.NaN })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    const strange = { item: made[0]!, wasReady: true, release: async () => undefined };
    await expect(pool.release(strange)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(pool.status()).toMatchObject({ waiting: 0, timeouts: 1, busy: 1 });
  });

  it("when it stops, waits for what is in use, and no longer than it says", async () => {
    const pool = createPool({ minInstances: 2, maxInstances: 3, drainTimeoutMs: 1000 });
    const held = await pool.acquire();
    const forgotten = await pool.acquire();
    await turn();
    const stopped = pool.stop();
    await expect(pool.acquire()).rejects.toMatchObject({ code: "SANDBOX_NOT_RUNNING" });
    await held.release();
    await vi.advanceTimersByTimeAsync(999);
    expect([held.item.destroyed, forgotten.item.destroyed]).toEqual([1, 0]);
    await vi.advanceTimersByTimeAsync(1);
    await stopped;
    await forgotten.release();
    expect(made.map(({ destroyed }) => destroyed)).toEqual(made.map(() => 1));
  });

  it("says so when something cannot be removed", async () => {
    const pool = createPool({ minInstances: 1, maxInstances: 1, destroyTimeoutMs: 2000 }, async () => {
      const item = new Item();
      item.destroy = () => new Promise(() => undefined);
      return item;
    });
    pool.start();
    await turn();
    const stopped = expect(pool.stop()).rejects.toMatchObject({ code: "INTERNAL" });
    await vi.advanceTimersByTimeAsync(2000);
    await stopped;
    expect(pool.status()).toMatchObject({
      leaving: 1,
      lastFailure: { message: "Removing a sandbox took longer than 2 s" },
    });
  });
});

describe("a pool without requests", () => {
  it("keeps no process alive, whatever it does", async () => {
    vi.useRealTimers();
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
    const hang = () => new Promise<never>(() => undefined);
    const before = timers();
    const idle = createPool({ minInstances: 1 });
    const failing = createPool({ minInstances: 1 }, () => Promise.reject(new Error("no")));
    const starting = createPool({ minInstances: 1 }, hang);
    for (const pool of [idle, failing, starting]) pool.start();
    const leaving = createPool({ minInstances: 0 }, async () => Object.assign(new Item(), { destroy: hang }));
    const resetting = createPool({ minInstances: 0 }, async () => Object.assign(new Item(), { reset: hang }));
    for (const pool of [leaving, resetting]) await (await pool.acquire()).release();
    expect([idle, failing, starting, leaving, resetting].map((pool) => pool.status())).toMatchObject([
      { idle: 1 },
      { failures: 1 },
      { acquiring: 1 },
      { leaving: 1 },
      { resetting: 1 },
    ]);
    expect(timers()).toBe(before);
  });
});

describe("PoolManager", () => {
  it.each<[string, PoolOptions]>([
    ["a maximum of 0", { maxInstances: 0 }],
    ["a minimum above the maximum", { minInstances: 3, maxInstances: 2 }],
    ["a negative minimum", { minInstances: -1 }],
    ["half a sandbox", { maxInstances: 1.5 }],
    ["no number", { maxInstances: Number.NaN }],
    ["a text", { maxInstances: "2" as unknown as number }],
    ["negative uses", { maxUses: -1 }],
    ["no age", { maxAgeMs: 0 }],
    ["a wait that no timer can wait", { acquireTimeoutMs: Number.POSITIVE_INFINITY }],
  ])("refuses %s at once", (_, options) => {
    expect(() => new PoolManager(options)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });

  it("takes a maximum below the usual minimum as both", () => {
    const manager = new PoolManager({ maxInstances: 1 });
    expect(manager.bind({ create: async () => new Item() }).status()).toMatchObject({ minInstances: 1 });
  });

  it("belongs to one manager, and is of no use without", async () => {
    const manager = new PoolManager();
    await expect(manager.acquire()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    manager.bind({ create: async () => new Item() });
    expect(() => manager.bind({ create: async () => new Item() })).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
    const lease = await manager.acquire();
    await manager.release(lease);
    await manager.stop();
    await expect(manager.acquire()).rejects.toMatchObject({ code: "SANDBOX_NOT_RUNNING" });
  });
});

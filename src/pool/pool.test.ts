import { describe, expect, it } from "vitest";
import { Pool } from "./pool.js";
import type { PoolItem } from "./pool-item.js";

describe("a pool", () => {
  it("hands out what it has prepared, to one session at a time", async () => {
    let made = 0;
    const create = async (): Promise<PoolItem> => ({
      id: `item-${++made}`,
      ended: new Promise<void>(() => undefined),
      isHealthy: async () => true,
      destroy: async () => undefined,
    });
    const pool = new Pool({ create }, { minInstances: 1, maxInstances: 2 });
    pool.start();
    await new Promise((resolve) => setImmediate(resolve));
    const [a, again, b] = await Promise.all(["a", "a", "b"].map((sessionId) => pool.acquire({ sessionId })));
    expect([a?.item.id, again?.item.id, b?.item.id]).toEqual(["item-1", "item-1", "item-2"]);
    expect([a?.wasReady, b?.wasReady]).toEqual([true, false]);
    await Promise.all([a, again, b].map((lease) => lease?.release()));
    await pool.stop();
    expect(pool.status()).toMatchObject({ hits: 2, misses: 1, created: made, destroyed: made });
  });
});

import { afterEach, beforeEach, expect, it } from "vitest";
import { onBothDatabases } from "../../../test/setup/test-databases.js";
import type { Database } from "./database.js";
import { openDatabase } from "./open-store.js";

onBothDatabases("a database", (databases) => {
  let database: Database;
  let other: Database;

  beforeEach(async () => {
    database = await openDatabase(databases.url);
    other = await openDatabase(databases.url);
    await database.run("CREATE TABLE counters (id TEXT PRIMARY KEY, n BIGINT NOT NULL)");
    await database.run("INSERT INTO counters VALUES ('a', 0), ('b', 0)");
  });

  afterEach(async () => {
    await database.close();
    await other.close();
  });

  const read = async (id: string) =>
    (await other.query<{ n: number }>("SELECT n FROM counters WHERE id = ?", [id]))[0]?.n;

  it("does all of a transaction", async () => {
    const result = await database.transaction(async (statements) => {
      expect(await statements.run("UPDATE counters SET n = n + 1")).toBe(2);
      return "done";
    });
    expect([result, await read("a"), await read("b")]).toEqual(["done", 1, 1]);
  });

  it("does nothing of a transaction that fails, and goes on", async () => {
    const failing = database.transaction(async (statements) => {
      await statements.run("UPDATE counters SET n = n + 1");
      throw new Error("changed my mind");
    });
    await expect(failing).rejects.toThrow("changed my mind");
    const conflicting = database.transaction(async (statements) => {
      await statements.run("UPDATE counters SET n = n + 1");
      await statements.run("INSERT INTO counters VALUES ('a', 0)");
    });
    await expect(conflicting).rejects.toMatchObject({ code: "CONFLICT" });
    expect([await read("a"), await read("b")]).toEqual([0, 0]);
    expect(await database.run("UPDATE counters SET n = 5")).toBe(2);
  });

  it("lets no transaction see or undo what another does at the same time", async () => {
    const increment = (each: Database, id: string) =>
      each.transaction(async (statements) => {
        const [row] = await statements.query<{ n: number }>("SELECT n FROM counters WHERE id = ?", [id]);
        await statements.run("UPDATE counters SET n = ? WHERE id = ?", [row!.n + 1, id]);
      });
    await Promise.all(
      Array.from({ length: 30 }, (_, index) => increment(index % 2 === 0 ? database : other, "a")),
    );
    expect(await read("a")).toBe(30);
  });

  it("has transactions wait for each other where both orders cannot be right", async () => {
    // Each reads what the other writes: one after the other, the sum is 3; side by side it would be 2.
    const addTo = (each: Database, to: string, from: string) =>
      each.transaction(async (statements) => {
        const [row] = await statements.query<{ n: number }>("SELECT n FROM counters WHERE id = ?", [from]);
        await statements.run("UPDATE counters SET n = ? WHERE id = ?", [row!.n + 1, to]);
      });
    for (let round = 0; round < 10; round++) {
      await database.run("UPDATE counters SET n = 0");
      await Promise.all([addTo(database, "a", "b"), addTo(other, "b", "a")]);
      expect((await read("a"))! + (await read("b"))!).toBe(3);
    }
  });

  it("keeps what comes during a transaction out of it", async () => {
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const failing = database.transaction(async (statements) => {
      await statements.run("UPDATE counters SET n = 1 WHERE id = 'a'");
      await gate;
      throw new Error("undone");
    });
    const outside = database.run("UPDATE counters SET n = 2 WHERE id = 'b'");
    release();
    await expect(failing).rejects.toThrow("undone");
    await outside;
    expect([await read("a"), await read("b")]).toEqual([0, 2]);
  });

  it("has a clock in milliseconds", async () => {
    const before = Date.now();
    const [row] = await database.query<{ now: number }>(`SELECT ${database.clock} AS now`);
    expect(row!.now).toBeGreaterThanOrEqual(before - 1);
    expect(row!.now).toBeLessThanOrEqual(Date.now() + 1);
  });

  it("keeps whole numbers exactly, and refuses others", async () => {
    for (const n of [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 0, 2 ** 31]) {
      await database.run("UPDATE counters SET n = ? WHERE id = 'a'", [n]);
      expect(await read("a")).toBe(n);
    }
    for (const n of [0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])
      await expect(database.run("UPDATE counters SET n = ?", [n])).rejects.toMatchObject({
        code: "INVALID_ARGUMENT",
      });
  });

  it("says so when it is closed, and can be closed several times", async () => {
    await Promise.all([database.close(), database.close()]);
    await database.close();
    const closed = { code: "STORE_FAILED", message: "The store is closed" };
    await expect(database.query("SELECT 1 AS one")).rejects.toMatchObject(closed);
    await expect(database.run("UPDATE counters SET n = 1")).rejects.toMatchObject(closed);
    await expect(database.transaction(async () => 1)).rejects.toMatchObject(closed);
  });
});

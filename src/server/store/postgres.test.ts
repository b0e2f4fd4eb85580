import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { createDaemonDirectory, removeDaemonDirectory } from "../../../test/setup/daemon-directory.js";
import { requires } from "../../../test/setup/requires.js";
import { spawnPostgres, type TestPostgres } from "../../../test/setup/spawn-postgres.js";
import { openStore, type Store } from "./index.js";
import { openDatabase } from "./open-store.js";

const { describe, it } = requires("postgresql");
const LOST = {
  code: "STORE_FAILED",
  message: expect.stringMatching(/^PostgreSQL (?:cannot be reached|is starting or stopping)/),
};

describe("PostgreSQL", () => {
  let directory: string;
  let postgres: TestPostgres;

  beforeAll(async () => {
    directory = createDaemonDirectory();
    postgres = await spawnPostgres(join(directory, "postgres"));
  });

  afterAll(async () => {
    await postgres?.stop("SIGINT");
    await removeDaemonDirectory(directory);
  });

  it.each([
    [
      "a wrong password",
      (url: string) => url.replace("of-the-tests", "hunter2"),
      "refuses the user or the password",
    ],
    ["an unknown database", (url: string) => url.replace("/postgres?", "/hunter2?"), "has no such database"],
    ["a port without a listener", (url: string) => `${url}/hunter2`, "cannot be reached"],
    ["an unknown name", () => "postgres://u:hunter2@nobody.invalid/db", "cannot be reached"],
  ])("is not opened with %s, and the URL is not told", async (_, change, why) => {
    const error = await openStore({ url: change(postgres.url) }).catch((caught) => caught);
    expect(error).toMatchObject({ code: "STORE_FAILED", message: expect.stringContaining(why) });
    expect(error.retryable).toBe(true);
    expect(`${error.message} ${error.hint}`).not.toContain("hunter2");
  });

  it("ends a statement that takes too long, and goes on", async () => {
    const database = await openDatabase(`${postgres.url}&statement_timeout=100`);
    await expect(database.query("SELECT pg_sleep(60)")).rejects.toMatchObject({
      code: "STORE_FAILED",
      message: "PostgreSQL took too long",
    });
    expect(await database.query("SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await database.close();
  });

  it("does not let a process that stopped in the middle of a transaction hold up the others", async () => {
    const url = `${postgres.url}&idle_in_transaction_session_timeout=100`;
    const [stopped, other] = [await openDatabase(url), await openDatabase(postgres.url)];
    await other.run("CREATE TABLE held (n BIGINT)");
    await other.run("INSERT INTO held VALUES (1)");
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    let hasLock = () => {};
    const locked = new Promise<void>((resolve) => {
      hasLock = resolve;
    });
    const holding = stopped.transaction(async (statements) => {
      await statements.run("UPDATE held SET n = 2");
      hasLock();
      await gate;
      await statements.run("UPDATE held SET n = 3");
    });
    await locked;
    expect(await other.run("UPDATE held SET n = n + 10")).toBe(1);
    release();
    await expect(holding).rejects.toMatchObject({ code: "STORE_FAILED" });
    expect(await stopped.query("SELECT n FROM held")).toEqual([{ n: 11 }]);
    await Promise.all([stopped.close(), other.close()]);
  });

  it("gives up on a transaction that others are always in the way of", async () => {
    const [a, b] = [await openDatabase(postgres.url), await openDatabase(postgres.url)];
    await a.run("CREATE TABLE busy (n BIGINT)");
    await a.run("INSERT INTO busy VALUES (0)");
    let attempts = 0;
    const unlucky = a.transaction(async (statements) => {
      attempts++;
      await statements.query("SELECT n FROM busy");
      await b.run("UPDATE busy SET n = n + 1");
      await statements.run("UPDATE busy SET n = 0");
    });
    await expect(unlucky).rejects.toMatchObject({
      code: "STORE_FAILED",
      message: "Other writers blocked this change for too long",
    });
    expect(attempts).toBeGreaterThan(10);
    expect(await a.query("SELECT n FROM busy")).toEqual([{ n: attempts }]);
    await Promise.all([a.close(), b.close()]);
  });

  it("may go and come back: meanwhile every call says so, and then they work again", async () => {
    const store = await openStore({ url: postgres.url });
    await store.sessions.create("acme", { name: "before", settings: {} });
    await postgres.stop("SIGINT");
    await expect(store.ping()).rejects.toMatchObject(LOST);
    await expect(store.sessions.get("acme", "before")).rejects.toMatchObject(LOST);
    await expect(store.sessions.create("acme", { name: "during", settings: {} })).rejects.toMatchObject(LOST);
    await postgres.start();
    await store.ping();
    await store.sessions.create("acme", { name: "after", settings: {} });
    expect((await store.sessions.list("acme")).items.map(({ name }) => name).sort()).toEqual([
      "after",
      "before",
    ]);
    await store.close();
  });

  it("may crash under load: what was said to be written is there, and nothing is there by half", async () => {
    const store = await openStore({ url: postgres.url });
    const written: string[] = [];
    let isOver = false;
    const errors: unknown[] = [];
    const load = Array.from({ length: 8 }, (_, writer) =>
      writeUntil(store, `w${writer}`, () => isOver, written, errors),
    );
    const crash = (async () => {
      while (written.length < 40) await store.ping();
      await postgres.stop("SIGQUIT");
      const known = written.length;
      await postgres.start();
      while (written.length < known + 40) await store.ping().catch(() => undefined);
      isOver = true;
    })();
    await Promise.all([...load, crash]);
    expect(errors.length).toBeGreaterThan(0);
    for (const error of errors) expect(error).toMatchObject(LOST);
    for (const name of written) expect(await store.sessions.get("load", name)).toMatchObject({ name });
    const database = await openDatabase(postgres.url);
    expect(
      await database.query("SELECT key FROM idempotency_keys WHERE session NOT IN (SELECT id FROM sessions)"),
    ).toEqual([]);
    await database.close();
    await store.close();
  });
});

/** Each again and again under the same key, as a client would, until it is said to be written. */
async function writeUntil(
  { sessions }: Store,
  writer: string,
  isOver: () => boolean,
  written: string[],
  errors: unknown[],
): Promise<void> {
  for (let index = 0; !isOver(); index++) {
    const name = `${writer}-${index}`;
    const create = () =>
      sessions.create("load", { name, settings: {}, idempotency: { key: name, request: name } });
    for (;;) {
      const error = await create().then(
        () => undefined,
        (caught: unknown) => caught,
      );
      if (error === undefined) break;
      errors.push(error);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    written.push(name);
  }
}

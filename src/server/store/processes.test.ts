import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, expect, it } from "vitest";
import { onBothDatabases } from "../../../test/setup/test-databases.js";
import type { Store } from "./open-store.js";
import { openDatabase } from "./open-store.js";

const WRITER = fileURLToPath(new URL("../../../test/setup/store-writer.mjs", import.meta.url));

interface Written {
  readonly index: number;
  readonly id: string;
  readonly owner: string;
  readonly execution: string;
}

onBothDatabases("several processes on one store", (databases) => {
  const running = new Set<ChildProcess>();

  afterEach(() => {
    for (const child of running) child.kill("SIGKILL");
  });

  /** Resolves when it has ended: by itself, or killed as soon as it has said so many lines. */
  async function write(
    name: string,
    { count = 0, killAfter = Number.POSITIVE_INFINITY },
  ): Promise<Written[]> {
    const child = spawn(process.execPath, [WRITER, databases.url, name, `${count}`], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    running.add(child);
    let complaint = "";
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      complaint += chunk;
    });
    const lines: string[] = [];
    createInterface(child.stdout).on("line", (line) => {
      lines.push(line);
      if (lines.length === killAfter) child.kill("SIGKILL");
    });
    const [code] = await once(child, "close");
    running.delete(child);
    expect([code, complaint]).toEqual([killAfter === Number.POSITIVE_INFINITY ? 0 : null, ""]);
    return lines.slice(1).map((line) => JSON.parse(line));
  }

  async function expectWhole(store: Store, written: readonly Written[]): Promise<void> {
    for (const { id, owner, execution, index } of written) {
      expect(await store.sessions.getById("acme", id)).toMatchObject({ server: owner, state: "active" });
      expect(await store.executions.get("acme", execution)).toMatchObject({
        state: "done",
        result: { index },
      });
    }
    const database = await openDatabase(databases.url);
    const halves = await database.query(
      `SELECT key FROM idempotency_keys WHERE session NOT IN (SELECT id FROM sessions)
       UNION ALL SELECT id FROM sessions WHERE id NOT IN (SELECT session FROM idempotency_keys)`,
    );
    const check = database.kind === "sqlite" ? await database.query("PRAGMA integrity_check") : [];
    await database.close();
    expect(halves).toEqual([]);
    expect(check).toEqual(database.kind === "sqlite" ? [{ integrity_check: "ok" }] : []);
  }

  it("agree on what was made, and on whose it is", async () => {
    const writers = ["a", "b", "c"];
    const written = await Promise.all(writers.map((name) => write(name, { count: 30 })));
    const store = await databases.open();
    await expectWhole(store, written.flat());
    for (let index = 0; index < 30; index++) {
      const seen = written.map((lines) => lines[index]!);
      expect(new Set(seen.map(({ id, owner }) => `${id} ${owner}`)).size).toBe(1);
    }
    expect((await store.sessions.list("acme", { limit: 1000 })).items).toHaveLength(30);
  });

  it("lose nothing that was said to be written when they are killed in the middle", async () => {
    const written: Written[] = [];
    for (const killAfter of [1, 2, 5, 17, 40]) {
      const [killed, other] = await Promise.all([
        write("killed", { killAfter }),
        write("other", { count: 10 }),
      ]);
      written.push(...killed, ...other);
      const store = await databases.open();
      await expectWhole(store, written);
      const left = await store.executions.interruptAllOf("killed");
      expect(left.length).toBeLessThanOrEqual(1);
    }
  });
});

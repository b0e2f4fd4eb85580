import { expect, it } from "vitest";
import { onBothDatabases } from "../../../test/setup/test-databases.js";
import type { ExecutionNote, Json } from "./records.js";

/** One that runs, and with its end. */
const running = (execution: Partial<ExecutionNote> & { id: string }): ExecutionNote => ({
  org: "acme",
  server: "a",
  tool: "run_code",
  startedAt: 1000,
  ...execution,
});
const ended = (execution: Partial<ExecutionNote> & { id: string }, result: Json = null): ExecutionNote => ({
  ...running(execution),
  end: { at: 2000, result },
});

onBothDatabases("executions", (database) => {
  it("run, and are done once, for their org only", async () => {
    const { executions } = await database.open();
    const id = "0123456789abcdef01234567";
    await executions.record([running({ id, session: "s" })]);
    const begun = {
      ...{ id, org: "acme", session: "s", server: "a", tool: "run_code", state: "running" },
      ...{ startedAt: 1000, endedAt: undefined, result: null },
    };
    expect(await executions.get("acme", id)).toEqual(begun);
    expect(await executions.get("other", id)).toBeUndefined();
    const result = { reason: "exited", exitCode: 0 };
    await executions.record([ended({ id, session: "s" }, result)]);
    const done = { ...begun, state: "done", endedAt: 2000, result };
    for (const late of [ended({ id }, { reason: "timeout" }), running({ id })])
      await executions.record([late]);
    expect(await (await database.open()).executions.get("acme", id)).toEqual(done);
  });

  it("are written together or not at all, also with their end at once, and apart in each org", async () => {
    const { executions } = await database.open();
    const broken = { ...running({ id: "3" }), tool: "half of \ud800" };
    const some = [running({ id: "1" }), ended({ id: "2" }, { index: 2 }), running({ id: "1", org: "other" })];
    await expect(executions.record([...some, broken])).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    expect((await executions.list("acme")).items).toEqual([]);
    await executions.record(some);
    await executions.record([]);
    expect(await executions.get("acme", "2")).toMatchObject({ state: "done", result: { index: 2 } });
    expect([await executions.get("acme", "1"), await executions.get("other", "1")]).toMatchObject([
      { org: "acme" },
      { org: "other" },
    ]);
  });

  it("that a server left running are interrupted when it starts again, and each is told once", async () => {
    const stores = await Promise.all([database.open(), database.open()]);
    const [{ executions }] = stores as [(typeof stores)[0], unknown];
    await executions.record([running({ id: "1" }), ended({ id: "2" }), running({ id: "3", server: "b" })]);
    const interrupted = await Promise.all(stores.map((store) => store.executions.interruptAllOf("a")));
    expect(interrupted.flat()).toEqual([
      { ...(await executions.get("acme", "1"))!, state: "interrupted", endedAt: expect.any(Number) },
    ]);
    await executions.record([ended({ id: "1" }, { reason: "exited" })]);
    expect(await executions.get("acme", "1")).toMatchObject({ state: "interrupted", result: null });
    expect(await executions.get("acme", "3")).toMatchObject({ state: "running" });
  });

  it("are listed by org, session and state, in pages", async () => {
    const { executions } = await database.open();
    await executions.record([
      ended({ id: "1", session: "s" }),
      running({ id: "2", session: "s" }),
      running({ id: "3", session: "t" }),
      running({ id: "4", session: "s", org: "other" }),
    ]);
    const ids = async (request: object) =>
      (await executions.list("acme", request)).items.map(({ id }) => id).sort();
    expect(await ids({})).toEqual(["1", "2", "3"]);
    expect(await ids({ session: "s" })).toEqual(["1", "2"]);
    expect(await ids({ session: "s", state: "running" })).toEqual(["2"]);
    const first = await executions.list("acme", { limit: 2 });
    const second = await executions.list("acme", { limit: 2, cursor: first.next });
    expect([...first.items, ...second.items]).toEqual((await executions.list("acme")).items);
    expect(second.next).toBeUndefined();
  });

  it("are forgotten by age and by number in each org, but not while they run", async () => {
    const { executions } = await database.open();
    const startedAt = Date.now();
    for (const org of ["acme", "other"])
      await executions.record([
        running({ org, id: "0", startedAt }),
        ...["1", "2", "3", "4", "5"].map((id) => ended({ org, id, startedAt })),
      ]);
    const left = async (org: string) => (await executions.list(org)).items.map(({ id }) => id);
    const all = await left("acme");
    expect(await executions.prune({ before: Date.now() - 60_000, keep: 6 })).toBe(0);
    expect(await executions.prune({ keep: 3 })).toBeGreaterThanOrEqual(4);
    expect(await left("acme")).toEqual(all.filter((id, index) => index < 3 || id === "0"));
    expect(await left("other")).toHaveLength((await left("acme")).length);
    await executions.prune({ before: Date.now() + 1 });
    expect(await left("acme")).toEqual(["0"]);
    expect(await left("other")).toEqual(["0"]);
  });

  it("are forgotten also when there are many", async () => {
    const { executions } = await database.open();
    await executions.record(Array.from({ length: 1100 }, (_, index) => running({ id: `${index}` })));
    expect(await executions.interruptAllOf("a")).toHaveLength(1100);
    expect(await executions.prune({ keep: 50 })).toBe(1050);
    expect((await executions.list("acme", { limit: 1000 })).items).toHaveLength(50);
  });
});

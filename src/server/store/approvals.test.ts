import { expect, it } from "vitest";
import { onBothDatabases } from "../../../test/setup/test-databases.js";

const request = { tool: "shell_exec", code: "rm -rf build", riskLevel: "high" };
const SOON = 60_000;

onBothDatabases("approvals", (database) => {
  it("are pending for their org until they are decided", async () => {
    const { approvals } = await database.open();
    const expiresAt = Date.now() + SOON;
    const added = await approvals.add("acme", { id: "1", session: "s", server: "a", request, expiresAt });
    expect(added).toEqual({
      id: "1",
      org: "acme",
      session: "s",
      server: "a",
      request,
      createdAt: expect.any(Number),
      expiresAt,
      outcome: undefined,
    });
    const other = await database.open();
    expect(await other.approvals.listPending("acme")).toEqual([added]);
    expect(await other.approvals.listPending("other")).toEqual([]);
    expect(await other.approvals.get("other", "1")).toBeUndefined();
    expect(await other.approvals.decide("other", "1", { decision: "approved" })).toBeUndefined();
    const decided = await other.approvals.decide("acme", "1", {
      decision: "edited",
      by: "ann",
      answer: { code: "ls" },
    });
    const outcome = { decision: "edited", by: "ann", answer: { code: "ls" }, at: expect.any(Number) };
    expect(decided).toEqual({ accepted: true, approval: { ...added, outcome } });
    expect(await approvals.get("acme", "1")).toEqual(decided!.approval);
    expect(await approvals.listPending("acme")).toEqual([]);
    expect(await approvals.listDecided("a", ["1", "2"])).toEqual([decided!.approval]);
    expect(await approvals.listDecided("b", ["1"])).toEqual([]);
    expect(await approvals.listDecided("a", [])).toEqual([]);
  });

  it("have an id that is used once in an org", async () => {
    const { approvals } = await database.open();
    const approval = { id: "1", server: "a", request, expiresAt: Date.now() + SOON };
    await approvals.add("acme", approval);
    await approvals.add("other", approval);
    await expect(approvals.add("acme", approval)).rejects.toMatchObject({ code: "CONFLICT" });
  });

  it("are decided by who comes first, and the others are told who that was", async () => {
    const stores = await Promise.all([database.open(), database.open()]);
    for (let round = 0; round < 5; round++) {
      const id = `${round}`;
      await stores[0]!.approvals.add("acme", { id, server: "a", request, expiresAt: Date.now() + SOON });
      const decided = await Promise.all(
        ["ann", "bob", "cleo", "dan"].map((by, index) =>
          stores[index % 2]!.approvals.decide("acme", id, {
            decision: index % 2 === 0 ? "approved" : "rejected",
            by,
          }),
        ),
      );
      const winners = ["ann", "bob", "cleo", "dan"].filter((_, index) => decided[index]!.accepted);
      expect(winners).toHaveLength(1);
      expect(decided.map((each) => each!.approval.outcome!.by)).toEqual(Array(4).fill(winners[0]));
    }
  });

  it("expire: a late answer counts for nothing", async () => {
    const { approvals } = await database.open();
    await approvals.add("acme", { id: "1", server: "a", request, expiresAt: Date.now() - 1 });
    expect(await approvals.listPending("acme")).toEqual([]);
    const late = await approvals.decide("acme", "1", { decision: "approved", by: "ann" });
    const outcome = { decision: "expired", by: undefined, answer: null, at: expect.any(Number) };
    expect(late).toMatchObject({ accepted: false, approval: { outcome } });
    expect(await approvals.decide("acme", "1", { decision: "rejected", by: "bob" })).toEqual(late);
  });

  it("are withdrawn by the server that asked, also when their time is over", async () => {
    const { approvals } = await database.open();
    await approvals.add("acme", { id: "1", server: "a", request, expiresAt: Date.now() - 1 });
    expect(await approvals.decide("acme", "1", { decision: "cancelled" })).toMatchObject({
      accepted: true,
      approval: { outcome: { decision: "cancelled" } },
    });
  });

  it("that a server left pending are interrupted when it starts again, and each is told once", async () => {
    const stores = await Promise.all([database.open(), database.open()]);
    const [{ approvals }] = stores as [(typeof stores)[0], unknown];
    for (const [id, server] of [
      ["1", "a"],
      ["2", "a"],
      ["3", "b"],
    ] as const)
      await approvals.add("acme", { id, server, request, expiresAt: Date.now() + SOON });
    await approvals.decide("acme", "2", { decision: "approved", by: "ann" });
    expect(await approvals.listUndecidedOf("a")).toEqual([await approvals.get("acme", "1")]);
    const rejected = await Promise.all(stores.map((store) => store.approvals.rejectAllOf("a")));
    const outcome = { decision: "interrupted", by: undefined, answer: null, at: expect.any(Number) };
    expect(rejected.flat()).toEqual([{ ...(await approvals.get("acme", "1"))!, outcome }]);
    expect((await approvals.listPending("acme")).map(({ id }) => id)).toEqual(["3"]);
    expect(await approvals.decide("acme", "1", { decision: "approved", by: "ann" })).toMatchObject({
      accepted: false,
      approval: { outcome },
    });
  });

  it("of all servers are seen by watchers of an org, decided or not, and of no other org", async () => {
    const { approvals } = await database.open();
    for (const [org, id, server, expiresAt] of [
      ["acme", "1", "a", 5000],
      ["acme", "2", "b", 5000],
      ["acme", "3", "b", 1000],
      ["acme", "4", "b", 1000],
      ["other", "5", "b", 5000],
    ] as const)
      await approvals.add(org, { id, server, request, expiresAt });
    await approvals.decide("acme", "2", { decision: "cancelled" });
    await approvals.decide("acme", "3", { decision: "expired" });
    const states = await approvals.listStates("acme", { expiringAfter: 4999, ids: ["1", "3", "5", "none"] });
    expect(states).toEqual([
      { id: "1", isDecided: false },
      { id: "2", isDecided: true },
      { id: "3", isDecided: true },
    ]);
    const records = await approvals.getAll("acme", ["3", "1", "5", "none"]);
    expect(records).toEqual([await approvals.get("acme", "1"), await approvals.get("acme", "3")]);
    expect(await approvals.getAll("acme", [])).toEqual([]);
  });

  it("are forgotten when their time was over long ago", async () => {
    const { approvals } = await database.open();
    await approvals.add("acme", { id: "old", server: "a", request, expiresAt: 1000 });
    await approvals.add("acme", { id: "new", server: "a", request, expiresAt: 3000 });
    expect(await approvals.prune(2000)).toBe(1);
    expect(await approvals.get("acme", "old")).toBeUndefined();
    expect(await approvals.get("acme", "new")).toBeDefined();
  });
});

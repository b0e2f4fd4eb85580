import { expect, it } from "vitest";
import { onBothDatabases } from "../../../test/setup/test-databases.js";

onBothDatabases("the figures of a store", (database) => {
  it("count what is active, running and pending, of every org", async () => {
    const store = await database.open();
    const { bytes, ...none } = await store.figures();
    expect(none).toEqual({ activeSessions: 0, runningExecutions: 0, pendingApprovals: 0 });
    expect(bytes).toBeGreaterThan(10_000);
    for (const org of ["acme", "other"]) {
      for (const name of ["a", "b"]) await store.sessions.create(org, { name, settings: {} });
      await store.sessions.end(org, "b", "deleted");
      const execution = { org, server: "s", tool: "run_code", startedAt: Date.now() };
      const end = { at: Date.now(), result: {} };
      await store.executions.record([
        { ...execution, id: "1", end },
        { ...execution, id: "2" },
      ]);
      const approval = { server: "s", request: {}, expiresAt: Date.now() + 60_000 };
      for (const each of ["p", "d"]) await store.approvals.add(org, { ...approval, id: each });
      await store.approvals.add(org, { ...approval, id: "late", expiresAt: Date.now() - 1 });
      await store.approvals.decide(org, "d", { decision: "approved" });
    }
    expect(await store.figures()).toMatchObject({
      activeSessions: 2,
      runningExecutions: 2,
      pendingApprovals: 2,
    });
  });
});

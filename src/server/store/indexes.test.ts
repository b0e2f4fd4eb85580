import { expect, it } from "vitest";
import { onBothDatabases } from "../../../test/setup/test-databases.js";
import type { AuditEntry, AuditFilter } from "./records.js";

onBothDatabases("the index of snapshots", (database) => {
  const snapshot = (session: string, id: string, createdAt: number) => ({
    session,
    id,
    createdAt,
    info: { name: id, files: 3, bytes: 100 },
  });

  it("lists an org's snapshots, the latest first, until they are removed", async () => {
    const { snapshots } = await database.open();
    const [a, b, c] = [snapshot("s", "a", 1000), snapshot("s", "b", 3000), snapshot("t", "a", 2000)];
    for (const each of [a, b, c]) await snapshots.put("acme", each);
    await snapshots.put("other", a);
    expect(await snapshots.list("acme")).toEqual({ items: [b, c, a], next: undefined });
    expect((await snapshots.list("acme", { session: "s" })).items).toEqual([b, a]);
    const first = await snapshots.list("acme", { limit: 1 });
    expect((await snapshots.list("acme", { cursor: first.next })).items).toEqual([c, a]);
    const renamed = { ...a, info: { name: "renamed" } };
    await snapshots.put("acme", renamed);
    expect((await snapshots.list("acme", { session: "s" })).items).toEqual([b, renamed]);
    expect(await snapshots.remove("acme", "t", "b")).toBe(false);
    expect(await snapshots.remove("acme", "t", "a")).toBe(true);
    expect(await snapshots.removeAllOf("acme", "s")).toBe(2);
    expect((await snapshots.list("acme")).items).toEqual([]);
    expect((await snapshots.list("other")).items).toEqual([a]);
  });
});

onBothDatabases("the index of audit records", (database) => {
  const entry = (log: string, seq: number, more: Partial<AuditEntry> = {}): AuditEntry => ({
    log,
    seq,
    org: "acme",
    session: "s",
    eventType: "sandbox_execution",
    tool: "run_code",
    result: "success",
    at: 1000 + seq,
    ...more,
  });

  it("finds an org's records over all logs, the latest first", async () => {
    const { audit } = await database.open();
    const entries = [
      entry("a", 1),
      entry("a", 2, { session: "t", tool: "shell_exec" }),
      entry("b", 1, { result: "denied" }),
      entry("b", 2, { session: undefined, tool: undefined, result: undefined, eventType: "resource_alert" }),
    ];
    await audit.insert([...entries, entry("b", 3, { org: "other" })]);
    const [a1, a2, b1, b2] = entries;
    const find = async (filter: AuditFilter) => (await audit.query("acme", filter)).items;
    expect(await audit.query("acme")).toEqual({ items: [b2, a2, b1, a1], next: undefined });
    expect(await find({ session: "s" })).toEqual([b1, a1]);
    expect(await find({ tool: "shell_exec" })).toEqual([a2]);
    expect(await find({ result: "denied" })).toEqual([b1]);
    expect(await find({ eventType: "resource_alert" })).toEqual([b2]);
    expect(await find({ since: 1002 })).toEqual([b2, a2]);
    expect(await find({ until: 1002 })).toEqual([b1, a1]);
    const first = await audit.query("acme", { limit: 2, session: "s", since: 0 });
    expect(first).toEqual({ items: [b1, a1], next: undefined });
    const one = await audit.query("acme", { limit: 1, session: "s" });
    expect(await find({ session: "s", cursor: one.next })).toEqual([a1]);
  });

  it("takes what it has already, and knows where a log goes on", async () => {
    const stores = await Promise.all([database.open(), database.open()]);
    const [{ audit }] = stores as [(typeof stores)[0], unknown];
    const entries = Array.from({ length: 300 }, (_, index) => entry("a", index + 1));
    expect(await audit.lastSeq("a")).toBe(0);
    await audit.insert([]);
    await Promise.all(stores.map((store) => store.audit.insert(entries)));
    await audit.insert(entries.slice(100, 103).map((each) => ({ ...each, org: "other" })));
    expect(await audit.lastSeq("a")).toBe(300);
    expect(await audit.lastSeq("b")).toBe(0);
    expect((await audit.query("acme", { limit: 1000 })).items).toEqual(entries.toReversed());
    expect(await audit.prune(1201)).toBe(200);
    expect((await audit.query("acme", { limit: 1000 })).items).toHaveLength(100);
    expect(await audit.lastSeq("a")).toBe(300);
  });
});

import { expect, it } from "vitest";
import { onBothDatabases } from "../../../test/setup/test-databases.js";
import type { Store } from "./open-store.js";
import type { LeaseToken } from "./records.js";

const LEASE_MS = 60_000;
const settings = {};
const VOID = {
  code: "STORE_FAILED",
  message: "This server's lease is void: it was declared dead, or has another run",
};

const start = (store: Store, id: string, leaseMs = LEASE_MS): Promise<LeaseToken> =>
  store.servers.start({ id, url: `http://${id}`, leaseMs });

/** Its lease has run out. */
const die = (store: Store, lease: LeaseToken): Promise<boolean> => store.servers.heartbeat(lease, 0);

onBothDatabases("servers", (database) => {
  it("live as long as their lease", async () => {
    const store = await database.open();
    const a = await start(store, "a");
    const b = await start(store, "b");
    const record = await store.servers.get("a");
    expect(record).toEqual({
      id: "a",
      url: "http://a",
      startedAt: expect.any(Number),
      leaseUntil: expect.any(Number),
    });
    expect((await store.servers.list()).map(({ id }) => id).sort()).toEqual(["a", "b"]);
    expect(await store.servers.heartbeat(a, 2 * LEASE_MS)).toBe(true);
    expect((await store.servers.get("a"))!.leaseUntil).toBeGreaterThan(record!.leaseUntil);
    await die(store, b);
    expect((await store.servers.list()).map(({ id }) => id)).toEqual(["a"]);
    expect(await store.servers.get("b")).toBeUndefined();
  });

  it("have the sessions of their last run, whose lease is void", async () => {
    const store = await database.open();
    const before = await start(store, "a");
    const { session } = await store.sessions.create("acme", { name: "demo", settings, lease: before });
    const after = await start(store, "a");
    expect(await store.servers.heartbeat(before, LEASE_MS)).toBe(false);
    await expect(store.servers.claim(before, "acme", "demo")).rejects.toMatchObject(VOID);
    await expect(
      store.sessions.create("acme", { name: "more", settings, lease: before }),
    ).rejects.toMatchObject(VOID);
    expect(await store.servers.claim(after, "acme", "demo")).toEqual({ claimed: true, session });
  });

  it("claim free sessions, and are told the owner of the others", async () => {
    const store = await database.open();
    const a = await start(store, "a");
    const b = await start(store, "b");
    const { session } = await store.sessions.create("acme", { name: "demo", settings });
    const mine = { claimed: true, session: { ...session, server: "a" } };
    expect(await store.servers.claim(a, "acme", "demo")).toEqual(mine);
    expect(await store.servers.claim(a, "acme", "demo")).toEqual(mine);
    expect(await store.servers.claim(b, "acme", "demo")).toEqual({
      ...mine,
      claimed: false,
      owner: await store.servers.get("a"),
    });
    expect(await store.servers.claim(a, "other", "demo")).toBeUndefined();
    await store.sessions.end("acme", "demo", "deleted");
    expect(await store.servers.claim(a, "acme", "demo")).toBeUndefined();
  });

  it("that claim a session at once are told of one owner", async () => {
    const stores = await Promise.all([database.open(), database.open()]);
    const leases = await Promise.all(["a", "b", "c", "d"].map((id, index) => start(stores[index % 2]!, id)));
    for (let round = 0; round < 5; round++) {
      const name = `s${round}`;
      await stores[0]!.sessions.create("acme", { name, settings });
      const claims = await Promise.all(
        leases.map((lease, index) => stores[index % 2]!.servers.claim(lease, "acme", name)),
      );
      const owners = claims.map((claim) => claim!.session.server);
      expect(claims.filter((claim) => claim!.claimed)).toHaveLength(1);
      expect(new Set(owners).size).toBe(1);
    }
  });

  it("never get the session of one that is dead, and are told so", async () => {
    const store = await database.open();
    const a = await start(store, "a");
    const b = await start(store, "b");
    const { session } = await store.sessions.create("acme", { name: "demo", settings, lease: a });
    const owner = await store.servers.get("a");
    expect(await store.servers.ownerOf("acme", "demo")).toEqual({ server: "a", record: owner });
    await die(store, a);
    expect(await store.servers.ownerOf("acme", "demo")).toEqual({ server: "a", record: undefined });
    const lost = { claimed: false, session, owner: undefined };
    expect(await store.servers.claim(b, "acme", "demo")).toEqual(lost);
    expect(await store.sessions.get("acme", "demo")).toEqual(session);
    expect((await store.servers.reapDead(b)).sessions.map(({ name }) => name)).toEqual(["demo"]);
    expect(await store.servers.claim(b, "acme", "demo")).toBeUndefined();
    expect(await store.servers.ownerOf("acme", "demo")).toBeUndefined();
    expect(await store.servers.heartbeat(a, LEASE_MS)).toBe(false);
  });

  it("are known as the owners of sessions to their orgs only, under the address that they said last", async () => {
    const store = await database.open();
    const a = await start(store, "a");
    await store.sessions.create("acme", { name: "free", settings });
    await store.sessions.create("acme", { name: "demo", settings, lease: a });
    expect(await store.servers.ownerOf("acme", "free")).toBeUndefined();
    expect(await store.servers.ownerOf("other", "demo")).toBeUndefined();
    await store.servers.announce(a, "https://a.example:7070");
    await store.servers.announce({ ...a, run: "an earlier one" }, "https://evil.example");
    expect((await store.servers.ownerOf("acme", "demo"))?.record?.url).toBe("https://a.example:7070");
  });

  it("that were late and not missed go on", async () => {
    const store = await database.open();
    const a = await start(store, "a");
    await store.sessions.create("acme", { name: "demo", settings, lease: a });
    await die(store, a);
    expect(await store.servers.heartbeat(a, LEASE_MS)).toBe(true);
    expect(await store.servers.reapDead(await start(store, "b"))).toMatchObject({ sessions: [] });
    expect(await store.sessions.get("acme", "demo")).toMatchObject({ server: "a", state: "active" });
  });

  it("take what they had with them when they die, and each is told once", async () => {
    const stores = await Promise.all([database.open(), database.open(), database.open()]);
    const [store] = stores as [Store, Store, Store];
    const dead = await start(store, "dead");
    const leases = await Promise.all(["a", "b", "c"].map((id, index) => start(stores[index]!, id)));
    const { session } = await store.sessions.create("acme", { name: "lost", settings, lease: dead });
    const { session: kept } = await store.sessions.create("acme", {
      name: "kept",
      settings,
      lease: leases[0],
    });
    for (const each of [session, kept])
      await store.snapshots.put("acme", { id: "snap", session: each.id, createdAt: 1, info: {} });
    await store.sessions.create("acme", { name: "free", settings });
    for (const server of ["dead", "a"]) {
      await store.approvals.add("acme", { id: `ask-${server}`, server, request: {}, expiresAt: 4e12 });
      const execution = { org: "acme", id: `run-${server}`, server, tool: "run_code", startedAt: 1 };
      await store.executions.record([execution]);
    }
    await die(store, dead);
    const ended = await Promise.all(
      [0, 1, 2, 0, 1, 2].map((index) => stores[index]!.servers.reapDead(leases[index]!)),
    );
    expect(ended.filter(({ servers }) => servers.length > 0)).toEqual([
      {
        servers: ["dead"],
        sessions: [{ ...session, state: "ended", endedAt: expect.any(Number), endedWhy: "server-lost" }],
        approvals: [await store.approvals.get("acme", "ask-dead")],
        executions: [await store.executions.get("acme", "run-dead")],
      },
    ]);
    expect(await store.approvals.get("acme", "ask-dead")).toMatchObject({
      outcome: { decision: "interrupted", by: undefined },
    });
    expect(await store.executions.get("acme", "run-dead")).toMatchObject({ state: "interrupted" });
    expect(await store.approvals.get("acme", "ask-a")).toMatchObject({ outcome: undefined });
    expect(await store.executions.get("acme", "run-a")).toMatchObject({ state: "running" });
    const left = (await store.sessions.list("acme", { state: "active" })).items.map(({ name }) => name);
    expect(left.sort()).toEqual(["free", "kept"]);
    expect(await store.servers.heartbeat(dead, LEASE_MS)).toBe(false);
    expect(await store.sessions.listUncleaned("dead")).toHaveLength(1);
    expect((await store.snapshots.list("acme")).items.map((each) => each.session)).toEqual([kept.id]);
  });

  it("are declared dead or prolong their lease, never both", async () => {
    const stores = await Promise.all([database.open(), database.open()]);
    const b = await start(stores[1]!, "b");
    for (let round = 0; round < 20; round++) {
      const name = `s${round}`;
      const late = await start(stores[0]!, `late-${round}`);
      await stores[0]!.sessions.create("acme", { name, settings, lease: late });
      await die(stores[0]!, late);
      const [lives, ended] = await Promise.all([
        stores[0]!.servers.heartbeat(late, LEASE_MS),
        stores[1]!.servers.reapDead(b),
      ]);
      expect(ended.sessions.map((each) => each.name)).toEqual(lives ? [] : [name]);
    }
  });

  it("end nothing of others when their own lease has run out", async () => {
    const store = await database.open();
    const a = await start(store, "a");
    const b = await start(store, "b");
    for (const lease of [a, b]) await store.sessions.create("acme", { name: lease.server, settings, lease });
    await die(store, a);
    await die(store, b);
    expect(await store.servers.reapDead(a)).toMatchObject({ sessions: [] });
    expect(await store.servers.heartbeat(b, LEASE_MS)).toBe(true);
    expect((await store.sessions.list("acme", { state: "active" })).items).toHaveLength(2);
  });

  it("keep their sessions for a while when they stop, and may come back", async () => {
    const store = await database.open();
    const a = await start(store, "a");
    const b = await start(store, "b");
    await store.sessions.create("acme", { name: "demo", settings, lease: a });
    await store.servers.stop(a, LEASE_MS);
    expect(await store.servers.heartbeat(a, LEASE_MS)).toBe(false);
    expect(await store.servers.reapDead(b)).toMatchObject({ sessions: [] });
    const again = await start(store, "a");
    expect(await store.servers.claim(again, "acme", "demo")).toMatchObject({ claimed: true });
    await store.servers.stop(again, 0);
    expect((await store.servers.reapDead(b)).sessions.map(({ name }) => name)).toEqual(["demo"]);
  });
});

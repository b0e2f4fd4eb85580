import fc from "fast-check";
import { expect, it } from "vitest";
import { onBothDatabases } from "../../../test/setup/test-databases.js";
import type { SessionRecord } from "./records.js";
import type { Sessions } from "./sessions.js";

const LEASE_MS = 60_000;
const settings = { limits: { memoryMb: 512 }, backend: "bubblewrap" };

async function listAll(sessions: Sessions, org: string, limit: number): Promise<SessionRecord[]> {
  const all: SessionRecord[] = [];
  let cursor: string | undefined;
  do {
    const page = await sessions.list(org, { limit, cursor });
    all.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined);
  return all;
}

onBothDatabases("sessions", (database) => {
  it("are what they were created as, for their org only", async () => {
    const { sessions } = await database.open();
    const { session, isNew } = await sessions.create("acme", {
      name: "demo",
      role: "code_assistant",
      settings,
      expiresAt: 4e12,
    });
    expect(isNew).toBe(true);
    expect(session).toEqual({
      org: "acme",
      name: "demo",
      id: expect.stringMatching(/^[0-9a-f]{24}$/),
      role: "code_assistant",
      settings,
      createdAt: expect.any(Number),
      renewedAt: session.createdAt,
      expiresAt: 4e12,
      server: undefined,
      state: "active",
      endedAt: undefined,
      endedWhy: undefined,
    });
    const other = await database.open();
    expect(await other.sessions.get("acme", "demo")).toEqual(session);
    expect(await other.sessions.getById("acme", session.id)).toEqual(session);
    expect(await other.sessions.get("other", "demo")).toBeUndefined();
    expect(await other.sessions.getById("other", session.id)).toBeUndefined();
    expect(await other.sessions.list("other")).toEqual({ items: [], next: undefined });
    expect(await other.sessions.renew("other", "demo", 5e12)).toBeUndefined();
    expect(await other.sessions.end("other", "demo", "deleted")).toBeUndefined();
  });

  it("are remembered by their name after the end, the last of them", async () => {
    const { sessions } = await database.open();
    expect(await sessions.getLast("acme", "demo")).toBeUndefined();
    await sessions.create("acme", { name: "demo", settings });
    await sessions.end("acme", "demo", "deleted");
    // The order is that of whole milliseconds.
    const ended = (await sessions.getLast("acme", "demo"))!;
    await expect.poll(() => Date.now()).toBeGreaterThan(ended.createdAt);
    const { session } = await sessions.create("acme", { name: "demo", settings });
    expect(await sessions.getLast("acme", "demo")).toEqual(session);
    const lost = await sessions.end("acme", "demo", "server-lost");
    expect(await sessions.getLast("acme", "demo")).toEqual(lost);
    expect(await sessions.getLast("other", "demo")).toBeUndefined();
  });

  it("have a name that another org may use too, and the same org after the end", async () => {
    const { sessions } = await database.open();
    const first = await sessions.create("acme", { name: "demo", settings });
    await sessions.create("other", { name: "demo", settings });
    await expect(sessions.create("acme", { name: "demo", settings })).rejects.toMatchObject({
      code: "CONFLICT",
      message: "There is an active session of that name already",
    });
    const ended = await sessions.end("acme", "demo", "deleted");
    expect(ended).toEqual({
      ...first.session,
      state: "ended",
      endedAt: expect.any(Number),
      endedWhy: "deleted",
    });
    expect(await sessions.end("acme", "demo", "deleted")).toBeUndefined();
    const second = await sessions.create("acme", { name: "demo", settings });
    expect(second.session.id).not.toBe(first.session.id);
    expect(await sessions.get("acme", "demo")).toEqual(second.session);
    expect(await sessions.getById("acme", first.session.id)).toEqual(ended);
  });

  it("are created once for one idempotency key, however many ask at once", async () => {
    const stores = await Promise.all([database.open(), database.open()]);
    const request = { name: "demo", role: undefined, limits: { a: 1, b: 2 } };
    const made = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        stores[index % 2]!.sessions.create("acme", {
          // As when the server makes up a name for each call.
          name: `demo-${index}`,
          settings,
          idempotency: { key: "k", request },
        }),
      ),
    );
    expect(new Set(made.map(({ session }) => session.id)).size).toBe(1);
    expect(made.filter(({ isNew }) => isNew)).toHaveLength(1);
    expect((await stores[0]!.sessions.list("acme")).items).toHaveLength(1);
  });

  it("compare an idempotency key's request as JSON", async () => {
    const { sessions } = await database.open();
    const create = (org: string, request: object) =>
      sessions.create(org, { name: "demo", settings, idempotency: { key: "k", request: request as never } });
    const first = await create("acme", { name: "demo", limits: { a: 1, b: 2 } });
    expect(await create("acme", { limits: { b: 2, a: 1 }, name: "demo", role: undefined })).toEqual({
      ...first,
      isNew: false,
    });
    await expect(create("acme", { name: "demo", limits: { a: 1, b: 3 } })).rejects.toMatchObject({
      code: "CONFLICT",
      message: "The idempotency key was used for another request",
    });
    expect(await create("other", { name: "demo" })).toMatchObject({ isNew: true });
  });

  it("that could not be created leave their idempotency key free", async () => {
    const { sessions } = await database.open();
    await sessions.create("acme", { name: "demo", settings });
    const create = () =>
      sessions.create("acme", { name: "demo", settings, idempotency: { key: "k", request: 1 } });
    await expect(create()).rejects.toMatchObject({ code: "CONFLICT" });
    await sessions.end("acme", "demo", "deleted");
    expect(await create()).toMatchObject({ isNew: true });
  });

  it("are told as they are now to who comes late with an idempotency key", async () => {
    const { sessions } = await database.open();
    const create = () =>
      sessions.create("acme", { name: "demo", settings, idempotency: { key: "k", request: 1 } });
    await create();
    const ended = await sessions.end("acme", "demo", "deleted");
    expect(await create()).toEqual({ session: ended, isNew: false });
  });

  it("are renewed while they last, and not once their time is over", async () => {
    const { sessions } = await database.open();
    const { session } = await sessions.create("acme", { name: "demo", settings, expiresAt: 4e12 });
    const renewed = await sessions.renew("acme", "demo", 5e12);
    expect(renewed).toEqual({ ...session, expiresAt: 5e12, renewedAt: expect.any(Number) });
    expect(renewed!.renewedAt).toBeGreaterThanOrEqual(session.renewedAt);
    expect(await sessions.renew("acme", "demo", undefined)).toMatchObject({ expiresAt: undefined });
    await sessions.create("acme", { name: "late", settings, expiresAt: Date.now() });
    expect(await sessions.renew("acme", "late", 5e12)).toBeUndefined();
  });

  it("that have expired are each taken by one caller, of this server or of none", async () => {
    const stores = await Promise.all([database.open(), database.open()]);
    const [{ sessions, servers }] = stores as [(typeof stores)[0], unknown];
    const mine = await servers.start({ id: "mine", url: "http://mine", leaseMs: LEASE_MS });
    const theirs = await servers.start({ id: "theirs", url: "http://theirs", leaseMs: LEASE_MS });
    for (const [name, expiresAt, lease] of [
      ["free", 1000, undefined],
      ["mine", 1000, mine],
      ["theirs", 1000, theirs],
      ["later", 3000, mine],
      ["endless", undefined, mine],
    ] as const)
      await sessions.create("acme", { name, settings, expiresAt, lease });
    const taken = await Promise.all(
      stores
        .flatMap((store) => [1, 2, 3].map(() => store))
        .map((store) => store.sessions.takeExpired(2000, "mine")),
    );
    const names = taken.flat().map(({ name, endedWhy }) => [name, endedWhy]);
    expect(names.sort()).toEqual([
      ["free", "expired"],
      ["mine", "expired"],
    ]);
    expect((await sessions.takeExpired(2000, "theirs")).map(({ name }) => name)).toEqual(["theirs"]);
  });

  it("are renewed or expire, never both", async () => {
    const stores = await Promise.all([database.open(), database.open()]);
    for (let round = 0; round < 20; round++) {
      const name = `s${round}`;
      const expiresAt = Date.now() + 60_000;
      await stores[0]!.sessions.create("acme", { name, settings, expiresAt });
      const [renewed, expired] = await Promise.all([
        stores[0]!.sessions.renew("acme", name, expiresAt + 60_000),
        stores[1]!.sessions.takeExpired(expiresAt, "mine"),
      ]);
      expect([renewed !== undefined, expired.length]).toEqual(renewed ? [true, 0] : [false, 1]);
    }
  });

  it("are to be cleaned after the end until that is said, also after a crash", async () => {
    const { sessions, servers } = await database.open();
    const lease = await servers.start({ id: "mine", url: "http://mine", leaseMs: LEASE_MS });
    for (const name of ["a", "b"]) await sessions.create("acme", { name, settings, lease });
    await sessions.create("acme", { name: "free", settings });
    const a = await sessions.end("acme", "a", "deleted");
    await sessions.end("acme", "free", "deleted");
    const later = await database.open();
    expect(await later.sessions.listUncleaned("mine")).toEqual([a]);
    expect(await later.sessions.listUncleaned("theirs")).toEqual([]);
    const active = await later.sessions.get("acme", "b");
    await later.sessions.markCleaned([a!.id, active!.id]);
    expect(await later.sessions.listUncleaned("mine")).toEqual([]);
    const b = await later.sessions.end("acme", "b", "deleted");
    expect(await later.sessions.listUncleaned("mine")).toEqual([b]);
  });

  it("are forgotten once they ended long ago and nothing of them is left", async () => {
    const { sessions, servers } = await database.open();
    const lease = await servers.start({ id: "mine", url: "http://mine", leaseMs: LEASE_MS });
    const idempotency = { key: "k", request: 1 };
    await sessions.create("acme", { name: "cleaned", settings, lease, idempotency });
    for (const name of ["uncleaned", "active"]) await sessions.create("acme", { name, settings, lease });
    for (const name of ["cleaned", "uncleaned"]) await sessions.end("acme", name, "deleted");
    await sessions.markCleaned([
      (await sessions.list("acme")).items.find(({ name }) => name === "cleaned")!.id,
    ]);
    expect(await sessions.prune(Date.now() - 60_000)).toBe(0);
    expect(await sessions.prune(Date.now() + 1)).toBe(1);
    const left = (await sessions.list("acme")).items.map(({ name }) => name);
    expect(left.sort()).toEqual(["active", "uncleaned"]);
    expect(await sessions.create("acme", { name: "new", settings, idempotency })).toMatchObject({
      isNew: true,
    });
  });

  it("are listed in pages that show each that stays once, whatever comes and goes", async () => {
    const { sessions } = await database.open();
    const stays = new Set<string>();
    let count = 0;
    const create = async () => (await sessions.create("acme", { name: `s${count++}`, settings })).session;
    for (let index = 0; index < 30; index++) stays.add((await create()).id);
    const goes = [];
    for (let index = 0; index < 10; index++) goes.push(await create());
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await sessions.list("acme", { limit: 7, cursor, state: "active" });
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.next;
      await create();
      // Among them the very one that the cursor names.
      const last = page.items.at(-1);
      if (last !== undefined && stays.size > 20) {
        await sessions.end("acme", last.name, "deleted");
        stays.delete(last.id);
      }
      const gone = goes.pop();
      if (gone !== undefined) await sessions.end("acme", gone.name, "deleted");
    } while (cursor !== undefined);
    expect(new Set(seen).size).toBe(seen.length);
    expect([...stays].filter((id) => !seen.includes(id))).toEqual([]);
  });

  it("are listed the latest first, in pages of any size", async () => {
    const { sessions } = await database.open();
    for (let index = 0; index < 11; index++)
      await sessions.create(index % 3 === 0 ? "other" : "acme", { name: `s${index}`, settings });
    const all = (await sessions.list("acme")).items;
    const inOrder = all.toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
    expect(all).toEqual(inOrder);
    expect(all).toHaveLength(7);
    for (const limit of [1, 2, 6, 7, 8]) expect(await listAll(sessions, "acme", limit)).toEqual(all);
  });

  it.each([0, -1, 1.5, 1001, Number.NaN])("refuse a page of %s", async (limit) => {
    const { sessions } = await database.open();
    await expect(sessions.list("acme", { limit })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  it("refuse a cursor that no page gave", async () => {
    const { sessions } = await database.open();
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const cursors = [
      "",
      "x",
      encode([]),
      encode(["1", "a"]),
      encode([1, 2]),
      encode([1.5, "a"]),
      encode([1, "a\0"]),
      encode({ length: 2, 0: 1, 1: "a" }),
      encode([1, "a".repeat(3000)]),
    ];
    for (const cursor of cursors)
      await expect(sessions.list("acme", { cursor })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  it("keep any text as it is, or refuse what is no text", async () => {
    const { sessions } = await database.open();
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: "binary" }),
        fc.string({ unit: "grapheme", minLength: 1 }),
        fc.jsonValue(),
        async (org, name, value) => {
          const created = await sessions
            .create(org, { name, role: name, settings: value as never })
            .catch((error) => error.code);
          const isText = !/[\0\p{Surrogate}]/u.test(org + name);
          if (!isText) {
            expect(created).toBe("INVALID_ARGUMENT");
            return;
          }
          const plain = JSON.parse(JSON.stringify(value));
          expect(await sessions.get(org, name)).toMatchObject({ org, name, role: name });
          expect((await sessions.end(org, name, "deleted"))?.settings).toEqual(plain);
        },
      ),
      { numRuns: 100 },
    );
  });
});

import { expect, it } from "vitest";
import { onBothDatabases, type TestDatabase } from "../../../test/setup/test-databases.js";
import { waitUntil } from "../../core/testing/wait-until.js";
import type { SandboxError } from "../../kit/errors.js";
import type { Store } from "../store/index.js";
import { ServerPlace, timesOf } from "./fenced-lease.js";

/** So long that no sign of life is given while a test runs. */
const LONG_MS = 3_600_000;
const SHORT_MS = 5000;

/** A place by a clock of the test's. */
async function takePlace(database: TestDatabase, leaseMs: number) {
  const store = await database.open();
  const clock = { ms: 0 };
  const place = await ServerPlace.take(store, "a", { leaseMs, now: () => clock.ms });
  const losses: SandboxError[] = [];
  place.onLost((why) => losses.push(why));
  return { store, place, clock, losses };
}

const LOST = { code: "STORE_FAILED", afterSeconds: 5, hint: expect.any(String) };

it("a lease leaves time to end everything before it is over", () => {
  expect(timesOf(60_000)).toEqual({ beatMs: 10_000, lookMs: 10_000, fenceMs: 45_000 });
});

onBothDatabases("a server's place", (database) => {
  it("is given up in time where others could take it, at the first question after a sleep", async () => {
    const { store, place, clock, losses } = await takePlace(database, LONG_MS);
    clock.ms = timesOf(LONG_MS).fenceMs - 1;
    place.check();
    expect([place.leftMs, losses]).toEqual([LONG_MS / 4 + 1, []]);
    clock.ms = 10 * LONG_MS;
    if (store.kind === "postgres") {
      expect(() => place.check()).toThrow(expect.objectContaining(LOST));
      expect(() => place.check()).toThrow(losses[0]);
      expect([place.isLost, place.leftMs, losses.length]).toEqual([true, 0, 1]);
    } else {
      // A file is this machine's: nobody else was awake.
      place.check();
      expect(losses).toEqual([]);
    }
    await place.leave();
  });

  it("is lost with a sign of life that nobody knows", async () => {
    const { store, place, losses } = await takePlace(database, SHORT_MS);
    await store.servers.start({ id: "a", url: "", leaseMs: LONG_MS });
    await waitUntil(() => losses.length > 0);
    expect(losses).toMatchObject([{ message: "This server was taken for dead by another, and stops" }]);
    expect(() => place.check()).toThrow(losses[0]);
    const late: SandboxError[] = [];
    place.onLost((why) => late.push(why));
    expect(late).toEqual(losses);
    await place.leave();
    // Another run has it, and keeps it.
    expect((await store.servers.get("a"))!.leaseUntil).toBeGreaterThan(Date.now() + LONG_MS / 2);
  });

  it("is prolonged as of when the sign of life was sent, and judges nobody before it was held for a lease", async () => {
    const { store, place, clock } = await takePlace(database, SHORT_MS);
    // In time: hardly two beats later.
    for (const [ms, mayJudge] of [
      [1600, false],
      [3200, false],
      [4800, false],
      [6400, true],
      // One that was late itself does not know who else was.
      [9000, false],
    ] as const) {
      clock.ms = ms;
      await waitUntil(() => place.leftMs === SHORT_MS);
      expect([ms, place.mayJudge]).toEqual([ms, mayJudge]);
    }
    await place.leave();
    expect(await store.servers.get("a")).toBeDefined();
  });
});

onBothDatabases("a place whose store is away", (database) => {
  it("is given up by itself, and every failure is told", async () => {
    const store = await database.open();
    const refusing = { ...store, servers: failing(store) } as Store;
    const place = await ServerPlace.take(refusing, "a", { leaseMs: SHORT_MS });
    const failures: unknown[] = [];
    place.onFailure((error) => failures.push(error));
    if (store.kind === "postgres") {
      await new Promise((resolve) => place.onLost(resolve));
      expect(place.leftMs).toBeGreaterThan(0);
    } else await waitUntil(() => failures.length > 3);
    expect(failures[0]).toMatchObject({ message: "not now" });
    expect(place.isLost).toBe(store.kind === "postgres");
    await place.leave();
  });
});

/** Starts and stops, but no sign of life gets through. */
function failing({ servers }: Store): Partial<Store["servers"]> {
  return {
    start: (server) => servers.start(server),
    stop: (lease, leaseMs) => servers.stop(lease, leaseMs),
    beat: () => Promise.reject(new Error("not now")),
  };
}

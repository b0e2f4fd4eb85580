import { expect, it } from "vitest";
import { onBothDatabases, type TestDatabase } from "../../../test/setup/test-databases.js";
import type { SandboxError } from "../../kit/errors.js";
import { waitUntil } from "../../kit/wait-until.js";
import type { Store } from "../store/index.js";
import { FencedLease, leaseTimes } from "./fenced-lease.js";

/** So long that no heartbeat is sent while a test runs. */
const LONG_MS = 3_600_000;
const SHORT_MS = 5000;

/** A lease by a clock of the test's. */
async function acquireLease(database: TestDatabase, leaseMs: number) {
  const store = await database.open();
  const clock = { ms: 0 };
  const lease = await FencedLease.acquire(store, "a", { leaseMs, now: () => clock.ms });
  const losses: SandboxError[] = [];
  lease.onLost((why) => losses.push(why));
  return { store, lease, clock, losses };
}

const LOST = { code: "STORE_FAILED", afterSeconds: 5, hint: expect.any(String) };

it("a lease leaves time to end everything before it is over", () => {
  expect(leaseTimes(60_000)).toEqual({ heartbeatMs: 10_000, reapMs: 10_000, fenceMs: 45_000 });
});

onBothDatabases("a server's lease", (database) => {
  it("is given up in time where others could take it, at the first question after a sleep", async () => {
    const { store, lease, clock, losses } = await acquireLease(database, LONG_MS);
    clock.ms = leaseTimes(LONG_MS).fenceMs - 1;
    lease.assertHeld();
    expect([lease.leftMs, losses]).toEqual([LONG_MS / 4 + 1, []]);
    clock.ms = 10 * LONG_MS;
    if (store.kind === "postgres") {
      expect(() => lease.assertHeld()).toThrow(expect.objectContaining(LOST));
      expect(() => lease.assertHeld()).toThrow(losses[0]);
      expect([lease.isLost, lease.leftMs, losses.length]).toEqual([true, 0, 1]);
    } else {
      // A file is this machine's: no other server was awake.
      lease.assertHeld();
      expect(losses).toEqual([]);
    }
    await lease.release();
  });

  it("is lost with a heartbeat that the store refuses", async () => {
    const { store, lease, losses } = await acquireLease(database, SHORT_MS);
    await store.servers.start({ id: "a", url: "", leaseMs: LONG_MS });
    await waitUntil(() => losses.length > 0);
    expect(losses).toMatchObject([{ message: "Another server declared this one dead; it stops" }]);
    expect(() => lease.assertHeld()).toThrow(losses[0]);
    const late: SandboxError[] = [];
    lease.onLost((why) => late.push(why));
    expect(late).toEqual(losses);
    await lease.release();
    // Another run has it, and keeps it.
    expect((await store.servers.get("a"))!.leaseUntil).toBeGreaterThan(Date.now() + LONG_MS / 2);
  });

  it("is prolonged as of when the heartbeat was sent, and declares no server dead before it was held for a lease", async () => {
    const { store, lease, clock } = await acquireLease(database, SHORT_MS);
    // In time: hardly two beats later.
    for (const [ms, canDeclareDead] of [
      [1600, false],
      [3200, false],
      [4800, false],
      [6400, true],
      // One that was late itself does not know who else was.
      [9000, false],
    ] as const) {
      clock.ms = ms;
      await waitUntil(() => lease.leftMs === SHORT_MS);
      expect([ms, lease.canDeclareDead]).toEqual([ms, canDeclareDead]);
    }
    await lease.release();
    expect(await store.servers.get("a")).toBeDefined();
  });
});

onBothDatabases("a lease whose store is away", (database) => {
  it("is given up by itself, and every failure is told", async () => {
    const store = await database.open();
    const refusing = { ...store, servers: failing(store) } as Store;
    const lease = await FencedLease.acquire(refusing, "a", { leaseMs: SHORT_MS });
    const failures: unknown[] = [];
    lease.onFailure((error) => failures.push(error));
    if (store.kind === "postgres") {
      await new Promise((resolve) => lease.onLost(resolve));
      expect(lease.leftMs).toBeGreaterThan(0);
    } else await waitUntil(() => failures.length > 3);
    expect(failures[0]).toMatchObject({ message: "not now" });
    expect(lease.isLost).toBe(store.kind === "postgres");
    await lease.release();
  });
});

/** Starts and stops, but no heartbeat gets through. */
function failing({ servers }: Store): Partial<Store["servers"]> {
  return {
    start: (server) => servers.start(server),
    stop: (lease, leaseMs) => servers.stop(lease, leaseMs),
    heartbeat: () => Promise.reject(new Error("not now")),
  };
}

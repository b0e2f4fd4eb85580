import { describe, expect, it } from "vitest";
import type { PoolStatus } from "../../runtime/pool/index.js";
import { type CheckedServer, checkServer } from "./checks.js";
import type { Figures } from "./figures.js";
import { RecentEvents } from "./recent-events.js";

const AT = new Date("2026-02-07T12:00:00Z");
const ago = (seconds: number) => new Date(AT.getTime() - seconds * 1000);
const GIB = 1024 ** 3;

const POOL: PoolStatus = {
  ...{ idle: 2, acquiring: 0, busy: 3, resetting: 0, leaving: 0, waiting: 0 },
  ...{ minInstances: 2, maxInstances: 10, hits: 7, misses: 1, created: 8, failures: 0, resets: 0 },
  ...{ destroyed: 3, timeouts: 0, instances: [] },
};
const TAIL = {
  checked: 3,
  last: { seq: 3, timestamp: ago(5).toISOString() },
  problem: undefined,
  files: 1,
  bytes: 3000,
};
const FIGURES: Figures = {
  at: AT,
  uptimeMs: 7_500_000,
  recentMs: 3_600_000,
  running: 1,
  sandboxes: {
    running: 3,
    starts: { succeeded: 8, failed: 0, lastFailed: false },
    highest: { cpuPercent: 12.34, memoryPercent: 50 },
    measured: 3,
    alerting: 0,
  },
  pool: POOL,
  store: { bytes: 81_920, activeSessions: 4, runningExecutions: 1, pendingApprovals: 0, pingMs: 0.42 },
  servers: [{ id: "me", url: "http://a", startedAt: ago(7500).getTime(), leaseUntil: AT.getTime() + 60_000 }],
  audit: { open: 1, waiting: 0, failure: undefined, tail: TAIL },
  disks: [
    {
      place: "state",
      freeBytes: 50 * GIB,
      totalBytes: 100 * GIB,
      freeInodes: undefined,
      totalInodes: undefined,
    },
  ],
  process: {
    memoryBytes: 100 * 1024 ** 2,
    heapUsedBytes: 50 * 1024 ** 2,
    heapLimitBytes: 4 * GIB,
    loopDelay: { p50: 0, p99: 1.5, max: 30 },
  },
};

function check(figures: Partial<Figures> = {}, more: Partial<CheckedServer> = {}) {
  return checkServer({
    figures: { ...FIGURES, ...figures },
    recent: new RecentEvents(),
    server: "me",
    hasPolicy: true,
    lastScrapeAt: ago(10),
    ...more,
  });
}
/** What needs attention, by name, with what to do. */
function attention(figures: Partial<Figures>, more: Partial<CheckedServer> = {}) {
  return check(figures, more)
    .filter(({ ok }) => !ok)
    .map(({ name, found, todo }) => [name, found, todo]);
}

describe("the run-time checklist", () => {
  it("says what was found when all is in order", () => {
    expect(check().map(({ name, ok, found, todo }) => [name, ok, found, todo])).toEqual([
      [
        "pool",
        true,
        "3 sandboxes in use, 8 started, 0 failed to; pool of 10: 2 idle, 0 acquiring, 3 busy, 0 waiting; 0 failures, 0 timed out",
        undefined,
      ],
      [
        "resources",
        true,
        "3 of 3 measured: cpu 12.3 % and memory 50 % of the limit at most; alerts in the last hour: 0 cpu, 0 memory",
        undefined,
      ],
      ["network", true, "in the last hour 0 allowed, 0 denied, 0 failed", undefined],
      [
        "audit",
        true,
        "can be written; last record 3, 5 s ago; 1 open, 0 waiting; 2.9 KiB in 1 file; the last 3 are whole",
        undefined,
      ],
      ["violations", true, "in the last hour 0 violations, 0 rejected; /metrics read 10 s ago", undefined],
      ["store", true, "in 0.4 ms; 80 KiB; 4 sessions, 1 execution running, 0 approvals pending", undefined],
      ["servers", true, "1 server lives, this one started 2 h 5 min ago", undefined],
      ["disk", true, "state 50 GiB of 100 GiB free", undefined],
      [
        "requests",
        true,
        "1 call runs; in the last hour 0 requests, 0 failed inside, 0 unavailable, 0 above an allowance",
        undefined,
      ],
      [
        "process",
        true,
        "up 2 h 5 min, 100 MiB resident, heap 50 MiB of 4 GiB, event loop late by 1.5 ms (p99)",
        undefined,
      ],
    ]);
  });

  const failure = { at: ago(60), code: "SANDBOX_START_FAILED" as const, message: "x" };
  const sandboxes = FIGURES.sandboxes;
  it.each<[string, Partial<Figures>, string, RegExp]>([
    [
      "the pool cannot make sandboxes",
      { pool: { ...POOL, lastFailure: failure, nextAttemptAt: AT } },
      "pool",
      /cannot make sandboxes \(SANDBOX_START_FAILED\)/,
    ],
    [
      "callers wait at a full pool",
      { pool: { ...POOL, idle: 0, busy: 10, waiting: 3 } },
      "pool",
      /raise server\.pool\.maxInstances/,
    ],
    [
      "a request timed out lately",
      { pool: { ...POOL, timeouts: 1, lastTimeoutAt: ago(600) } },
      "pool",
      /timed out in the last hour/,
    ],
    [
      "the last start failed, without a pool",
      {
        pool: undefined,
        sandboxes: {
          ...sandboxes,
          starts: { succeeded: 1, failed: 2, lastFailed: true, lastFailure: failure },
        },
      },
      "pool",
      /The last start failed with SANDBOX_START_FAILED/,
    ],
    [
      "a sandbox is near its limits",
      { sandboxes: { ...sandboxes, alerting: 1 } },
      "resources",
      /1 sandbox is near/,
    ],
    ["nothing is recorded", { audit: undefined }, "audit", /sandbox\.audit\.enabled/],
    [
      "the log cannot be written",
      { audit: { open: 0, waiting: 2, failure: "AUDIT_FAILED", tail: TAIL } },
      "audit",
      /No call runs until it can/,
    ],
    [
      "the log cannot be read",
      { audit: { open: 0, waiting: 0, failure: undefined, tail: { problem: "no" } } },
      "audit",
      /who owns/,
    ],
    [
      "the end of the chain is not whole",
      { audit: { open: 0, waiting: 0, failure: undefined, tail: { ...TAIL, problem: "Record 3 is gone" } } },
      "audit",
      /run skerry audit verify/,
    ],
    ["the store does not answer", { store: { problem: "STORE_FAILED" } }, "store", /database runs/],
    [
      "the store is slow",
      { store: { ...FIGURES.store, pingMs: 2000 } as Figures["store"] },
      "store",
      /It is slow/,
    ],
    ["its lease has run out", { servers: [] }, "servers", /restart it/],
    [
      "a disk is full",
      { disks: [{ ...FIGURES.disks[0]!, freeBytes: 1000 }] },
      "disk",
      /Make room where the state directory is/,
    ],
    [
      "memory is nearly used up",
      { process: { ...FIGURES.process, heapUsedBytes: 3.9 * GIB } },
      "process",
      /nearly used up/,
    ],
    [
      "the event loop is late",
      { process: { ...FIGURES.process, loopDelay: { p50: 5, p99: 1500, max: 3000 } } },
      "process",
      /overloaded/,
    ],
  ])("needs attention when %s", (_, figures, name, todo) => {
    expect(attention(figures)).toEqual([[name, expect.any(String), expect.stringMatching(todo)]]);
  });

  it("does not ask for attention for ever after something that is over", () => {
    const pool = { ...POOL, failures: 1, timeouts: 1, lastFailure: failure, lastTimeoutAt: ago(3700) };
    expect(attention({ pool })).toEqual([]);
  });

  it("needs attention when calls and connections are refused all the time, or a secret goes astray", () => {
    const recent = new RecentEvents();
    recent.violations.add("shell_exec command", 90);
    recent.violations.add("run_code tool", 10);
    recent.connections.add("denied", 100);
    expect(attention({}, { recent, hasPolicy: false, lastScrapeAt: undefined })).toEqual([
      ["network", "in the last hour 0 allowed, 100 denied, 0 failed", expect.stringContaining("egress log")],
      [
        "violations",
        "no policy is loaded; in the last hour 100 violations (shell_exec by command 90, run_code by tool 10), 0 rejected; /metrics was never read",
        expect.stringContaining("audit query --result denied"),
      ],
    ]);
    const astray = new RecentEvents();
    astray.connections.add("denied");
    astray.connections.add("secret");
    expect(attention({}, { recent: astray })).toEqual([
      [
        "network",
        "in the last hour 0 allowed, 1 denied, 0 failed, 1 with a secret for another host",
        expect.stringContaining("change the secret"),
      ],
    ]);
    const failing = new RecentEvents();
    failing.requests.add("500");
    expect(attention({}, { recent: failing }).map(([name]) => name)).toEqual(["requests"]);
  });
});

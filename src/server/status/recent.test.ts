import { describe, expect, it } from "vitest";
import type { SandboxConnection } from "../../core/manager/index.js";
import { createMetrics } from "../../core/metrics/index.js";
import { RecentCounts } from "./recent-counts.js";
import { RecentEvents } from "./recent-events.js";

const MINUTE_MS = 60_000;

describe("counts of the last hour", () => {
  it("are summed up over its minutes, and forgotten after it", () => {
    let now = 0;
    const counts = new RecentCounts(10, () => now);
    counts.add("a");
    counts.add("b", 5);
    now = 30 * MINUTE_MS;
    counts.add("a", 2);
    counts.add("a", 0);
    counts.add("a", Number.NaN);
    expect(counts.totals()).toEqual([
      ["b", 5],
      ["a", 3],
    ]);
    now = 60 * MINUTE_MS;
    expect([counts.of("a"), counts.of("b"), counts.of("none")]).toEqual([2, 0, 0]);
    now = 500 * MINUTE_MS;
    expect(counts.totals()).toEqual([]);
  });

  it("have so many kinds in a minute, and one for all the others", () => {
    const counts = new RecentCounts(2, () => 0);
    for (const kind of ["a", "b", "c", "d", "a"]) counts.add(kind);
    expect(counts.totals()).toEqual([
      ["a", 2],
      ["others", 2],
      ["b", 1],
    ]);
  });
});

describe("recent events", () => {
  it("are noted beside the metrics, whatever callers call things", async () => {
    const recent = new RecentEvents();
    const metrics = recent.alongside(await createMetrics());
    metrics.recordViolation({ tool: "shell_exec", reason: "command" });
    metrics.recordViolation({ tool: `\u202e x${"y".repeat(1000)}`, reason: "tool" });
    metrics.recordViolation({ tool: "network", reason: "domain", count: 7 });
    metrics.recordAlert("cpu");
    metrics.recordExecution({ tool: "t", status: "denied", durationMs: 1 });
    metrics.recordNetwork({ verdict: "failed", bytesSent: 0, bytesReceived: 0, count: 3 });
    expect([recent.alerts.totals(), recent.executions.totals(), recent.connections.totals()]).toEqual([
      [["cpu", 1]],
      [["denied", 1]],
      [["failed", 3]],
    ]);
    const kinds = recent.violations.totals().map(([kind]) => kind);
    expect(kinds).toEqual([expect.stringMatching(/^\\u\{202e\}_xy{61} tool$/), "shell_exec command"]);
    expect(await metrics.text()).toContain(
      'sandbox_policy_violations_total{tool="network",reason="domain"} 7',
    );
  });

  const denied = (sessionId: string, host: string, more: Partial<SandboxConnection> = {}) =>
    ({ sessionId, host, verdict: "denied", ...more }) as SandboxConnection;

  it("name the hosts that were denied most, by session, and no session hides another's", () => {
    const recent = new RecentEvents();
    recent.noteConnection(denied("s", "a.example"));
    recent.noteConnection(denied("s", "a.example", { count: 4 }));
    recent.noteConnection(denied("s", "b.example", { verdict: "allowed" }));
    for (let index = 0; index < 5000; index++) recent.noteConnection(denied("flood", `${index}.example`));
    recent.noteConnection(denied("t", "c\u001b.example", { secrets: ["TOKEN"] }));
    const hosts = recent.deniedHosts();
    expect(hosts[0]).toEqual({ session: "s", host: "a.example", count: 5 });
    expect(hosts).toContainEqual({ session: "t", host: "c\\x1b.example", count: 1 });
    expect(hosts.filter(({ session }) => session === "flood").length).toBeLessThanOrEqual(20);
    expect(recent.connections.of("secret")).toBe(1);
  });

  it("take no more memory for many sessions than for some", () => {
    const recent = new RecentEvents();
    for (let index = 0; index < 5000; index++) recent.noteConnection(denied(`s${index}`, "a.example"));
    expect(recent.deniedHosts().length).toBeLessThanOrEqual(600);
  });
});

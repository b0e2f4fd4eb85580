import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { AuditLogger } from "./audit-logger.js";
import { Durations } from "./durations.js";
import type { AuditEvent, AuditOutcome } from "./record.js";
import { reportAudit } from "./report.js";
import { TopRows } from "./top-rows.js";

let directory: string;
let now: Date;
let audit: AuditLogger;

beforeEach(() => {
  directory = temporaryDirectory();
  now = new Date("2026-02-01T00:00:00Z");
  audit = new AuditLogger({ directory, now: () => now });
});

afterEach(() => audit.close());

const attempt = (outcome: AuditOutcome) => audit.begin({}).end(outcome);
const network = (host: string, more: Partial<AuditEvent>) =>
  audit.log({ eventType: "network", result: "success", ...more, details: { host, ...more.details } });

describe("a report", () => {
  it("counts attempts, refusals, decisions, hosts and sessions", async () => {
    const agent = { agentId: "a", role: "coder", tool: "shell_exec", sessionId: "s" };
    await attempt({ ...agent, result: "success", cpuTimeMs: 30, riskLevel: "safe" });
    await attempt({ ...agent, result: "failure", cpuTimeMs: 20, riskLevel: "safe" });
    const rule = "policy.yaml: policies.tools.shell_exec.denied_commands[0] (line 7)";
    await attempt({ ...agent, result: "denied", policyRule: rule });
    await attempt({ ...agent, sessionId: "t", result: "denied", policyRule: rule.replace("7", "9") });
    await attempt({ ...agent, agentId: "b", result: "denied" });
    for (const [confirmation, waited, result] of [
      ["approved", 1000, "success"],
      ["approved", 2000, "success"],
      ["rejected", 30_000, "rejected"],
    ] as const)
      await attempt({ ...agent, result, confirmation, decidedBy: "alice", details: { waited_ms: waited } });
    await attempt({ tool: "run_code", result: "interrupted" });
    await network("a.example", { networkBytesSent: 10, networkBytesRecv: 20 });
    await network("a.example", { result: "failure" });
    await network("b.example", { result: "denied", details: { count: 5 } });
    await network("a.example", { details: { open: true } });
    await audit.log({ eventType: "resource_alert" });
    expect(await reportAudit(directory)).toEqual({
      records: 14,
      first: now.toISOString(),
      last: now.toISOString(),
      events: [
        { name: "sandbox_execution", count: 9 },
        { name: "network", count: 4 },
        { name: "resource_alert", count: 1 },
      ],
      results: [
        { name: "denied", count: 3 },
        { name: "success", count: 3 },
        { name: "failure", count: 1 },
        { name: "interrupted", count: 1 },
        { name: "rejected", count: 1 },
      ],
      tools: [
        { name: "shell_exec", count: 8 },
        { name: "run_code", count: 1 },
      ],
      roles: [
        { name: "coder", count: 8 },
        { name: "none", count: 1 },
      ],
      agents: [
        { name: "a", count: 7 },
        { name: "b", count: 1 },
        { name: "none", count: 1 },
      ],
      riskLevels: [
        { name: "none", count: 7 },
        { name: "safe", count: 2 },
      ],
      refusals: [
        { name: "no rule of a policy", count: 2 },
        { name: "policy.yaml: policies.tools.shell_exec.denied_commands[0]", count: 2 },
      ],
      deciders: [
        {
          by: "alice",
          count: 3,
          outcomes: { approved: 2, rejected: 1 },
          halfWithinMs: expect.closeTo(2000, -3),
          longestMs: 30_000,
        },
      ],
      interrupted: 1,
      hosts: [
        { host: "b.example", allowed: 0, denied: 5, failed: 0, bytesSent: 0, bytesReceived: 0 },
        { host: "a.example", allowed: 1, denied: 0, failed: 1, bytesSent: 10, bytesReceived: 20 },
      ],
      sessions: [
        { sessionId: "s", count: 7, cpuTimeMs: 50, refused: 3 },
        { sessionId: "none", count: 1, cpuTimeMs: 0, refused: 0 },
        { sessionId: "t", count: 1, cpuTimeMs: 0, refused: 1 },
      ],
      rules: ["policy.yaml: policies.tools.shell_exec.denied_commands[0]"],
      leftOut: [],
    });
  });

  it("is of a span of time, and tells the largest of each", async () => {
    for (let day = 1; day <= 9; day++) {
      now = new Date(`2026-02-0${day}T12:00:00Z`);
      await attempt({ result: "success", sessionId: `day-${day}` });
    }
    const { records, first, last, sessions, leftOut } = await reportAudit(directory, {
      since: "2026-02-03T00:00:00Z",
      until: "2026-02-08T00:00:00Z",
      top: 2,
    });
    expect({ records, first, last, leftOut }).toEqual({
      records: 5,
      first: "2026-02-03T12:00:00.000Z",
      last: "2026-02-07T12:00:00.000Z",
      leftOut: ["sessions"],
    });
    expect(sessions.map(({ sessionId }) => sessionId)).toEqual(["day-3", "day-4"]);
    await expect(reportAudit(join(directory, "none"))).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
  });
});

describe("what a report keeps in memory", () => {
  it("is the largest rows, however many there are", () => {
    const rows = new TopRows(() => ({ count: 0 }), 100);
    for (let index = 0; index < 50_000; index++) {
      rows.count(`rare-${index}`);
      if (index % 10 === 0) rows.count("often");
    }
    expect(rows.top(1)).toEqual([{ key: "often", count: 5000 }]);
    expect([rows.top().length <= 100, rows.hasLeftOut]).toEqual([true, true]);
  });

  it("is durations to within a fifth", () => {
    const durations = new Durations();
    expect(durations.describe()).toBeUndefined();
    for (let ms = 1; ms <= 10_000; ms++) durations.add(ms);
    for (const nothing of [-1, Number.NaN, Number.POSITIVE_INFINITY]) durations.add(nothing);
    const { halfWithinMs, longestMs } = durations.describe()!;
    expect([halfWithinMs / 5000 > 0.99, halfWithinMs / 5000 < 1.21, longestMs]).toEqual([true, true, 10_000]);
  });
});

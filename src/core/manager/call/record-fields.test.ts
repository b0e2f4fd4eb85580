import { beforeEach, describe, expect, it } from "vitest";
import { requires } from "../../../../test/setup/requires.js";
import { ToolCallFixture } from "../../../../test/setup/tool-call-fixture.js";
import {
  AutoApproveConfirmationService,
  CallbackConfirmationService,
} from "../../../guard/confirmation/index.js";
import { parsePolicy } from "../../../guard/policy/index.js";
import { SandboxMonitor } from "../../metrics/index.js";
import { SandboxManager, SessionSandbox } from "../index.js";
import type { ToolCall } from "./tool-call.js";

const real = requires("root", "bubblewrap", "cgroups", "python3");
const SAFE = { language: "python", code: "print(42)" };
const ASKS = "policies: { tools: { shell_exec: { risk_level: high, requires_confirmation: true } } }";

let fixture: ToolCallFixture;

beforeEach(async () => {
  fixture = await ToolCallFixture.open();
});

describe("a call's record", () => {
  it("names the session that the caller named, also where all share one sandbox", async () => {
    const manager = fixture.manager({ backend: "faulty", mode: "shared" });
    await manager.execute({ ...SAFE, sessionId: "ann" });
    await manager.execute({ ...SAFE, sessionId: "ben" });
    const [ann, ben] = await fixture.records();
    expect([ann?.session_id, ben?.session_id]).toEqual(["ann", "ben"]);
    expect(ann?.sandbox_id).toBe(ben?.sandbox_id);
  });

  it("names the session of the manager where the call names none", async () => {
    const manager = fixture.manager({ backend: "faulty", sessionId: "mine" });
    await manager.execute(SAFE);
    await manager.execute({ ...SAFE, sessionId: "other" });
    expect((await fixture.records()).map(({ session_id }) => session_id)).toEqual(["mine", "other"]);
  });

  it("names the policy's rule with its file, but not where that lies, and a built-in one as such", async () => {
    const policy = parsePolicy(
      "policies:\n  tools:\n    shell_exec: {}\n    system_admin: {}\n",
      "/home/ann/policies/ours.yaml",
    );
    const { stateDir, audit } = fixture;
    const manager = new SandboxManager({ stateDir, audit, policy, backend: "faulty", handleSignals: false });
    await manager.execute({ command: "true" });
    await manager.execute({ tool: "system_admin", command: "true" });
    await manager.close();
    expect((await fixture.records()).map((record) => record.policy_rule)).toEqual([
      "ours.yaml: policies.tools.shell_exec (line 3)",
      "built in",
    ]);
  });

  it("does not know how much went over the network of the host", async () => {
    await fixture.manager({ backend: "subprocess" }).execute(SAFE);
    const { network_bytes_sent, network_bytes_recv } = await fixture.onlyRecord();
    expect([network_bytes_sent, network_bytes_recv]).toEqual([null, null]);
  });
});

real.describe("a call's record, of a sandbox with walls", () => {
  it("knows that nothing went over a network that is not there", async () => {
    await fixture.manager().execute(SAFE);
    const { network_bytes_sent, network_bytes_recv } = await fixture.onlyRecord();
    expect([network_bytes_sent, network_bytes_recv]).toEqual([0, 0]);
  });

  it("says so when more files were read than it lists", async () => {
    const manager = fixture.manager();
    const write = "import os\nos.mkdir('d')\nfor n in range(1100): open(f'd/{n}', 'w').write('x')";
    const read = "for n in range(1100): open(f'd/{n}').read()";
    await manager.execute({ sessionId: "s", language: "python", code: write });
    await manager.execute({ sessionId: "s", language: "python", code: read });
    const [, record] = await fixture.records();
    // The program's own file is among the thousand that were noticed, and not among those that it read.
    expect(record?.files_read?.length).toBeLessThanOrEqual(1000);
    expect(record?.files_read).toContain("d/0");
    expect(record?.details).toMatchObject({ files_read_truncated: true });
  });

  it("of an alert names the sandbox, its session and what it used", async () => {
    const monitor = new SandboxMonitor({ thresholds: { memoryPercent: 0.001 }, metrics: fixture.metrics });
    const manager = fixture.manager({ monitor });
    const { sandboxId } = await manager.execute({ ...SAFE, sessionId: "s" });
    const sample = await monitor.sample(sandboxId);
    expect(sample?.alerts).toContain("memory");
    expect(await fixture.records("resource_alert")).toMatchObject([
      {
        sandbox_id: sandboxId,
        session_id: "s",
        result: null,
        details: { resource: "memory", threshold: 0.001, percent: expect.any(Number) },
      },
    ]);
    // Another manager's sandbox is not recorded, and a closed manager records nothing.
    const alert = { resource: "cpu", percent: 99, threshold: 80, at: new Date(), sample: sample! } as const;
    monitor.emit("alert", { ...alert, sandboxId: "sbx-of-somebody-else" });
    await manager.close();
    monitor.emit("alert", { ...alert, sandboxId });
    expect(await fixture.records("resource_alert")).toHaveLength(1);
    monitor.close();
  });
});

describe("an approval for the session", () => {
  it.each<[string, ToolCall, number]>([
    ["is remembered for that session", { sessionId: "s" }, 1],
    ["is not remembered without a session", {}, 2],
  ])("%s", async (_, call, times) => {
    let asked = 0;
    const confirmation = new CallbackConfirmationService(() => {
      asked++;
      return { decision: "approve", scope: "session", by: "ann" };
    });
    const manager = fixture.manager({ policy: ASKS, confirmation });
    for (let n = 0; n < 2; n++) {
      expect(await manager.execute({ command: "true", ...call })).toMatchObject({
        success: true,
        confirmation: { approved: true, by: "ann" },
      });
    }
    expect(asked).toBe(times);
    expect(
      (await fixture.records()).map(({ confirmation, decided_by }) => [confirmation, decided_by]),
    ).toEqual([
      ["approved", "ann"],
      ["approved", "ann"],
    ]);
  });

  it("does not help code that is edited again and again", async () => {
    let edits = 0;
    const confirmation = new CallbackConfirmationService(() => ({
      decision: "edit",
      code: `echo ${edits++}`,
      by: "ann",
    }));
    const manager = fixture.manager({ policy: ASKS, confirmation });
    expect(await manager.execute({ command: "true" })).toMatchObject({ reason: "rejected", sandboxId: "" });
    expect(edits).toBe(5);
    expect(await fixture.onlyRecord()).toMatchObject({ result: "rejected", confirmation: "rejected" });
    expect(await fixture.counted()).toEqual([
      'executions{tool="shell_exec",language="none",status="rejected"} 1',
      'policy_violations{tool="shell_exec",reason="confirmation"} 1',
    ]);
  });
});

describe("a SessionSandbox", () => {
  it.each([
    ["policy", () => parsePolicy(ASKS, "policy.yaml")],
    ["securityMode", () => "strict"],
    ["confirmation", () => new AutoApproveConfirmationService()],
    ["audit", () => fixture.audit],
    ["metrics", () => fixture.metrics],
  ])("refuses a %s that would never be asked", async (name, create) => {
    const { stateDir } = fixture;
    await expect(SessionSandbox.open("s", { stateDir, [name]: create() })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining(name),
    });
  });
});

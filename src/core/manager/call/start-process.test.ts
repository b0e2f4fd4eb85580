import { beforeEach, expect, it } from "vitest";
import { requires } from "../../../../test/setup/requires.js";
import { ToolCallFixture } from "../../../../test/setup/tool-call-fixture.js";
import { CallbackConfirmationService } from "../../../guard/confirmation/index.js";
import type { SendableSignal } from "../../../runtime/sandbox/index.js";
import { parseConfig } from "../../config/index.js";
import type { GuardedProcess, OutputPiece, SandboxManager } from "../index.js";

const ASKS = "policies: { tools: { shell_exec: { requires_confirmation: true } } }";

let fixture: ToolCallFixture;

beforeEach(async () => {
  fixture = await ToolCallFixture.open();
});

/** Everything that it prints until its end, or until a text comes on standard output. */
async function printed(
  { output }: GuardedProcess,
  until?: string,
): Promise<{ stdout: string; stderr: string }> {
  const seen = { stdout: "", stderr: "" };
  for await (const { type, data } of output.iterator({
    destroyOnReturn: false,
  }) as AsyncIterable<OutputPiece>) {
    seen[type] += String(data);
    if (until !== undefined && seen.stdout.includes(until)) break;
  }
  return seen;
}

/** A session that is asked for twice has one sandbox. */
const start = (manager: SandboxManager, command: string, more: object = {}) =>
  manager.startProcess({ sessionId: "s", command, ...more });

requires("root", "bubblewrap", "cgroups").describe("a process", () => {
  it("prints, hears signals, runs beside other calls, and leaves one record", async () => {
    const manager = fixture.manager();
    const process = await start(
      manager,
      "trap 'echo heard TERM; exit 7' TERM; echo err >&2; echo $GREETING; while :; do sleep 0.02; done",
      { env: { GREETING: "ready" }, agentId: "agent-1", requestId: "r-1" },
    );
    await printed(process, "ready");
    expect(await manager.execute({ sessionId: "s", command: "echo beside" })).toMatchObject({
      stdout: "beside\n",
    });
    expect(() => process.signal("SIGNOTHING" as SendableSignal)).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
    process.signal("SIGTERM");
    expect((await printed(process)).stdout).toBe("heard TERM\n");
    const result = await process.exit;
    expect(result).toMatchObject({ reason: "exited", exitCode: 7, stdout: "", sessionId: "s" });
    process.signal("SIGKILL");
    await process.close();
    const records = await fixture.records();
    expect(records.filter(({ id }) => id === result.auditId)).toMatchObject([
      {
        result: "failure",
        exit_code: 7,
        agent_id: "agent-1",
        details: { background: true, request_id: "r-1", env: "GREETING" },
      },
    ]);
    expect(records).toHaveLength(2);
    await fixture.expectNothingLeft(manager);
  });

  it("has no time limit of its own, and keeps its sandbox from being idle", async () => {
    const config = await parseConfig({
      sandbox: { runtime: { timeout: "200ms", idleTimeout: "200ms" } },
    });
    const manager = fixture.manager({ config });
    const process = await start(manager, "echo one; sleep 1.5; echo two");
    expect((await printed(process)).stdout).toBe("one\ntwo\n");
    expect(await process.exit).toMatchObject({ success: true });
    await fixture.expectNothingLeft(manager);
  });

  it.each([
    ["the call's time", { timeoutMs: 300 }, "", "timeout"],
    ["the policy's time", {}, "max_execution_time: 300ms", "timeout"],
    ["the policy's output", { command: "yes" }, "max_output: 1KB", "output-limit"],
  ])("has %s where there is one", async (_, call, settings, reason) => {
    const manager = fixture.manager({ policy: `policies: { tools: { shell_exec: { ${settings} } } }` });
    const process = await start(manager, "sleep 60", call);
    process.output.resume();
    expect(await process.exit).toMatchObject({ success: false, reason });
    expect(await fixture.onlyRecord()).toMatchObject({ result: reason });
    await fixture.expectNothingLeft(manager);
  });

  it("is held back while its output is not read, and loses nothing", async () => {
    const manager = fixture.manager();
    const process = await start(manager, "head -c 9000000 /dev/zero | tr '\\0' x; echo end > end");
    await expect.poll(() => process.output.readableLength).toBeGreaterThanOrEqual(16);
    expect(await (await manager.startSandbox("s")).files.exists("end")).toBe(false);
    expect((await printed(process)).stdout.length).toBe(9_000_000);
    expect(await process.exit).toMatchObject({ success: true, filesWritten: ["end"] });
    await fixture.expectNothingLeft(manager);
  });

  it("is ended with the manager, also when it is not read", async () => {
    const manager = fixture.manager();
    const process = await start(manager, "trap '' TERM HUP; yes");
    await expect.poll(() => process.output.readableLength).toBeGreaterThanOrEqual(16);
    await manager.close();
    expect(await process.exit).toMatchObject({ reason: "cancelled" });
    expect(await fixture.onlyRecord()).toMatchObject({ result: "cancelled", details: { background: true } });
    await fixture.expectNothingLeft(manager);
  });

  it("that may not start is an error and a record", async () => {
    const reject = new CallbackConfirmationService(() => ({ decision: "reject", reason: "no", by: "ann" }));
    const cases = [
      [{ policy: "policies: { tools: { shell_exec: { denied_commands: [curl] } } }" }, "POLICY_DENIED"],
      [{ policy: ASKS, confirmation: reject }, "CONFIRMATION_REJECTED"],
      [{ mode: "disabled" as const }, "SANDBOX_DISABLED"],
    ] as const;
    for (const [options, code] of cases) {
      const manager = fixture.manager(options);
      await expect(start(manager, "curl http://x")).rejects.toMatchObject({ code });
      await fixture.expectNothingLeft(manager);
    }
    expect((await fixture.records()).map(({ result }) => result)).toEqual(["denied", "rejected", "denied"]);
  });

  it("is not covered by an approval for the session of the same command that ends", async () => {
    const asked: unknown[] = [];
    const manager = fixture.manager({
      policy: ASKS,
      confirmation: new CallbackConfirmationService(({ surroundings }) => {
        asked.push(surroundings);
        return { decision: "approve", scope: "session" };
      }),
    });
    await manager.execute({ sessionId: "s", command: "true" });
    await (await start(manager, "true")).exit;
    await (await start(manager, "true")).exit;
    expect(asked).toEqual([{}, { background: "It runs until it exits or is stopped." }]);
    await fixture.expectNothingLeft(manager);
  });
});

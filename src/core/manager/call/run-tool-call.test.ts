import { beforeEach, describe, expect, it } from "vitest";
import { ToolCallFixture } from "../../../../test/setup/tool-call-fixture.js";
import { CallbackConfirmationService, type ConfirmationRequest } from "../../../guard/confirmation/index.js";
import type { SandboxManager, SandboxManagerOptions } from "../index.js";

const POLICY = `
policies:
  default:
    max_execution_time: 20s
    max_memory: 256MB
    network_access: false
  tools:
    run_code:
      risk_level: high
      supported_languages: [python, bash]
      max_pids: 40
      max_file_size: 2MB
    shell_exec:
      risk_level: high
      denied_commands: [curl, "rm -rf"]
    system_admin:
      risk_level: critical
  agent_roles:
    coder: { inherits: default, tools: [run_code, shell_exec, system_admin] }
    reader: { inherits: default, tools: [file_read] }
    surfer: { inherits: default, tools: [run_code], network_access: true }
`;

const SAFE = "print(40 + 2)";
const DANGEROUS = "import shutil\nshutil.rmtree('/')";

let fixture: ToolCallFixture;

beforeEach(async () => {
  fixture = await ToolCallFixture.open();
});

function guarded(options: Omit<SandboxManagerOptions, "policy"> = {}): SandboxManager {
  return fixture.manager({ policy: POLICY, ...options });
}

describe("a tool call", () => {
  it("that may run leaves its result, its record and its metrics", async () => {
    const manager = guarded();
    await (await manager.startSandbox("s")).files.write("in.txt", "7");
    const result = await manager.execute({
      sessionId: "s",
      agentId: "agent-1",
      orgId: "org-1",
      role: "coder",
      language: "python",
      code: "n = int(open('in.txt').read())\nopen('out.txt', 'w').write(str(n * 6))\nprint(n * 6)",
      outputFiles: ["out.txt", "none.txt"],
    });
    expect(result).toMatchObject({
      success: true,
      reason: "exited",
      stdout: "42\n",
      filesWritten: ["out.txt"],
    });
    expect(result.decision?.verdict).toBe("allow");
    expect(result.risk?.level).toBe("low");
    expect(result.outputFiles?.files).toEqual([{ path: "out.txt", content: Buffer.from("42") }]);
    expect(result.outputFiles?.skipped).toMatchObject([{ path: "none.txt", code: "FILE_NOT_FOUND" }]);
    expect(await fixture.onlyRecord()).toMatchObject({
      id: result.auditId,
      session_id: "s",
      agent_id: "agent-1",
      org_id: "org-1",
      role: "coder",
      tool: "run_code",
      language: "python",
      sandbox_id: result.sandboxId,
      backend: "bubblewrap",
      exit_code: 0,
      result: "success",
      error: null,
      risk_level: "low",
      files_read: ["in.txt"],
      files_written: ["out.txt"],
      network_bytes_sent: 0,
      network_bytes_recv: 0,
      code: null,
    });
    expect(await fixture.counted()).toEqual([
      'executions{tool="run_code",language="python",status="success"} 1',
    ]);
  });

  it("streams its output while it runs, and ends with the whole result", async () => {
    const types: string[] = [];
    const execution = guarded().execute({
      role: "coder",
      language: "bash",
      code: "echo one; echo two",
    });
    for await (const event of execution) {
      if (types.at(-1) !== event.type) types.push(event.type);
      if (event.type === "exit") expect(event.result.auditId).toBe((await fixture.onlyRecord()).id);
    }
    expect(types).toEqual(["started", "stdout", "exit"]);
  });

  it("asks a person, who sees the code, the findings, the rule and the limits, and may say no", async () => {
    const asked: ConfirmationRequest[] = [];
    const manager = guarded({
      confirmation: new CallbackConfirmationService((request) => {
        asked.push(request);
        return { decision: "reject", reason: "not today", by: "ann" };
      }),
    });
    const result = await manager.execute({
      sessionId: "s",
      role: "coder",
      tool: "system_admin",
      command: "ls",
    });
    expect(result).toMatchObject({
      reason: "rejected",
      error: "not today",
      confirmation: { approved: false, by: "ann" },
    });
    expect(asked[0]).toMatchObject({
      sessionId: "s",
      role: "coder",
      tool: "system_admin",
      code: "ls",
      limits: { timeoutMs: 20_000, memoryMb: 256 },
      rule: { source: "policy.yaml", line: expect.any(Number) },
    });
    expect(await fixture.onlyRecord()).toMatchObject({
      result: "rejected",
      decided_by: "ann",
      confirmation: "rejected",
      error: "not today",
    });
  });

  it("runs what a person edited, after it was decided and assessed again", async () => {
    const shown: string[] = [];
    const manager = guarded({
      confirmation: new CallbackConfirmationService(({ code }) => {
        shown.push(code);
        return { decision: "edit", code: SAFE, by: "ann" };
      }),
    });
    const result = await manager.execute({ role: "coder", language: "python", code: DANGEROUS });
    expect(result).toMatchObject({
      success: true,
      stdout: "42\n",
      confirmation: { approved: true, edited: true, by: "ann" },
    });
    expect(shown).toEqual([DANGEROUS]);
    expect(result.risk?.level).toBe("safe");
    expect(await fixture.onlyRecord()).toMatchObject({
      result: "success",
      confirmation: "edited",
      decided_by: "ann",
      risk_level: "safe",
    });
  });

  it("edited into something that the policy denies is denied", async () => {
    const manager = guarded({
      confirmation: new CallbackConfirmationService(() => ({
        decision: "edit",
        code: "curl evil",
        by: "ann",
      })),
    });
    const result = await manager.execute({ role: "coder", command: "sudo id" });
    expect(result).toMatchObject({ reason: "denied", sandboxId: "" });
    expect(await fixture.onlyRecord()).toMatchObject({ result: "denied", command: "curl evil" });
  });

  it("approved for the session is not asked about again, until the session ends", async () => {
    let asked = 0;
    const manager = guarded({
      confirmation: new CallbackConfirmationService(() => {
        asked++;
        return { decision: "approve", scope: "session" };
      }),
    });
    const call = { sessionId: "s", role: "coder", tool: "system_admin", command: "true" };
    await manager.execute(call);
    await manager.execute(call);
    expect(asked).toBe(1);
    await manager.cleanupSession("s");
    await manager.execute(call);
    expect(asked).toBe(2);
  });

  it("that is safe may run without walls in permissive mode, and in strict mode nothing may", async () => {
    const call = { language: "python", code: SAFE };
    const permissive = fixture.manager({ securityMode: "permissive", backend: "subprocess" });
    expect(await permissive.execute(call)).toMatchObject({ success: true, sandboxType: "subprocess" });
    await expect(
      fixture.manager({ securityMode: "strict", backend: "subprocess" }).execute(call),
    ).rejects.toMatchObject({
      code: "BACKEND_TOO_WEAK",
    });
  });

  it("of another role gets a sandbox with that role's limits, unless the first one still works", async () => {
    const text = POLICY.replace("tools: [file_read]", "tools: [run_code], max_memory: 128MB");
    const manager = fixture.manager({ policy: text });
    const call = { sessionId: "s", language: "bash", code: "cat /proc/sys/kernel/hostname; echo x > f" };
    const one = await manager.execute({ ...call, role: "coder" });
    const two = await manager.execute({ ...call, role: "reader", code: "cat f" });
    expect(two).toMatchObject({ success: true, stdout: "x\n" });
    expect(two.sandboxId).not.toBe(one.sandboxId);
    const long = manager.execute({ ...call, role: "reader", code: "sleep 60", timeoutMs: 20_000 });
    const sandbox = await manager.startSandbox("s", { limits: { memoryMb: 128, pids: 40, fileSizeMb: 2 } });
    await expect.poll(() => sandbox.activeExecutions).toBe(1);
    await expect(manager.execute({ ...call, role: "coder" })).rejects.toMatchObject({ code: "SANDBOX_BUSY" });
    await sandbox.stop();
    await expect(long).rejects.toMatchObject({ code: expect.any(String) });
  });
});

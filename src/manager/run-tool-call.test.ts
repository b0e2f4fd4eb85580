import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AuditLogger, type AuditRecord, verifyAudit } from "../audit/index.js";
import type { BackendFactory } from "../backends/backend.js";
import { registerBackend } from "../backends/registry.js";
import { createSubprocessBackend } from "../backends/subprocess/index.js";
import { CallbackConfirmationService, type ConfirmationRequest } from "../confirmation/index.js";
import { createMetrics, type Metrics } from "../metrics/index.js";
import { parsePolicy } from "../policy/index.js";
import { SandboxManager, type SandboxManagerOptions } from "./index.js";

const POLICY = `
policies:
  default:
    max_execution_time: 20s
    max_memory: 256MB
    network_access: false
  tools:
    code_run:
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
    coder: { inherits: default, tools: [code_run, shell_exec, system_admin] }
    reader: { inherits: default, tools: [file_read] }
    surfer: { inherits: default, tools: [code_run], network_access: true }
`;

const SAFE = "print(40 + 2)";
const DANGEROUS = "import shutil\nshutil.rmtree('/')";

/** The real subprocess backend, with failures on demand. */
const faults = { create: false, destroy: false };
const createFaulty: BackendFactory = (context) => {
  const real = createSubprocessBackend(context);
  return {
    name: "failing",
    probe: async () => {
      const probe = await real.probe();
      return { ...probe, capabilities: { ...probe.capabilities, isolates: true, network: "none" } };
    },
    reap: async () => 0,
    async create(spec) {
      if (faults.create) throw new Error("the walls fell down");
      return real.create(spec);
    },
  };
};
registerBackend("failing", createFaulty);

let stateDir: string;
let metrics: Metrics;
let audit: AuditLogger;
const managers: SandboxManager[] = [];

beforeEach(async () => {
  stateDir = mkdtempSync(join(tmpdir(), "skerry-tool-call-"));
  chmodSync(stateDir, 0o711);
  faults.create = false;
  metrics = await createMetrics();
  audit = new AuditLogger({ directory: join(stateDir, "audit") });
});

afterEach(async () => {
  await Promise.allSettled(managers.splice(0).map((manager) => manager.close()));
  await audit.close();
  rmSync(stateDir, { recursive: true, force: true });
});

function open(options: SandboxManagerOptions = {}): SandboxManager {
  const manager = new SandboxManager({ stateDir, audit, metrics, handleSignals: false, ...options });
  managers.push(manager);
  return manager;
}

function guarded(options: SandboxManagerOptions = {}): SandboxManager {
  return open({ policy: parsePolicy(POLICY, "policy.yaml"), ...options });
}

/** Every execution's record, oldest first. */
function records(): AuditRecord[] {
  const directory = join(stateDir, "audit");
  return readdirSync(directory)
    .filter((name) => name.endsWith(".jsonl"))
    .sort()
    .flatMap((name) => readFileSync(join(directory, name), "utf8").trim().split("\n"))
    .map((line) => JSON.parse(line) as AuditRecord)
    .filter(({ event_type }) => event_type === "sandbox_execution");
}

/** The one record of the one call a test made; the chain around it is whole. */
async function onlyRecord(): Promise<AuditRecord> {
  await audit.flush();
  const all = records();
  expect(all).toHaveLength(1);
  expect((await verifyAudit(join(stateDir, "audit"))).ok).toBe(true);
  return all[0]!;
}

async function counted(line: string): Promise<boolean> {
  return (await metrics.text()).split("\n").includes(line);
}

describe("a tool call", () => {
  it("that may run leaves its result, its record and its metrics", async () => {
    const manager = guarded();
    await (await manager.getSandbox("s")).files.write("in.txt", "7");
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
    expect(await onlyRecord()).toMatchObject({
      id: result.auditId,
      session_id: "s",
      agent_id: "agent-1",
      org_id: "org-1",
      role: "coder",
      tool: "code_run",
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
    expect(
      await counted('sandbox_executions_total{tool="code_run",language="python",status="success"} 1'),
    ).toBe(true);
  });

  it("streams its output while it runs, and ends with the whole result", async () => {
    const types: string[] = [];
    const execution = guarded().execute({
      role: "coder",
      language: "bash",
      code: "echo one; echo two",
      stream: true,
    });
    for await (const event of execution) {
      if (types.at(-1) !== event.type) types.push(event.type);
      if (event.type === "exit") expect(event.result.auditId).toBe((await onlyRecord()).id);
    }
    expect(types).toEqual(["started", "stdout", "exit"]);
  });

  it.each([
    ["an unknown role", { role: "king", language: "python", code: SAFE }, "role"],
    ["a tool that the role does not have", { role: "reader", language: "python", code: SAFE }, "tool"],
    ["an unknown tool", { role: "coder", tool: "rocket_launch", language: "python", code: SAFE }, "tool"],
    ["a language that is not listed", { role: "coder", language: "javascript", code: "1" }, "language"],
    ["a denied command", { role: "coder", command: "ls; c\\url http://x" }, "command"],
    ["a denied command inside another program", { role: "coder", argv: ["env", "curl", "x"] }, "command"],
    ["what cannot be parsed", { role: "coder", command: "if then ((" }, "command"],
  ])("is denied for %s, and nothing starts", async (_, call, reason) => {
    const manager = guarded();
    const result = await manager.execute(call);
    expect(result).toMatchObject({ success: false, reason: "denied", sandboxId: "", exitCode: null });
    expect(result.error).toMatch(/policy\.yaml|role|tool/);
    const record = await onlyRecord();
    expect(record).toMatchObject({
      result: "denied",
      sandbox_id: null,
      exit_code: null,
      execution_time_ms: null,
    });
    const tool = record.tool === "rocket_launch" ? "other" : record.tool;
    expect(await counted(`sandbox_policy_violations_total{tool="${tool}",reason="${reason}"} 1`)).toBe(true);
    expect(await manager.listSessions()).toEqual([]);
  });

  it.each([
    ["no code at all", {}],
    ["code and a command", { language: "python", code: "1", command: "ls" }],
    ["code without a language", { code: "1" }],
    ["a NUL character", { language: "python", code: "print('a\0b')" }],
    ["10 MB of code", { language: "python", code: `x = 1 #${"x".repeat(10_000_000)}` }],
    ["a session name that escapes", { sessionId: "../x", language: "python", code: SAFE }],
    ["an argv that is none", { argv: [1, 2] as unknown as string[] }],
  ])("with %s is an error with a record", async (_, call) => {
    await expect(guarded().execute(call)).rejects.toMatchObject({ hint: expect.any(String) });
    expect(await onlyRecord()).toMatchObject({ result: "error", sandbox_id: null });
  });

  it("is rejected when it is dangerous and nobody can be asked", async () => {
    const result = await guarded().execute({ role: "coder", language: "python", code: DANGEROUS });
    expect(result).toMatchObject({ success: false, reason: "rejected", sandboxId: "" });
    expect(result.risk?.level).toBe("critical");
    expect(await onlyRecord()).toMatchObject({
      result: "rejected",
      confirmation: "no-service",
      risk_level: "critical",
    });
    expect(
      await counted('sandbox_executions_total{tool="code_run",language="python",status="rejected"} 1'),
    ).toBe(true);
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
    expect(await onlyRecord()).toMatchObject({
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
    expect(await onlyRecord()).toMatchObject({
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
    expect(await onlyRecord()).toMatchObject({ result: "denied", command: "curl evil" });
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

  it("cancelled while a person is asked ends, and says so", async () => {
    const controller = new AbortController();
    const manager = guarded({
      confirmation: new CallbackConfirmationService(() => {
        controller.abort();
        return new Promise(() => undefined);
      }),
    });
    const call = { role: "coder", tool: "system_admin", command: "ls", signal: controller.signal };
    expect(await manager.execute(call)).toMatchObject({ reason: "cancelled" });
    expect(await onlyRecord()).toMatchObject({ result: "cancelled" });
  });

  it("is refused where the backend is weaker than the code needs", async () => {
    const call = { language: "python", code: "import socket\nsocket.create_connection(('a', 1))" };
    const manager = open({ securityMode: "strict", backend: "subprocess" });
    await expect(manager.execute(call)).rejects.toMatchObject({ code: "BACKEND_TOO_WEAK" });
    expect(await onlyRecord()).toMatchObject({ result: "denied", sandbox_id: null });
    await expect(
      open({ securityMode: "strict" }).execute({ ...call, backend: "subprocess" }),
    ).rejects.toMatchObject({
      code: "BACKEND_TOO_WEAK",
    });
  });

  it("that is safe may run without walls in permissive mode, and in strict mode nothing may", async () => {
    const call = { language: "python", code: SAFE };
    const permissive = open({ securityMode: "permissive", backend: "subprocess" });
    expect(await permissive.execute(call)).toMatchObject({ success: true, sandboxType: "subprocess" });
    await expect(open({ securityMode: "strict", backend: "subprocess" }).execute(call)).rejects.toMatchObject(
      {
        code: "BACKEND_TOO_WEAK",
      },
    );
  });

  it("is refused where the backend cannot enforce a limit of the policy", async () => {
    const manager = guarded({ backend: "failing" });
    await expect(manager.execute({ role: "coder", language: "python", code: SAFE })).rejects.toMatchObject({
      code: "POLICY_UNENFORCEABLE",
      hint: expect.any(String),
    });
    expect(await onlyRecord()).toMatchObject({ result: "denied", sandbox_id: null });
    expect(await manager.listSessions()).toEqual([]);
  });

  it("is refused where the policy grants hosts that the backend cannot tell apart", async () => {
    await expect(guarded().execute({ role: "surfer", language: "python", code: SAFE })).rejects.toMatchObject(
      {
        code: "POLICY_UNENFORCEABLE",
      },
    );
    expect(await onlyRecord()).toMatchObject({ result: "denied" });
  });

  it("whose sandbox does not start is an error with a record, and leaves no session", async () => {
    faults.create = true;
    const manager = open({ backend: "failing" });
    await expect(manager.execute({ sessionId: "s", language: "python", code: SAFE })).rejects.toMatchObject({
      code: "SANDBOX_START_FAILED",
    });
    expect(await onlyRecord()).toMatchObject({
      result: "error",
      error: expect.stringContaining("the walls fell down"),
    });
    expect(
      await counted('sandbox_executions_total{tool="code_run",language="python",status="error"} 1'),
    ).toBe(true);
    expect(await manager.listSessions()).toEqual([]);
  });

  it("whose files cannot be put in place does not run", async () => {
    const call = { language: "bash", code: "touch ran", files: { "../x": "no" } };
    const manager = open();
    await expect(manager.execute({ sessionId: "s", ...call })).rejects.toMatchObject({
      code: "PATH_TRAVERSAL",
    });
    expect(await onlyRecord()).toMatchObject({ result: "error" });
    const names = await (await manager.getSandbox("s")).files.list(".");
    expect(names).toEqual([]);
  });

  it.each([
    ["times out", { language: "python", code: "while True: pass", timeoutMs: 200 }, "timeout", {}],
    ["is killed for memory", { language: "python", code: "x = b'x' * 10**9" }, "memory", { exit_code: null }],
    ["prints too much", { language: "bash", code: "yes", maxOutputBytes: 1000 }, "output-limit", {}],
    ["fails", { language: "python", code: "raise SystemExit(3)" }, "failure", { exit_code: 3 }],
  ])("that %s leaves a record of it", async (_, call, result, more) => {
    const { reason } = await guarded().execute({ role: "coder", ...call });
    if (result !== "failure") expect(reason).toBe(result);
    const record = await onlyRecord();
    expect(record).toMatchObject({ result, error: expect.any(String), ...more });
    expect(record.sandbox_id).toMatch(/^sbx-/);
  });

  it("whose sandbox dies while it runs is an error with a record", async () => {
    const manager = open();
    const running = manager.execute({ sessionId: "s", language: "bash", code: "sleep 60" });
    const lost = expect(running).rejects.toMatchObject({ code: expect.stringMatching(/^SANDBOX_/) });
    const sandbox = await manager.getSandbox("s");
    await expect.poll(() => sandbox.activeExecutions).toBe(1);
    await sandbox.stop();
    await lost;
    expect(await onlyRecord()).toMatchObject({ result: "error" });
  });

  it("whose output cannot be brought back still has its one record", async () => {
    const call = { language: "bash", code: "true", outputFiles: ["../../etc/passwd"] };
    await expect(open().execute(call)).rejects.toMatchObject({ code: "PATH_TRAVERSAL" });
    expect(await onlyRecord()).toMatchObject({ result: "error" });
  });

  it("does not run when it cannot be written down", async () => {
    const broken = new AuditLogger({ directory: "/proc/skerry-cannot-be-here" });
    const manager = open({ audit: broken });
    const call = { sessionId: "s", language: "bash", code: "touch ran" };
    await expect(manager.execute(call)).rejects.toMatchObject({ code: "AUDIT_FAILED" });
    expect(await manager.listSessions()).toEqual([]);
    await broken.close().catch(() => undefined);
  });

  it("has the limits of its policy inside", async () => {
    const code = `
import os, resource
print(resource.getrlimit(resource.RLIMIT_NPROC)[0], resource.getrlimit(resource.RLIMIT_FSIZE)[0])
try:
    open("big", "wb").write(b"x" * 3_000_000)
except OSError as error:
    print(error.strerror)
`;
    const result = await guarded().execute({ role: "coder", language: "python", code });
    expect(result.stdout).toBe(`40 ${2 * 1024 * 1024}\nFile too large\n`);
  });

  it("of another role gets a sandbox with that role's limits, unless the first one still works", async () => {
    const text = POLICY.replace("tools: [file_read]", "tools: [code_run], max_memory: 128MB");
    const manager = open({ policy: parsePolicy(text, "policy.yaml") });
    const call = { sessionId: "s", language: "bash", code: "cat /proc/sys/kernel/hostname; echo x > f" };
    const one = await manager.execute({ ...call, role: "coder" });
    const two = await manager.execute({ ...call, role: "reader", code: "cat f" });
    expect(two).toMatchObject({ success: true, stdout: "x\n" });
    expect(two.sandboxId).not.toBe(one.sandboxId);
    const long = manager.execute({ ...call, role: "reader", code: "sleep 60", timeoutMs: 20_000 });
    const sandbox = await manager.getSandbox("s", { limits: { memoryMb: 128, pids: 40, fileSizeMb: 2 } });
    await expect.poll(() => sandbox.activeExecutions).toBe(1);
    await expect(manager.execute({ ...call, role: "coder" })).rejects.toMatchObject({ code: "SANDBOX_BUSY" });
    await sandbox.stop();
    await expect(long).rejects.toMatchObject({ code: expect.any(String) });
  });
});

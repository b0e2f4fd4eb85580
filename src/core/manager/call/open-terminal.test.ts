import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { beforeEach, describe, expect, it } from "vitest";
import { requires } from "../../../../test/setup/requires.js";
import { faults, killFromHost, ToolCallFixture } from "../../../../test/setup/tool-call-fixture.js";
import type { AuditRecord } from "../../../guard/audit/index.js";
import { CallbackConfirmationService, type ConfirmationRequest } from "../../../guard/confirmation/index.js";
import type { GuardedTerminal, SandboxManager, SandboxManagerOptions, TerminalCall } from "../index.js";

const real = requires("root", "bubblewrap", "cgroups");

const SIZE = { rows: 24, columns: 80 };
const TOOL = "shell_exec";
const OPEN = "policies: { tools: { shell_exec: { max_file_size: 2MB } } }";
const ASKS = "policies: { tools: { shell_exec: { requires_confirmation: true } } }";
const NEVER_RAN = { sandbox_id: null, backend: null, exit_code: null, execution_time_ms: null };

const status = (value: string) => `executions{tool="${TOOL}",language="none",status="${value}"} 1`;
const violation = (reason: string) => `policy_violations{tool="${TOOL}",reason="${reason}"} 1`;

let fixture: ToolCallFixture;

beforeEach(async () => {
  fixture = await ToolCallFixture.open();
});

/** A terminal on which something stays until it is ended. */
async function openBusy(manager: SandboxManager, call: Partial<TerminalCall> = {}): Promise<GuardedTerminal> {
  const terminal = await manager.openTerminal({
    ...SIZE,
    argv: ["bash", "-c", "echo x > f; echo ready; sleep 60"],
    ...call,
  });
  for await (const chunk of terminal.output.iterator({ destroyOnReturn: false })) {
    if (String(chunk).includes("ready")) break;
  }
  return terminal;
}

async function expectOnly(
  manager: SandboxManager,
  record: Partial<Record<keyof AuditRecord, unknown>>,
  counted: readonly string[],
) {
  const only = await fixture.onlyRecord();
  expect(only).toMatchObject({ tool: TOOL, language: null, details: { terminal: true }, ...record });
  expect(await fixture.counted()).toEqual(counted);
  await fixture.expectNothingLeft(manager, only.sandbox_id);
}

real.describe("a terminal", () => {
  it("takes what is typed, shows what comes of it, changes its size, and leaves one record", async () => {
    const manager = fixture.manager({ policy: OPEN });
    const terminal = await manager.openTerminal({
      ...SIZE,
      sessionId: "s",
      agentId: "agent-1",
      orgId: "org-1",
      env: { PS1: "" },
    });
    const seen = text(terminal.output);
    terminal.resize(31, 97);
    await terminal.write("stty -echo; stty size; ulimit -f; echo $TERM; echo x > typed.txt\n");
    await terminal.write(Buffer.from("exit 3\n"));
    const result = await terminal.exit;
    expect(result).toMatchObject({
      success: false,
      reason: "exited",
      exitCode: 3,
      stdout: "",
      filesWritten: [".bash_history", "typed.txt"],
      sandboxType: "bubblewrap",
      sessionId: "s",
      decision: { verdict: "allow" },
      risk: { level: "medium", detectedPatterns: ["interactive-shell", "script", "terminal"] },
    });
    expect(await seen).toContain("31 97\r\n2048\r\nxterm-256color\r\n");
    // Input is dropped now.
    await terminal.write("echo late\n");
    await terminal.close();
    expect(result.auditId).toBe((await fixture.onlyRecord()).id);
    await expectOnly(
      manager,
      {
        result: "failure",
        exit_code: 3,
        session_id: "s",
        agent_id: "agent-1",
        org_id: "org-1",
        command: "bash -i",
        risk_level: "medium",
        decided_by: "policy",
        policy_rule: "policy.yaml: policies.tools.shell_exec (line 1)",
        sandbox_id: result.sandboxId,
        backend: "bubblewrap",
        files_written: [".bash_history", "typed.txt"],
        details: { terminal: true, env: "PS1" },
      },
      [status("error")],
    );
  });

  it("is thrown away with its files where no session is named, and is the manager's where that has one", async () => {
    const argv = ["sh", "-c", "echo x > f"];
    const manager = fixture.manager();
    const thrown = await manager.openTerminal({ ...SIZE, argv });
    expect(await thrown.exit).toMatchObject({ success: true, sessionId: expect.stringMatching(/^once-/) });
    expect(await manager.listSessions()).toEqual([]);
    const named = fixture.manager({ sessionId: "mine" });
    const kept = await named.openTerminal({ ...SIZE, argv });
    expect(await kept.exit).toMatchObject({ success: true, sessionId: "mine" });
    expect((await named.listSessions()).map(({ sessionId }) => sessionId)).toEqual(["mine"]);
    await fixture.expectNothingLeft(manager);
    await fixture.expectNothingLeft(named);
  });

  it("keeps the session's sandbox from making way for a call with other limits", async () => {
    const policy = `
policies:
  tools: { shell_exec: {}, run_code: { max_memory: 64MB } }
`;
    const manager = fixture.manager({ policy });
    const terminal = await openBusy(manager, { sessionId: "s" });
    const call = { sessionId: "s", language: "bash", code: "cat f" };
    await expect(manager.execute(call)).rejects.toMatchObject({ code: "SANDBOX_BUSY" });
    await terminal.close();
    expect(await manager.execute(call)).toMatchObject({ stdout: "x\n" });
    await fixture.expectNothingLeft(manager);
  });

  it("holds the program back while its output is not read, and loses nothing", async () => {
    const manager = fixture.manager();
    const terminal = await manager.openTerminal({
      ...SIZE,
      argv: ["bash", "-c", "head -c 8000000 /dev/zero | tr '\\0' x; echo; echo end > end"],
      sessionId: "s",
    });
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(await (await manager.startSandbox("s")).files.exists("end")).toBe(false);
    expect((await text(terminal.output)).length).toBe(8_000_002);
    expect(await terminal.exit).toMatchObject({ success: true, filesWritten: ["end"] });
    await fixture.expectNothingLeft(manager);
  });

  it("is asked about with its command and a note that input is unknown, and may be edited", async () => {
    const asked: ConfirmationRequest[] = [];
    const manager = fixture.manager({
      policy: ASKS,
      confirmation: new CallbackConfirmationService((request) => {
        asked.push(request);
        return asked.length === 1
          ? { decision: "edit", code: "echo edited", by: "ann" }
          : { decision: "approve", scope: "once", by: "ann" };
      }),
    });
    const terminal = await manager.openTerminal({ ...SIZE, argv: ["echo", "as it", "was"] });
    expect(await text(terminal.output)).toBe("edited\r\n");
    expect(await terminal.exit).toMatchObject({ confirmation: { approved: true, edited: true, by: "ann" } });
    expect(asked.map(({ code }) => code)).toEqual(["echo 'as it' was", "echo edited"]);
    expect(asked[0]).toMatchObject({
      tool: TOOL,
      riskLevel: "medium",
      surroundings: { terminal: "What will be typed into it cannot be checked in advance." },
      findings: [{ rule: "terminal", level: "medium" }],
    });
    await expectOnly(
      manager,
      { result: "success", confirmation: "edited", decided_by: "ann", command: "echo edited" },
      [status("success")],
    );
  });

  it("is not covered by an approval for the session of the same command without a terminal", async () => {
    let asked = 0;
    const manager = fixture.manager({
      policy: ASKS,
      confirmation: new CallbackConfirmationService(() => {
        asked++;
        return { decision: "approve", scope: "session" };
      }),
    });
    const argv = ["cat"];
    await manager.execute({ sessionId: "s", argv });
    await manager.execute({ sessionId: "s", argv });
    expect(asked).toBe(1);
    await (await manager.openTerminal({ ...SIZE, sessionId: "s", argv })).close();
    expect(asked).toBe(2);
    await fixture.expectNothingLeft(manager);
  });
});

interface Refusal {
  readonly what: string;
  readonly call?: unknown;
  readonly options?: Omit<SandboxManagerOptions, "policy"> & { policy?: string };
  readonly faults?: Partial<typeof faults>;
  readonly code: string;
  readonly message?: string;
  readonly record: Partial<Record<keyof AuditRecord, unknown>>;
  readonly counted: readonly string[];
}

const denied = (what: string, settings: string, reason: string, message: string): Refusal => ({
  what,
  options: { policy: `policies: { tools: { shell_exec: { ${settings} } } }` },
  code: "POLICY_DENIED",
  message: `denied by policy.yaml: ${message}`,
  record: { result: "denied", error: `denied by policy.yaml: ${message}` },
  counted: [status("denied"), violation(reason)],
});

const refused = (
  what: string,
  code: string,
  reason: string,
  options: NonNullable<Refusal["options"]>,
  call: Partial<TerminalCall> = {},
): Refusal => ({
  what,
  call: { ...SIZE, ...call },
  options,
  code,
  record: { result: "denied", error: expect.stringContaining(`${code}: `) },
  counted: [status("denied"), violation(reason)],
});

const invalid = (what: string, call: unknown): Refusal => ({
  what,
  call,
  code: "INVALID_ARGUMENT",
  record: { result: "error", error: expect.stringContaining("INVALID_ARGUMENT: ") },
  counted: [status("error")],
});

const rejected = (
  what: string,
  confirmation: string,
  message: string,
  service?: CallbackConfirmationService,
): Refusal => ({
  what,
  options: { policy: ASKS, ...(service !== undefined && { confirmation: service }) },
  code: "CONFIRMATION_REJECTED",
  message: `${message} (needs a confirmation by policy.yaml:1 (policies.tools.shell_exec.requires_confirmation): shell_exec needs a confirmation)`,
  record: { result: "rejected", confirmation },
  counted: [status("rejected"), violation("confirmation")],
});

const COMMANDS = "it has rules about commands, which cannot be enforced in a terminal";
const PATHS = "it has rules about paths, which cannot be enforced in a terminal";
const REFUSALS: readonly Refusal[] = [
  denied("rules about commands", "denied_commands: [curl]", "command", COMMANDS),
  denied("commands to be confirmed", "confirm_commands: [git push]", "command", COMMANDS),
  denied("denied paths", "denied_paths: [.env]", "path", PATHS),
  denied(
    "a risk that is not to be passed",
    "max_risk: high",
    "risk",
    "it allows high risk at most, and what will be typed is unknown",
  ),
  {
    what: "a role that must not",
    call: { ...SIZE, role: "reader" },
    options: {
      policy: "policies: { tools: { shell_exec: {} }, agent_roles: { reader: { tools: [file_read] } } }",
    },
    code: "POLICY_DENIED",
    record: {
      result: "denied",
      role: "reader",
      policy_rule: expect.stringMatching(/^policy\.yaml: .*reader/),
    },
    counted: [status("denied"), violation("tool")],
  },
  {
    what: "no role where there are roles",
    options: {
      policy: "policies: { tools: { shell_exec: {} }, agent_roles: { coder: { tools: [shell_exec] } } }",
    },
    code: "POLICY_DENIED",
    record: { result: "denied", policy_rule: null },
    counted: [status("denied"), violation("role")],
  },
  rejected(
    "a person who says no",
    "rejected",
    "rejected by ann: not today",
    new CallbackConfirmationService(() => ({ decision: "reject", reason: "not today", by: "ann" })),
  ),
  rejected(
    "no confirmation service",
    "no-service",
    "rejected: This needs a confirmation, and no confirmation service is set up: give the manager one as confirmation (docs/tools.md)",
  ),
  refused("no walls in strict mode", "BACKEND_TOO_WEAK", "backend", {
    backend: "subprocess",
    securityMode: "strict",
  }),
  refused(
    "no walls in permissive mode either",
    "BACKEND_TOO_WEAK",
    "backend",
    { backend: "subprocess", securityMode: "permissive" },
    { argv: ["true"] },
  ),
  refused("a network that cannot be divided", "POLICY_UNENFORCEABLE", "unenforceable", {
    backend: "faulty",
    policy: "policies: { tools: { shell_exec: { network_access: true } } }",
  }),
  refused("a limit that cannot be enforced", "POLICY_UNENFORCEABLE", "unenforceable", {
    backend: "faulty",
    policy: OPEN,
  }),
  refused("sandboxes that are switched off", "SANDBOX_DISABLED", "backend", { mode: "disabled" }),
  invalid("no call at all", null),
  invalid("an empty command", { ...SIZE, argv: [] }),
  invalid("a terminal without a size", {}),
  invalid("a terminal of no size", { rows: 0, columns: 80 }),
  {
    what: "a backend that does not start",
    call: { ...SIZE, sessionId: "s" },
    options: { backend: "faulty" },
    faults: { create: true },
    code: "SANDBOX_START_FAILED",
    record: { result: "error", session_id: "s", error: expect.stringContaining("the walls fell down") },
    counted: [status("error")],
  },
];

describe("a terminal that does not open leaves one error, one record and one count, and nothing else", () => {
  it.each(REFUSALS)("for $what", async ({ call = SIZE, options, faults: wrong, code, message, ...left }) => {
    Object.assign(faults, wrong);
    const manager = fixture.manager(options);
    const opening = manager.openTerminal(call as TerminalCall);
    await expect(opening).rejects.toMatchObject({ code, ...(message !== undefined && { message }) });
    expect(await manager.listSessions()).toEqual([]);
    await expectOnly(manager, { ...NEVER_RAN, ...left.record }, left.counted);
  });

  it("for a command that is not there", async () => {
    const manager = fixture.manager({ backend: "faulty" });
    const opening = manager.openTerminal({ ...SIZE, argv: ["no-such-command"] });
    await expect(opening).rejects.toMatchObject({ code: "COMMAND_NOT_FOUND" });
    const record = { result: "error", exit_code: null, sandbox_id: expect.any(String), backend: "faulty" };
    await expectOnly(manager, record, [status("error")]);
  });

  it("for a manager that is closed", async () => {
    const manager = fixture.manager({ backend: "faulty" });
    await manager.close();
    await expect(manager.openTerminal(SIZE)).rejects.toMatchObject({ code: "SANDBOX_NOT_RUNNING" });
    await expectOnly(manager, { ...NEVER_RAN, result: "error" }, [status("error")]);
  });

  it("for a log that cannot be written", async () => {
    // A file where the directory should be.
    writeFileSync(fixture.auditDir, "");
    const manager = fixture.manager({ backend: "faulty" });
    await expect(manager.openTerminal({ ...SIZE, sessionId: "s" })).rejects.toMatchObject({
      code: "AUDIT_FAILED",
    });
    expect(await manager.listSessions()).toEqual([]);
    expect(await fixture.counted()).toEqual([status("error")]);
  });

  it("for a signal that aborted before", async () => {
    const manager = fixture.manager({ backend: "faulty" });
    const call = { ...SIZE, signal: AbortSignal.abort() };
    await expect(manager.openTerminal(call)).rejects.toMatchObject({ code: "CANCELLED" });
    await expectOnly(manager, { result: "cancelled" }, [status("cancelled")]);
  });

  it.each([
    ["its signal aborts", (_: SandboxManager, controller: AbortController) => controller.abort()],
    ["the manager is closed", (manager: SandboxManager) => void manager.close()],
  ])("when %s while a person is asked, who broke no rule", async (_, act) => {
    const controller = new AbortController();
    const manager: SandboxManager = fixture.manager({
      backend: "faulty",
      policy: ASKS,
      confirmation: new CallbackConfirmationService(() => {
        act(manager, controller);
        return new Promise(() => undefined);
      }),
    });
    const opening = manager.openTerminal({ ...SIZE, signal: controller.signal });
    await expect(opening).rejects.toMatchObject({ code: "CANCELLED" });
    await expectOnly(manager, { ...NEVER_RAN, result: "cancelled", confirmation: "cancelled" }, [
      status("cancelled"),
    ]);
  });
});

real.describe("a terminal that is ended while it is open", () => {
  const ran = { sandbox_id: expect.stringMatching(/^sbx-/), backend: "bubblewrap" };
  const cancelled = { ...ran, result: "cancelled", files_written: ["f"] };

  it("by its signal is cancelled", async () => {
    const manager = fixture.manager();
    const controller = new AbortController();
    const terminal = await openBusy(manager, { signal: controller.signal });
    controller.abort();
    expect(await terminal.exit).toMatchObject({ success: false, reason: "cancelled", filesWritten: ["f"] });
    await expectOnly(manager, cancelled, [status("cancelled")]);
  });

  it("by closing it is cancelled, and over when that resolves", async () => {
    const manager = fixture.manager();
    const terminal = await openBusy(manager);
    await terminal.close();
    await expectOnly(manager, cancelled, [status("cancelled")]);
  });

  it("by leaving its output is cancelled", async () => {
    const manager = fixture.manager();
    const terminal = await openBusy(manager);
    terminal.output.destroy();
    expect(await terminal.exit).toMatchObject({ reason: "cancelled" });
    await expectOnly(manager, cancelled, [status("cancelled")]);
  });

  it("by closing the manager is cancelled, also when it is not read", async () => {
    const manager = fixture.manager();
    const terminal = await manager.openTerminal({ ...SIZE, argv: ["sh", "-c", "echo x > f; yes"] });
    await expect.poll(() => terminal.output.readableLength).toBeGreaterThan(1024 * 1024 - 1);
    await manager.close();
    await expectOnly(manager, cancelled, [status("cancelled")]);
    expect(await terminal.exit).toMatchObject({ reason: "cancelled" });
  });

  it("by the end of its sandbox is lost, and the session goes on", async () => {
    const manager = fixture.manager();
    const terminal = await openBusy(manager, { sessionId: "s" });
    const { id } = await manager.startSandbox("s");
    killFromHost(id);
    await expect(terminal.exit).rejects.toMatchObject({ code: "SANDBOX_LOST" });
    expect(terminal.output.readableEnded || terminal.output.read() === null).toBe(true);
    expect(await fixture.onlyRecord()).toMatchObject({
      ...ran,
      result: "error",
      error: expect.stringContaining("SANDBOX_LOST: "),
      details: { terminal: true },
    });
    expect(await fixture.counted()).toEqual([status("error")]);
    const next = await manager.openTerminal({ ...SIZE, sessionId: "s", argv: ["cat", "f"] });
    expect(await text(next.output)).toBe("x\r\n");
    await fixture.expectNothingLeft(manager, id);
  });

  it.each([
    ["too much time", { timeoutMs: 300 }, "", "timeout", "Execution timeout (0.3s)"],
    ["the policy's time", {}, "max_execution_time: 300ms", "timeout", "Execution timeout (0.3s)"],
    [
      "too much output",
      { maxOutputBytes: 1000, argv: ["yes"] },
      "",
      "output-limit",
      "Killed: the output limit was reached",
    ],
    [
      "the policy's output",
      { argv: ["yes"] },
      "max_output: 1KB",
      "output-limit",
      "Killed: the output limit was reached",
    ],
  ])("by %s says so", async (_, call, settings, reason, error) => {
    const manager = fixture.manager({ policy: `policies: { tools: { shell_exec: { ${settings} } } }` });
    const terminal = await manager.openTerminal({ ...SIZE, argv: ["sleep", "60"], ...call });
    const seen = text(terminal.output);
    expect(await terminal.exit).toMatchObject({ success: false, reason, error });
    expect((await seen).length).toBeLessThanOrEqual(1024);
    await expectOnly(manager, { ...ran, result: reason, error }, [status(reason)]);
  });

  it("by the end of this process would leave a record of what was known when it began", async () => {
    const manager = fixture.manager();
    const terminal = await openBusy(manager, { agentId: "agent-1" });
    const [journal] = fixture.openAttempts();
    const noted = readFileSync(join(fixture.auditDir, "pending", journal!), "utf8");
    expect(JSON.parse(noted.trim())).toMatchObject({
      body: { tool: TOOL, agent_id: "agent-1", details: { terminal: true } },
    });
    await terminal.close();
    await fixture.expectNothingLeft(manager);
  });
});

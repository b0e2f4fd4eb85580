import { rmSync, writeFileSync } from "node:fs";
import { beforeEach, describe, expect, it } from "vitest";
import { requires } from "../../../../test/setup/requires.js";
import { faults, killFromHost, ToolCallFixture } from "../../../../test/setup/tool-call-fixture.js";
import type { AuditRecord } from "../../../guard/audit/index.js";
import { CallbackConfirmationService } from "../../../guard/confirmation/index.js";
import { MAX_CODE_BYTES } from "../../../kit/code-limits.js";
import { parseConfig } from "../../config/index.js";
import type { SandboxManagerOptions } from "../index.js";
import type { ToolCall } from "./tool-call.js";

const real = requires("root", "bubblewrap", "cgroups", "python3");

const POLICY = `
policies:
  default:
    max_execution_time: 20s
    max_memory: 256MB
    network_access: false
  tools:
    run_code: { risk_level: high, supported_languages: [python, bash] }
    shell_exec: { risk_level: high, denied_commands: [curl], denied_paths: [/etc/**] }
    system_admin: { risk_level: critical }
  agent_roles:
    coder: { inherits: default, tools: [run_code, shell_exec, system_admin] }
    reader: { inherits: default, tools: [file_read] }
    careful: { inherits: default, tools: [run_code], max_risk: low }
    surfer: { inherits: default, tools: [run_code], network_access: true }
`;
const SAFE = { language: "python", code: "print(42)" };
const DANGEROUS = { language: "python", code: "import shutil\nshutil.rmtree('/')" };
const ASKED = { role: "coder", tool: "system_admin", command: "ls" };
const NEVER_RAN = { sandbox_id: null, backend: null, exit_code: null, execution_time_ms: null };

const QUICK_TO_GIVE_UP = await parseConfig({ sandbox: { confirmation: { timeout: "100ms" } } });

let fixture: ToolCallFixture;

beforeEach(async () => {
  fixture = await ToolCallFixture.open();
});

interface FailurePath {
  readonly what: string;
  readonly call: ToolCall;
  /** Left out: the policy above, the best backend. */
  readonly options?: Omit<SandboxManagerOptions, "policy"> & { policy?: string };
  readonly faults?: Partial<typeof faults>;
  /** The error's code, or the result's reason. */
  readonly rejects?: string;
  readonly reason?: string;
  readonly record: Partial<Record<keyof AuditRecord, unknown>>;
  readonly counted: readonly string[];
}

const status = (value: string, tool = "run_code", language = "python") =>
  `executions{tool="${tool}",language="${language}",status="${value}"} 1`;
const violation = (reason: string, tool = "run_code") =>
  `policy_violations{tool="${tool}",reason="${reason}"} 1`;
const ran = { sandbox_id: expect.stringMatching(/^sbx-/), execution_time_ms: expect.any(Number) };

const denied = (
  what: string,
  call: ToolCall,
  reason: string,
  [tool, language] = ["run_code", "python"],
): FailurePath => ({
  what,
  call,
  reason: "denied",
  record: { ...NEVER_RAN, result: "denied", error: expect.any(String) },
  counted: [status("denied", tool, language), violation(reason, tool)],
});

const invalid = (what: string, call: unknown, rejects: string, counted: string): FailurePath => ({
  what,
  call: call as ToolCall,
  rejects,
  record: { ...NEVER_RAN, result: "error", error: expect.stringContaining(`${rejects}: `) },
  counted: [counted],
});

const refused = (
  what: string,
  call: ToolCall,
  rejects: string,
  reason: string,
  options: FailurePath["options"] = {},
): FailurePath => ({
  what,
  call,
  options,
  rejects,
  record: { ...NEVER_RAN, result: "denied", error: expect.stringContaining(`${rejects}: `) },
  counted: [status("denied"), violation(reason)],
});

const rejected = (
  what: string,
  call: ToolCall,
  confirmation: string,
  service?: CallbackConfirmationService,
): FailurePath => ({
  what,
  call,
  options: {
    policy: POLICY,
    config: QUICK_TO_GIVE_UP,
    ...(service !== undefined && { confirmation: service }),
  },
  reason: "rejected",
  record: { ...NEVER_RAN, result: "rejected", confirmation, error: expect.any(String) },
  counted: [
    status("rejected", call.tool ?? "run_code", call.language ?? "none"),
    violation("confirmation", call.tool),
  ],
});

const ended = (what: string, call: ToolCall, reason: string, record: FailurePath["record"]): FailurePath => ({
  what,
  call: { role: "coder", ...call },
  reason,
  record: { ...ran, backend: "bubblewrap", error: expect.any(String), result: reason, ...record },
  counted: [status(record.result === "failure" ? "error" : reason, "run_code", call.language)],
});

const SHELL = "shell_exec";
const PATHS: readonly FailurePath[] = [
  invalid("nothing to run", {}, "INVALID_ARGUMENT", status("error", SHELL, "none")),
  invalid("no call at all", null, "INVALID_ARGUMENT", status("error", SHELL, "none")),
  invalid("a text instead of a call", "ls", "INVALID_ARGUMENT", status("error", SHELL, "none")),
  invalid("a number for code", { ...SAFE, code: 5 }, "INVALID_ARGUMENT", status("error", SHELL)),
  invalid(
    "an argv of things that are no texts",
    { argv: [Object.create(null)] },
    "INVALID_ARGUMENT",
    status("error", SHELL, "none"),
  ),
  invalid("a code and a command", { ...SAFE, command: "ls" }, "INVALID_ARGUMENT", status("error")),
  invalid("code without a language", { code: "1" }, "INVALID_ARGUMENT", status("error", "run_code", "none")),
  invalid("a NUL character", { ...SAFE, code: "a\0b" }, "INVALID_ARGUMENT", status("error")),
  invalid(
    "code that is too long",
    { ...SAFE, code: "x".repeat(MAX_CODE_BYTES + 1) },
    "FILE_TOO_LARGE",
    status("error"),
  ),
  invalid("an escaping session", { ...SAFE, sessionId: "../x" }, "SESSION_NAME_INVALID", status("error")),
  invalid("an escaping input", { ...SAFE, files: { "../x": "" } }, "PATH_TRAVERSAL", status("error")),
  invalid("an escaping output", { ...SAFE, outputFiles: ["../x"] }, "PATH_TRAVERSAL", status("error")),
  denied("an unknown role", { ...SAFE, role: "king" }, "role"),
  denied("no role where there are roles", SAFE, "role"),
  denied("a tool that the role does not have", { ...SAFE, role: "reader" }, "tool"),
  denied("an unknown tool", { ...SAFE, role: "coder", tool: "rocket" }, "tool", ["other", "python"]),
  denied("a language that is not listed", { role: "coder", language: "javascript", code: "1" }, "language", [
    "run_code",
    "javascript",
  ]),
  denied("a denied command", { role: "coder", command: "ls; c\\url x" }, "command", [SHELL, "none"]),
  denied("a denied command inside another", { role: "coder", argv: ["env", "curl"] }, "command", [
    SHELL,
    "none",
  ]),
  denied("a command that cannot be parsed", { role: "coder", command: "if ((" }, "command", [SHELL, "none"]),
  denied("a denied path", { role: "coder", command: "cat /etc/passwd" }, "path", [SHELL, "none"]),
  denied("more risk than allowed", { ...DANGEROUS, role: "careful" }, "risk"),
  rejected("dangerous code without a confirmation service", { ...DANGEROUS, role: "coder" }, "no-service"),
  rejected(
    "a person who says no",
    ASKED,
    "rejected",
    new CallbackConfirmationService(() => ({ decision: "reject", by: "ann" })),
  ),
  rejected(
    "a person who does not answer",
    ASKED,
    "timeout",
    new CallbackConfirmationService(() => new Promise(() => undefined)),
  ),
  rejected(
    "a service that fails",
    ASKED,
    "failed",
    new CallbackConfirmationService(() => {
      throw new Error("no line");
    }),
  ),
  refused("walls that are too weak", { ...SAFE, backend: "subprocess" }, "BACKEND_TOO_WEAK", "backend"),
  refused(
    "a limit that cannot be enforced",
    { ...SAFE, role: "coder" },
    "POLICY_UNENFORCEABLE",
    "unenforceable",
    {
      policy: POLICY,
      backend: "faulty",
    },
  ),
  refused(
    "a network that cannot be divided",
    { ...SAFE, role: "surfer" },
    "POLICY_UNENFORCEABLE",
    "unenforceable",
    { policy: POLICY, backend: "subprocess", securityMode: "permissive" },
  ),
  refused(
    "a network that cannot be closed",
    { ...SAFE, role: "coder" },
    "POLICY_UNENFORCEABLE",
    "unenforceable",
    { policy: POLICY, backend: "subprocess", securityMode: "permissive" },
  ),
  refused(
    "walls that are too weak for the code",
    { language: "python", code: "import socket\nsocket.create_connection(('a', 1))" },
    "BACKEND_TOO_WEAK",
    "backend",
    { backend: "subprocess", securityMode: "strict" },
  ),
  refused("a limit of the manager that cannot be enforced", SAFE, "LIMIT_UNENFORCEABLE", "limit", {
    backend: "faulty",
    limits: { memoryMb: 64 },
  }),
  refused("a manager that is switched off", SAFE, "SANDBOX_DISABLED", "backend", { mode: "disabled" }),
  {
    what: "a sandbox that does not start",
    call: { ...SAFE, sessionId: "s" },
    options: { backend: "faulty" },
    faults: { create: true },
    rejects: "SANDBOX_START_FAILED",
    record: { ...NEVER_RAN, result: "error", error: expect.stringContaining("the walls fell down") },
    counted: [status("error")],
  },
  {
    what: "input files that do not fit",
    call: { ...SAFE, files: { "a/b": "", a: "" } },
    options: {},
    rejects: "FILE_TYPE",
    record: {
      result: "error",
      sandbox_id: ran.sandbox_id,
      backend: "bubblewrap",
      exit_code: null,
      files_written: null,
      details: { files: expect.stringMatching(/^2 files, sha256:/) },
    },
    counted: [status("error")],
  },
  ended("too much time", { language: "python", code: "while True: pass", timeoutMs: 300 }, "timeout", {}),
  ended("too much memory", { language: "python", code: "x = b'x' * 10**9" }, "memory", {}),
  ended("too much output", { language: "bash", code: "yes", maxOutputBytes: 1000 }, "output-limit", {}),
  ended("a failure of its own", { language: "python", code: "open('f','w')\nexit(3)" }, "exited", {
    result: "failure",
    exit_code: 3,
    files_written: ["f"],
  }),
];

real.describe(
  "a tool call that ends early leaves one result, one record and one count, and nothing else",
  () => {
    it.each(PATHS)("for $what", async (path) => {
      Object.assign(faults, path.faults);
      const manager = fixture.manager(path.options ?? (needsPolicy(path) ? { policy: POLICY } : {}));
      if (path.rejects !== undefined) {
        await expect(manager.execute(path.call)).rejects.toMatchObject({ code: path.rejects });
      } else {
        const result = await manager.execute(path.call);
        expect(result).toMatchObject({ success: false, reason: path.reason, error: expect.any(String) });
        expect(result.auditId).toBe((await fixture.onlyRecord()).id);
      }
      const record = await fixture.onlyRecord();
      expect(record).toMatchObject(path.record);
      expect(await fixture.counted()).toEqual(path.counted);
      expect(await manager.listSessions()).toEqual([]);
      await fixture.expectNothingLeft(manager, record.sandbox_id);
    });
  },
);

function needsPolicy({ call, reason }: FailurePath): boolean {
  return reason === "denied" || typeof call?.role === "string";
}

/** A program that says when it runs and then stays. */
const STAYS = { language: "bash", code: "echo x > f; echo ready; sleep 60" };

real.describe("a tool call that is ended while it runs", () => {
  it("by a kill of everything in its sandbox is lost, and the next one of the session works", async () => {
    const manager = fixture.manager();
    const running = manager.execute({ ...STAYS, sessionId: "s" });
    const lost = expect(
      untilReady(running, async () => killFromHost((await manager.startSandbox("s")).id)),
    ).rejects.toMatchObject({ code: "SANDBOX_LOST" });
    await lost;
    const record = await fixture.onlyRecord();
    expect(record).toMatchObject({
      result: "error",
      session_id: "s",
      sandbox_id: ran.sandbox_id,
      backend: "bubblewrap",
      exit_code: null,
      error: expect.stringContaining("SANDBOX_LOST: "),
    });
    expect(await fixture.counted()).toEqual([status("error", "run_code", "bash")]);
    const next = await manager.execute({ sessionId: "s", command: "cat f" });
    expect(next).toMatchObject({ success: true, stdout: "x\n" });
    expect(next.sandboxId).not.toBe(record.sandbox_id);
    await fixture.expectNothingLeft(manager, record.sandbox_id);
  });

  it("by its signal is cancelled", async () => {
    const controller = new AbortController();
    const manager = fixture.manager();
    const running = manager.execute({ ...STAYS, signal: controller.signal });
    await untilReady(running, async () => controller.abort());
    expect(await running).toMatchObject({ success: false, reason: "cancelled", filesWritten: ["f"] });
    await expectCancelled(manager);
  });

  it("by leaving its iterator is cancelled", async () => {
    const manager = fixture.manager();
    const running = manager.execute(STAYS);
    for await (const { type } of running) if (type === "stdout") break;
    expect(await running).toMatchObject({ success: false, reason: "cancelled" });
    await expectCancelled(manager);
  });

  it("by its signal before there is a sandbox is cancelled", async () => {
    const manager = fixture.manager();
    const call = { ...SAFE, signal: AbortSignal.abort() };
    await expect(manager.execute(call)).rejects.toMatchObject({ code: "CANCELLED" });
    expect(await fixture.onlyRecord()).toMatchObject({ result: "cancelled" });
    expect(await fixture.counted()).toEqual([status("cancelled")]);
    await fixture.expectNothingLeft(manager);
  });

  it("while a person is asked is cancelled, and no rule was broken", async () => {
    const controller = new AbortController();
    const confirmation = new CallbackConfirmationService(() => {
      controller.abort();
      return new Promise(() => undefined);
    });
    const manager = fixture.manager({ policy: POLICY, confirmation });
    const result = await manager.execute({ ...ASKED, signal: controller.signal });
    expect(result).toMatchObject({ reason: "cancelled", sandboxId: "" });
    expect(await fixture.onlyRecord()).toMatchObject({
      ...NEVER_RAN,
      result: "cancelled",
      confirmation: "cancelled",
    });
    expect(await fixture.counted()).toEqual([status("cancelled", "system_admin", "none")]);
    await fixture.expectNothingLeft(manager);
  });

  async function expectCancelled(manager: ReturnType<ToolCallFixture["manager"]>) {
    const record = await fixture.onlyRecord();
    expect(record).toMatchObject({
      ...ran,
      result: "cancelled",
      backend: "bubblewrap",
      files_written: ["f"],
    });
    expect(await fixture.counted()).toEqual([status("cancelled", "run_code", "bash")]);
    await fixture.expectNothingLeft(manager, record.sandbox_id);
  }

  async function untilReady(
    running: ReturnType<ReturnType<ToolCallFixture["manager"]>["execute"]>,
    act: () => Promise<void>,
  ) {
    for await (const { type } of running) if (type === "stdout") await act();
  }
});

describe("what fails after the code has run", () => {
  const WRITES = { language: "bash", code: "echo x > f; exit 4", backend: "faulty" };
  const kept = {
    ...ran,
    backend: "faulty",
    exit_code: 4,
    files_written: ["f"],
    details: expect.objectContaining({ output_files: "*" }),
  };

  it("does not take it out of the record: files that cannot be brought back", async () => {
    const manager = fixture.manager({ backend: "faulty" });
    const sandbox = await manager.startSandbox("s");
    // The disk under the workspace fails when its files are read.
    sandbox.files.collect = () => Promise.reject(new Error("the disk is gone"));
    const call = { ...WRITES, sessionId: "s", outputFiles: ["*"] };
    await expect(manager.execute(call)).rejects.toMatchObject({ code: "INTERNAL" });
    expect(await fixture.onlyRecord()).toMatchObject({ ...kept, result: "error" });
    expect(await fixture.counted()).toEqual([status("error", "run_code", "bash")]);
    await fixture.expectNothingLeft(manager);
  });

  it("does not change the result: a sandbox that does not want to go, which closing the manager tells", async () => {
    faults.destroy = true;
    const manager = fixture.manager({ backend: "faulty" });
    const result = await manager.execute({ ...WRITES, outputFiles: ["*"] });
    expect(result).toMatchObject({ reason: "exited", exitCode: 4, filesWritten: ["f"] });
    expect(await fixture.onlyRecord()).toMatchObject({ ...kept, result: "failure" });
    expect(await fixture.counted()).toEqual([status("error", "run_code", "bash")]);
    await expect(manager.close()).rejects.toMatchObject({ code: "INTERNAL" });
    await fixture.expectNothingLeft(manager);
  });

  it("does not undo it: metrics that throw", async () => {
    const broken = { ...fixture.metrics, recordExecution: fail, recordViolation: fail };
    const warnings: string[] = [];
    const listen = ({ message }: Error) => warnings.push(message);
    process.on("warning", listen);
    const manager = fixture.manager({ backend: "faulty", metrics: broken });
    expect(await manager.execute(SAFE)).toMatchObject({ success: true, stdout: "42\n" });
    expect(await fixture.onlyRecord()).toMatchObject({ ...ran, result: "success", exit_code: 0 });
    await expect.poll(() => warnings).toContain("A metric could not be counted: Error: cannot count");
    process.off("warning", listen);
    await fixture.expectNothingLeft(manager);
  });
});

function fail(): never {
  throw new Error("cannot count");
}

describe("a log that cannot be written", () => {
  it("keeps a call from running at all, which is counted", async () => {
    // A file where the directory should be.
    writeFileSync(fixture.auditDir, "");
    const manager = fixture.manager({ backend: "faulty" });
    const call = { ...SAFE, sessionId: "s" };
    await expect(manager.execute(call)).rejects.toMatchObject({ code: "AUDIT_FAILED" });
    expect(await manager.listSessions()).toEqual([]);
    expect(await fixture.counted()).toEqual([status("error")]);
    rmSync(fixture.auditDir);
  });

  it("makes a call an error when it breaks meanwhile; the sandbox goes all the same", async () => {
    await fixture.close();
    let works = true;
    const sink = { write: () => (works ? undefined : fail()) };
    fixture = await ToolCallFixture.open({ sinks: [sink] });
    const manager = fixture.manager({ backend: "faulty" });
    works = false;
    const call = { language: "bash", code: "echo x > f" };
    await expect(manager.execute(call)).rejects.toMatchObject({ code: "AUDIT_FAILED" });
    works = true;
    expect(await fixture.onlyRecord()).toMatchObject({
      ...ran,
      result: "success",
      exit_code: 0,
      files_written: ["f"],
    });
    expect(await fixture.counted()).toEqual([status("success", "run_code", "bash")]);
    await fixture.expectNothingLeft(manager);
  });

  it("also for a call that was denied, which still does not run", async () => {
    await fixture.close();
    let works = true;
    fixture = await ToolCallFixture.open({ sinks: [{ write: () => (works ? undefined : fail()) }] });
    const manager = fixture.manager({ policy: POLICY });
    works = false;
    await expect(manager.execute({ ...SAFE, role: "king" })).rejects.toMatchObject({ code: "AUDIT_FAILED" });
    works = true;
    expect(await fixture.onlyRecord()).toMatchObject({ ...NEVER_RAN, result: "denied" });
    expect(await fixture.counted()).toEqual([status("denied"), violation("role")]);
    expect(await manager.listSessions()).toEqual([]);
    await fixture.expectNothingLeft(manager);
  });
});

describe("a call to a manager that is closed", () => {
  it("leaves a record", async () => {
    const manager = fixture.manager({ backend: "faulty" });
    await manager.close();
    await expect(manager.execute(SAFE)).rejects.toMatchObject({ code: "SANDBOX_NOT_RUNNING" });
    expect(await fixture.onlyRecord()).toMatchObject({ ...NEVER_RAN, result: "error" });
    expect(await fixture.counted()).toEqual([status("error")]);
    await fixture.expectNothingLeft(manager);
  });
});

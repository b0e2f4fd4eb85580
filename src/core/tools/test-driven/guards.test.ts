import { createHash } from "node:crypto";
import { beforeEach, expect, it } from "vitest";
import { requires } from "../../../../test/setup/requires.js";
import { summaryOf } from "../../../../test/setup/test-driven.js";
import { ToolCallFixture } from "../../../../test/setup/tool-call-fixture.js";
import { CallbackConfirmationService, type ConfirmationRequest } from "../../../guard/confirmation/index.js";
import { PoolManager } from "../../../runtime/pool/index.js";
import { TestDrivenSandbox } from "./index.js";

const real = requires("root", "bubblewrap", "python3", "pytest");

const CODE = "def add(a, b): return a + b\n";
const TESTS = "from solution import add\ndef test_add(): assert add(1, 2) == 3\n";
const WIPES = `import shutil\n${CODE}def wipe(): shutil.rmtree('/')\n`;
const POLICY =
  "policies: { tools: { run_tests: { supported_languages: [python], denied_commands: [curl] } } }";

const hashOf = (text: string) => `sha256:${createHash("sha256").update(text).digest("hex")}`;

let fixture: ToolCallFixture;
beforeEach(async () => {
  fixture = await ToolCallFixture.open();
});

real.describe("a solution and its tests", () => {
  it("are two tool calls, with a record each of their own text and of nothing else", async () => {
    const manager = fixture.manager({ policy: POLICY });
    const report = await new TestDrivenSandbox(manager).executeWithTests(CODE, TESTS, {
      sessionId: "chat",
      agentId: "agent-1",
      orgId: "org-1",
    });
    expect(report.allPassed).toBe(true);
    const records = await fixture.records();
    expect(records.map(({ id }) => id).sort()).toEqual([...report.auditIds].sort());
    const [solution, tests] = report.auditIds.map((id) => records.find((each) => each.id === id));
    const shared = {
      tool: "run_tests",
      language: "python",
      session_id: "chat",
      agent_id: "agent-1",
      org_id: "org-1",
      result: "success",
      exit_code: 0,
      backend: "bubblewrap",
    };
    expect(solution).toMatchObject({
      ...shared,
      risk_level: "safe",
      code_hash: hashOf(CODE),
      details: { harness: "solution" },
    });
    expect(tests).toMatchObject({
      ...shared,
      risk_level: "low",
      code_hash: hashOf(TESTS),
      details: { harness: "tests" },
    });
    expect(solution?.sandbox_id).not.toBe(tests?.sandbox_id);
    expect(manager.hasSession("chat")).toBe(false);
    await fixture.expectNothingLeft(manager, solution?.sandbox_id);
  });

  it("leave the files of a session alone that they are run for", async () => {
    const manager = fixture.manager();
    await manager.execute({ sessionId: "chat", command: "echo mine > solution.py; echo mine > note.txt" });
    const code = "import os\ndef names(): return sorted(os.listdir())\n";
    const report = await new TestDrivenSandbox(manager).executeWithTests(
      code,
      [{ call: "names()", expected: ["solution.py"] }],
      { sessionId: "chat" },
    );
    expect(summaryOf(report).tests).toEqual({ "names()": "passed" });
    const { stdout } = await manager.execute({ sessionId: "chat", command: "cat solution.py note.txt; ls" });
    expect(stdout).toBe("mine\nmine\nnote.txt\nsolution.py\n");
  });

  it.each([
    ["the solution", "import os\nos.system('curl http://x')\n", TESTS, "solution", 1],
    ["the tests", CODE, `import os\n${TESTS}\ndef test_x(): os.system('curl http://x')\n`, "tests", 2],
  ])("do not run where the policy denies %s", async (_, code, tests, who, count) => {
    const manager = fixture.manager({ policy: POLICY });
    const report = await new TestDrivenSandbox(manager).executeWithTests(code, tests);
    expect({ ...summaryOf(report), error: report.error }).toEqual({
      outcome: "denied",
      allPassed: false,
      tests: {},
      error: expect.stringMatching(new RegExp(`^The ${who}: .*curl is not allowed`)),
    });
    const records = await fixture.records();
    expect(records.map(({ result, sandbox_id }) => [result, sandbox_id])).toEqual(
      count === 1
        ? [["denied", null]]
        : expect.arrayContaining([
            ["denied", null],
            ["cancelled", null],
          ]),
    );
    expect(records).toHaveLength(count);
    await fixture.expectNothingLeft(manager);
  });

  it("do not run where the calls of cases are denied", async () => {
    const manager = fixture.manager({ policy: POLICY });
    const report = await new TestDrivenSandbox(manager).executeWithTests(CODE, [
      { call: "__import__('os').system('curl http://x')", expected: 0 },
    ]);
    expect(report).toMatchObject({
      outcome: "denied",
      error: expect.stringContaining("curl is not allowed"),
    });
    await fixture.expectNothingLeft(manager);
  });

  it("are each shown to a person, who sees the cases too, and may say no or write something else", async () => {
    const asked: ConfirmationRequest[] = [];
    const answers: ("approve" | "reject" | "edit")[] = ["approve", "reject", "edit"];
    const manager = fixture.manager({
      securityMode: "strict",
      confirmation: new CallbackConfirmationService((request) => {
        asked.push(request);
        const decision = answers.shift()!;
        if (decision === "edit") return { decision, code: CODE };
        return decision === "approve" ? { decision, scope: "once" } : { decision, reason: "not so" };
      }),
    });
    const sandbox = new TestDrivenSandbox(manager);
    const dangerous = `import shutil\nshutil.rmtree('/')\n${TESTS}`;
    const rejected = await sandbox.executeWithTests(WIPES, dangerous);
    expect({ ...summaryOf(rejected), error: rejected.error }).toEqual({
      outcome: "rejected",
      allPassed: false,
      tests: {},
      error: "The tests: not so",
    });
    expect(asked.map(({ code }) => code)).toEqual([WIPES, dangerous]);

    const edited = await sandbox.executeWithTests(WIPES, [{ call: "add(1, 2)", expected: 3 }]);
    expect(summaryOf(edited)).toEqual({
      outcome: "passed",
      allPassed: true,
      tests: { "add(1, 2)": "passed" },
    });
    expect(asked[2]).toMatchObject({ code: WIPES, surroundings: { cases: "add(1, 2)" } });
    await fixture.expectNothingLeft(manager);
  });

  it("need walls as strong as their code asks for, and are not trustworthy without any", async () => {
    const strict = fixture.manager({ securityMode: "strict", backend: "subprocess" });
    await expect(new TestDrivenSandbox(strict).executeWithTests(CODE, TESTS)).rejects.toMatchObject({
      code: "BACKEND_TOO_WEAK",
    });
    const open = fixture.manager({ backend: "subprocess" });
    const report = await new TestDrivenSandbox(open).executeWithTests(CODE, TESTS);
    expect(report).toMatchObject({ allPassed: true, isTrustworthy: false });
  });

  it("wait for two sandboxes of a full pool one pair after the other", async () => {
    const pool = new PoolManager({
      backend: "bubblewrap",
      minInstances: 0,
      maxInstances: 2,
      acquireTimeoutMs: 20_000,
    });
    const manager = fixture.manager({ pool });
    const sandbox = new TestDrivenSandbox(manager);
    const reports = await Promise.all(Array.from({ length: 4 }, () => sandbox.executeWithTests(CODE, TESTS)));
    expect(reports.map(({ outcome }) => outcome)).toEqual(["passed", "passed", "passed", "passed"]);
    await fixture.expectNothingLeft(manager);
  });

  it("end with what keeps one of them from starting, and leave nothing", async () => {
    const pool = new PoolManager({
      backend: "bubblewrap",
      minInstances: 0,
      maxInstances: 1,
      acquireTimeoutMs: 500,
    });
    const manager = fixture.manager({ pool });
    await expect(new TestDrivenSandbox(manager).executeWithTests(CODE, TESTS)).rejects.toMatchObject({
      code: "POOL_EXHAUSTED",
    });
    const results = (await fixture.records()).map(({ result }) => result).sort();
    // What had started was told to go, or never got to start.
    expect([
      ["error", "success"],
      ["cancelled", "error"],
    ]).toContainEqual(results);
    await fixture.expectNothingLeft(manager);
  });

  it("are cancelled before they start, and while a person is asked", async () => {
    const ending = new AbortController();
    const manager = fixture.manager({
      securityMode: "strict",
      confirmation: new CallbackConfirmationService(() => {
        ending.abort();
        return new Promise(() => undefined);
      }),
    });
    const sandbox = new TestDrivenSandbox(manager);
    const asked = await sandbox.executeWithTests(WIPES, TESTS, { signal: ending.signal });
    expect(asked).toMatchObject({ outcome: "cancelled", allPassed: false, tests: [] });
    const before = await sandbox.executeWithTests(CODE, TESTS, { signal: AbortSignal.abort() });
    expect(before).toMatchObject({ outcome: "cancelled", allPassed: false, tests: [] });
    await fixture.expectNothingLeft(manager);
  });
});

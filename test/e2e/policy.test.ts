import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AuditRecord } from "../../src/audit/index.js";
import { POLICY_TEMPLATE } from "../../src/policy/index.js";
import { requires } from "../setup/requires.js";
import { atTerminal, type Step } from "./at-terminal.js";
import { createUser, LAUNCHER, type User } from "./run-skerry.js";

const POLICY = `version: 1
policies:
  default:
    max_execution_time: 20s
  tools:
    code_run:
      supported_languages: [python, bash]
    shell_exec:
      denied_commands:
        - curl
      confirm_commands:
        - touch
    file_read:
      denied_paths: [.env]
  agent_roles:
    coder:
      tools: [code_run, shell_exec]
      max_file_size: 1MB
    reader:
      tools: [file_read]
`;
const CURL = "policy.yaml:10 (policies.tools.shell_exec.denied_commands[0])";
const TOUCH = "policy.yaml:12 (policies.tools.shell_exec.confirm_commands[0])";

let user: User;
const write = (name: string, text: string) => writeFileSync(join(user.home, name), text);
/** The user's last audit record. */
const lastRecord = () =>
  JSON.parse(user.skerry(["audit", "tail", "-n", "1", "--json"]).stdout) as AuditRecord;

beforeAll(() => {
  user = createUser();
  write("policy.yaml", POLICY);
  write("bad.yaml", "policies:\n  default:\n    max_memroy: 1GB\n  tools:\n    shel_exec: {}\n");
  write("open.yaml", "policies:\n  tools:\n    shell_exec:\n      max_file_size: 2MB\n");
  write("paths.yaml", "policies:\n  tools:\n    shell_exec:\n      denied_paths: [.env]\n");
  write("risk.yaml", "policies:\n  tools:\n    shell_exec:\n      max_risk: low\n");
  write("short.yaml", "policies:\n  tools:\n    shell_exec:\n      max_execution_time: 1s\n");
  write("asking.yaml", "policies:\n  tools:\n    shell_exec:\n      requires_confirmation: true\n");
  write("wild.sh", "echo start\necho hello > /etc/passwd\n");
});
afterAll(() => user.remove());

describe("skerry policy init", () => {
  it("prints a policy that loads as it is", () => {
    expect(user.skerry(["policy", "init"])).toEqual({ status: 0, stdout: POLICY_TEMPLATE, stderr: "" });
    write("template.yaml", POLICY_TEMPLATE);
    expect(user.skerry(["policy", "check", "template.yaml"])).toEqual({
      status: 0,
      stdout: expect.stringMatching(/^template\.yaml: valid: \d+ tools, \d+ roles\n$/),
      stderr: "",
    });
  });

  it("writes a file, and does not replace one unless told to", () => {
    const file = join(user.home, "new.yaml");
    expect(user.skerry(["policy", "init", "-o", "new.yaml"])).toEqual({ status: 0, stdout: "", stderr: "" });
    expect(readFileSync(file, "utf8")).toBe(POLICY_TEMPLATE);
    writeFileSync(file, "mine");
    expect(user.skerry(["policy", "init", "-o", "new.yaml"])).toEqual({
      status: 73,
      stdout: "",
      stderr: "skerry: new.yaml exists already\nhint: Choose another name, or write over it with --force.\n",
    });
    expect(readFileSync(file, "utf8")).toBe("mine");
    expect(user.skerry(["policy", "init", "-o", "new.yaml", "--force"]).status).toBe(0);
    expect(readFileSync(file, "utf8")).toBe(POLICY_TEMPLATE);
  });
});

describe("skerry policy check", () => {
  it("says every problem of every file with its place and the nearest key, and ends with 78", () => {
    const { status, stdout, stderr } = user.skerry(["policy", "check", "bad.yaml", "policy.yaml"]);
    expect({ status, stderr }).toEqual({ status: 78, stderr: "" });
    const lines = stdout.split("\n");
    expect(lines.slice(0, 2)).toEqual([
      'bad.yaml:3:5: policies.default.max_memroy: there is no key "max_memroy" here',
      "  hint: Did you mean max_memory?",
    ]);
    expect(lines[2]).toMatch(/^bad\.yaml:5:5: policies\.tools\.shel_exec: /);
    expect(lines.slice(3)).toEqual([
      expect.stringMatching(/^ {2}hint: .*shell_exec/),
      "policy.yaml: valid: 3 tools, 2 roles",
      "",
    ]);
  });

  it("prints a JSON array with the same", () => {
    const { status, stdout } = user.skerry(["policy", "check", "--json", "policy.yaml", "bad.yaml"]);
    expect({ status, checked: JSON.parse(stdout) }).toEqual({
      status: 78,
      checked: [
        { file: "policy.yaml", valid: true, problems: [], tools: 3, roles: 2 },
        {
          file: "bad.yaml",
          valid: false,
          problems: [
            expect.objectContaining({ line: 3, column: 5, path: "policies.default.max_memroy" }),
            expect.objectContaining({ line: 5, column: 5, hint: expect.stringContaining("shell_exec") }),
          ],
        },
      ],
    });
  });

  it("says that a file is missing", () => {
    expect(user.skerry(["policy", "check", "nowhere.yaml"])).toEqual({
      status: 66,
      stdout: "",
      stderr:
        "skerry: nowhere.yaml: there is no such policy file\nhint: skerry policy init prints one to start from.\n",
    });
  });

  it("makes visible what hides in a file", () => {
    write("hostile.yaml", 'policies:\n  "\\e[2J\\u202e": 1\n');
    const { status, stdout } = user.skerry(["policy", "check", "hostile.yaml"]);
    expect(status).toBe(78);
    expect(stdout).not.toContain("\x1b");
    expect(stdout).not.toContain("\u202e");
  });
});

describe("skerry policy explain", () => {
  const explain = (...args: string[]) =>
    user.skerry(["policy", "explain", "--policy", "policy.yaml", ...args]);

  it("says the verdict with its rule first, then every rule, then the limits, and ends with 77 for a denial", () => {
    const { status, stdout, stderr } = explain("--role", "coder", "--command", "ls; c\\url http://x");
    expect({ status, stderr }).toEqual({ status: 77, stderr: "" });
    const lines = stdout.split("\n");
    expect(lines[0]).toBe(`denied by ${CURL}: curl is not allowed (line 1)`);
    expect(lines).toContain(`  deny    ${CURL}: curl is not allowed (line 1)`);
    expect(lines).toContain(
      "  allow   policy.yaml:17 (policies.agent_roles.coder.tools[1]): coder has shell_exec",
    );
    expect(lines).toContain("  time 20 s by policy.yaml:4 (policies.default.max_execution_time)");
    expect(lines).toContain("  file size 1 MiB by policy.yaml:18 (policies.agent_roles.coder.max_file_size)");
  });

  it("ends with 0 for what is allowed", () => {
    write("fine.py", "print(1)\n");
    const { status, stdout } = explain("--role", "coder", "fine.py");
    expect({ status, first: stdout.split("\n")[0] }).toEqual({
      status: 0,
      first: "allowed by policy.yaml:17 (policies.agent_roles.coder.tools[0]): coder has code_run",
    });
    expect(explain("--role", "coder", "--language", "python", "--code", "print(1)").stdout).toBe(stdout);
  });

  it("ends with 0, and says that a person is asked, for what needs a confirmation", () => {
    const { status, stdout } = explain("--role", "coder", "--command", "touch x");
    expect({ status, lines: stdout.split("\n").slice(0, 2) }).toEqual({
      status: 0,
      lines: [
        expect.stringContaining(`needs a confirmation by ${TOUCH}: `),
        "A person is asked before it runs; no answer is a no.",
      ],
    });
  });

  it("assesses the code, as a run would, and says which walls it asks for", () => {
    const code = ["--role", "coder", "-l", "python", "-c", "import shutil; shutil.rmtree('/')"];
    const { status, stdout } = explain(...code);
    expect({ status, lines: stdout.split("\n").slice(0, 2) }).toEqual({
      status: 0,
      lines: [
        "needs a confirmation: the code's risk is critical",
        "A person is asked before it runs; no answer is a no.",
      ],
    });
    expect(stdout).toMatch(/\nrisk:\n {2}critical\n {2}critical line 1: .+ \[whole-tree\]\n/);
    expect(stdout).toContain("\nwalls:\n  at least process isolation in strict mode");
    expect(JSON.parse(explain(...code, "--json").stdout)).toMatchObject({
      verdict: "confirm",
      asks: true,
      policyVerdict: "allow",
      riskLevel: "critical",
      findings: expect.any(Array),
      securityMode: "strict",
      requiredIsolation: "process",
      rule: { path: "policies.agent_roles.coder.tools[0]" },
    });
  });

  it("denies what the walls would be too weak for, and a call without a role", () => {
    const code = ["-l", "python", "-c", "print(1)"];
    expect(explain("--role", "coder", "--backend", "subprocess", ...code)).toMatchObject({
      status: 77,
      stdout: expect.stringMatching(/^denied: The backend subprocess has no walls/),
    });
    for (const call of [code, ["--tool", "file_read", "--path", "x"]]) {
      expect(explain(...call)).toMatchObject({
        status: 77,
        stdout: expect.stringMatching(/^denied: the policy has roles, and the call names none/),
      });
    }
  });

  it("looks at paths, and prints the decision as one JSON object", () => {
    const { status, stdout } = explain(
      "--role",
      "reader",
      "--tool",
      "file_read",
      "--path",
      "a/../.env",
      "--json",
    );
    expect(status).toBe(77);
    expect(JSON.parse(stdout)).toMatchObject({
      verdict: "deny",
      reason: "path",
      tool: "file_read",
      role: "reader",
      rule: { source: "policy.yaml", line: 14, path: "policies.tools.file_read.denied_paths[0]" },
      considered: expect.any(Array),
      limits: { timeoutMs: 20_000 },
    });
  });

  it("takes policy and role from the configuration", () => {
    write("config.yaml", `sandbox:\n  policy:\n    file: ${user.home}/policy.yaml\n    role: reader\n`);
    const { status, stdout } = user.skerry([
      "policy",
      "explain",
      "--config",
      "config.yaml",
      "--command",
      "ls",
    ]);
    expect({ status, first: stdout.split("\n")[0] }).toEqual({
      status: 77,
      first: expect.stringMatching(
        /^denied by .*policy\.yaml:19 .*: reader does not have the tool "shell_exec"/,
      ),
    });
  });

  it.each<[string, string[], number, string]>([
    ["no call", [], 64, "there is no call to explain"],
    ["two calls", ["--command", "ls", "--code", "1"], 64, "there are two calls: --command and a program"],
    ["a program that is missing", ["nowhere.py"], 66, "nowhere.py: there is no such file"],
    ["an invalid policy", ["--policy", "bad.yaml", "--command", "ls"], 78, "bad.yaml:3:5: "],
    ["a missing policy", ["--policy", "nowhere.yaml", "--command", "ls"], 66, "there is no such policy file"],
  ])("refuses %s", (_, args, status, message) => {
    const result = explain(...args);
    expect(result).toEqual({ status, stdout: "", stderr: expect.stringContaining(message) });
  });

  it("refuses to explain without a policy", () => {
    expect(user.skerry(["policy", "explain", "--command", "ls"])).toMatchObject({
      status: 64,
      stderr: expect.stringContaining("skerry: there is no policy to explain\n"),
    });
  });
});

const real = requires("linux", "bubblewrap", "python3");

real.describe("skerry run and exec with a policy", () => {
  const guarded = (command: string, ...args: string[]) =>
    user.skerry([command, "--policy", "policy.yaml", "--role", "coder", ...args]);

  it("run what is allowed, within the limits of the policy, and remember it", () => {
    const code = "import resource; print(resource.getrlimit(resource.RLIMIT_FSIZE))";
    expect(guarded("run", "--agent", "agent-7", "--org", "acme", "-l", "python", "-c", code)).toEqual({
      status: 0,
      stdout: "(1048576, 1048576)\n",
      stderr: "",
    });
    expect(lastRecord()).toMatchObject({
      result: "success",
      tool: "code_run",
      language: "python",
      role: "coder",
      agent_id: "agent-7",
      org_id: "acme",
      policy_rule: expect.stringContaining("policies.agent_roles.coder.tools[0]"),
      decided_by: "policy",
    });
  });

  it("deny with one line that names the rule, and remember that", () => {
    expect(guarded("exec", "--", "sh", "-c", "true; cu''rl http://x")).toEqual({
      status: 77,
      stdout: "",
      stderr: `skerry: denied by ${CURL}: curl is not allowed (line 1, by sh -c)\n`,
    });
    expect(lastRecord()).toMatchObject({
      result: "denied",
      tool: "shell_exec",
      command: "sh -c 'true; cu'\\'''\\''rl http://x'",
      sandbox_id: null,
      exit_code: null,
    });
  });

  it("print one object with what was decided", () => {
    const denied = JSON.parse(guarded("exec", "--json", "--", "curl", "x").stdout);
    expect(denied).toEqual({
      success: false,
      reason: "denied",
      exitCode: null,
      signal: null,
      stdout: "",
      stderr: "",
      truncated: false,
      executionTimeMs: 0,
      cpuTimeMs: 0,
      memoryUsedMb: 0,
      sandboxType: "none",
      sandboxId: "",
      sessionId: "",
      filesWritten: [],
      fileChanges: [],
      policyRule: CURL,
      auditId: lastRecord().id,
      error: `denied by ${CURL}: curl is not allowed (line 1)`,
    });
    const allowed = JSON.parse(guarded("run", "--json", "-l", "python", "-c", "print(1)").stdout);
    expect(allowed).toMatchObject({ reason: "exited", riskLevel: "safe", auditId: expect.any(String) });
  });

  it("reject what needs a person where there is none, and say why one is needed", () => {
    const reason = "This needs a confirmation, and there is no terminal to ask on";
    expect(guarded("exec", "--", "touch", "x")).toEqual({
      status: 77,
      stdout: "",
      stderr: `skerry: rejected: ${reason} (${TOUCH} asks for a person)\n`,
    });
    const wild = guarded("run", "wild.sh");
    expect(wild).toMatchObject({ status: 77, stdout: "" });
    expect(wild.stderr).toMatch(/^skerry: rejected: .* \(risk (high|critical): [a-z-]+ on line 2.*\)\n$/);
    expect(lastRecord()).toMatchObject({
      result: "rejected",
      risk_level: expect.stringMatching(/high|critical/),
    });
  });

  it("reject, or approve, without asking when told so", () => {
    expect(guarded("exec", "--confirm", "reject", "--", "touch", "x")).toMatchObject({
      status: 77,
      stderr: expect.stringContaining("--confirm reject was given"),
    });
    expect(guarded("exec", "--dangerously-approve-all", "--", "touch", "x")).toEqual({
      status: 0,
      stdout: "",
      stderr: "",
    });
    expect(lastRecord()).toMatchObject({
      result: "success",
      confirmation: "approved",
      decided_by: "auto-approve",
    });
    expect(guarded("exec", "--confirm", "ask", "--dangerously-approve-all", "--", "true")).toMatchObject({
      status: 64,
      stderr: expect.stringContaining("exclude each other"),
    });
  });

  it("run nothing with a policy that is wrong or missing, or a role without a policy", () => {
    expect(user.skerry(["exec", "--policy", "bad.yaml", "--", "true"])).toMatchObject({
      status: 78,
      stdout: "",
    });
    expect(user.skerry(["exec", "--policy", "nowhere.yaml", "--", "true"])).toMatchObject({ status: 66 });
    expect(user.skerry(["exec", "--role", "coder", "--", "true"])).toMatchObject({
      status: 64,
      stderr: expect.stringContaining("--role means nothing without a policy"),
    });
  });

  it("take the policy from the configuration, and leave no record with --no-audit", () => {
    const before = lastRecord().seq;
    write("config.yaml", `sandbox:\n  policy:\n    file: ${user.home}/policy.yaml\n    role: coder\n`);
    expect(user.skerry(["exec", "--config", "config.yaml", "--no-audit", "--", "curl", "x"])).toMatchObject({
      status: 77,
      stderr: expect.stringContaining("denied_commands[0]"),
    });
    expect(lastRecord().seq).toBe(before);
  });

  it("load parsers only when there is something to parse", () => {
    write(
      "loaded.cjs",
      `const Module = require("node:module");
      const load = Module._load;
      const names = new Set();
      Module._load = function (name, parent, ...rest) {
        const file = Module.isBuiltin(name) ? name : Module._resolveFilename(name, parent);
        const [, library] = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(file) ?? [];
        if (library !== undefined) names.add(library);
        return load.call(this, name, parent, ...rest);
      };
      process.once("exit", () => require("node:fs").writeFileSync("loaded.txt", [...names].join(" ")));`,
    );
    const env = { NODE_OPTIONS: `--require ${join(user.home, "loaded.cjs")}` };
    const loaded = (...args: string[]) => {
      expect(user.skerry(["exec", ...args, "--", "true"], { env }).status).toBe(0);
      return readFileSync(join(user.home, "loaded.txt"), "utf8");
    };
    expect(loaded()).toBe("");
    expect(loaded("--policy", "policy.yaml", "--role", "coder")).toMatch(/^yaml/);
  });

  it("refuse a backend without walls for code that is not safe", () => {
    const args = ["--security-mode", "strict", "--backend", "subprocess", "-l", "bash", "-c", "touch x"];
    expect(user.skerry(["run", ...args])).toMatchObject({
      status: 77,
      stdout: "",
      stderr: expect.stringContaining("skerry: The backend subprocess has no walls"),
    });
  });
});

real.describe("at a terminal", () => {
  const QUESTION = "[n] no > ";
  const run = (args: string[], steps: readonly Step[]) =>
    atTerminal([LAUNCHER, ...args], steps, { env: user.environment, cwd: user.home });
  const guarded = ["--policy", "policy.yaml", "--role", "coder"];
  const wild = ["run", ...guarded, "--security-mode", "strict", "wild.sh"];

  it("a person sees the code and says yes: it runs, behind the walls", async () => {
    const { lines, status } = await run(wild, [{ expect: QUESTION, send: "y\r" }]);
    expect(lines.some((line) => /\b2 │ echo hello > \/etc\/passwd$/.test(line))).toBe(true);
    expect(lines).toContain("start");
    expect(lines.join("\n")).toMatch(/\/etc\/passwd: (Permission denied|Read-only file system)/);
    expect(status).toBe(1);
    expect(lastRecord()).toMatchObject({ result: "failure", confirmation: "approved" });
  });

  it("a person says no and why: nothing runs", async () => {
    const { lines, status } = await run(wild, [
      { expect: QUESTION, send: "n\r" },
      { expect: "Why not?", send: "not on my watch\r" },
    ]);
    expect(status).toBe(77);
    expect(lines).not.toContain("start");
    expect(lines.join("\n")).toMatch(/skerry: rejected by \w+: not on my watch \(risk \w+: /);
    expect(lastRecord()).toMatchObject({ result: "rejected", error: "not on my watch" });
  });

  it("a person is asked also when the program's input and output are pipes", async () => {
    const line = `echo x | ${LAUNCHER} exec ${guarded.join(" ")} -- sh -c 'touch f; cat' > out.txt`;
    const { status } = await atTerminal(["/bin/sh", "-c", line], [{ expect: QUESTION, send: "y\r" }], {
      env: user.environment,
      cwd: user.home,
    });
    expect({ status, out: readFileSync(join(user.home, "out.txt"), "utf8") }).toEqual({
      status: 0,
      out: "x\n",
    });
  });

  it.each([
    [
      "commands",
      "policy.yaml",
      ["--role", "coder"],
      "it has rules about commands, and nothing could hold a terminal to them",
    ],
    ["paths", "paths.yaml", [], "it has rules about paths, and nothing could hold a terminal to them"],
    ["risk", "risk.yaml", [], "it allows low risk at most, and nobody knows what will be typed"],
  ])(
    "a terminal inside is refused by a policy with rules about %s, which says why",
    async (_, file, role, why) => {
      const { lines, status } = await run(["shell", "--policy", file, ...role], []);
      expect({ status, line: lines[0] }).toEqual({ status: 77, line: `skerry: denied by ${file}: ${why}` });
      expect(lastRecord()).toMatchObject({
        result: "denied",
        tool: "shell_exec",
        details: { terminal: true },
      });
    },
  );

  it("a terminal inside has the limits of the policy, and leaves one record", async () => {
    const shell = ["shell", "--policy", "open.yaml", "--agent", "a", "--", "bash", "-c", "ulimit -f; exit 3"];
    const before = lastRecord().seq;
    const { lines, status } = await run(shell, []);
    expect({ status, first: lines[0] }).toEqual({ status: 3, first: "2048" });
    expect(lastRecord()).toMatchObject({
      seq: before + 1,
      result: "failure",
      exit_code: 3,
      tool: "shell_exec",
      agent_id: "a",
      command: "bash -c 'ulimit -f; exit 3'",
      details: { terminal: true },
      policy_rule: expect.stringContaining("policies.tools.shell_exec"),
    });
  });

  it("a terminal inside ends when its time is over", async () => {
    const { lines, status } = await run(["shell", "--policy", "short.yaml", "--", "sleep", "1000"], []);
    expect({ status, line: lines.at(-2) }).toEqual({ status: 124, line: "skerry: Execution timeout (1s)" });
    expect(lastRecord()).toMatchObject({ result: "timeout", error: "Execution timeout (1s)" });
  });

  it("a terminal inside needs a person where the policy says so", async () => {
    const shell = ["shell", "--policy", "asking.yaml", "--", "echo", "inside"];
    const no = await run(shell, [
      { expect: QUESTION, send: "n\r" },
      { expect: "Why not?", send: "\r" },
    ]);
    expect(no.status).toBe(77);
    expect(no.lines).not.toContain("inside");
    expect(no.lines.join("\n")).toMatch(
      /skerry: rejected by \w+: .* \(needs a confirmation by asking\.yaml:4 /,
    );
    expect(lastRecord()).toMatchObject({ result: "rejected", details: { terminal: true } });
    const yes = await run(shell, [{ expect: QUESTION, send: "y\r" }]);
    expect({ status: yes.status, ran: yes.lines.includes("inside") }).toEqual({ status: 0, ran: true });
    expect(lastRecord()).toMatchObject({ result: "success", confirmation: "approved" });
  });

  it.each([
    ["a program", () => wild],
    ["a terminal inside", () => ["shell", "--policy", "asking.yaml", "--", "echo", "inside"]],
  ])("Ctrl-C at the question cancels %s, which nobody has rejected", async (_, command) => {
    const { lines, status } = await run(command(), [{ expect: QUESTION, send: "\x03" }]);
    expect({ status, line: lines.at(-2) }).toEqual({
      status: 130,
      line: "skerry: Cancelled with Ctrl-C at the question",
    });
    expect(lines).not.toContain("start");
    expect(lines).not.toContain("inside");
    expect(lastRecord()).toMatchObject({
      result: "cancelled",
      confirmation: "cancelled",
      decided_by: "nobody",
      sandbox_id: null,
    });
  });

  it("a terminal inside leaves a record also when the command line is killed meanwhile", async () => {
    const shell = [
      "shell",
      "--policy",
      "open.yaml",
      "--agent",
      "killed",
      "--",
      "sh",
      "-c",
      "echo on; sleep 600",
    ];
    const { status } = await run(shell, [{ expect: "on\r", send: "", signal: "SIGKILL" }]);
    expect(status).toBe(-9);
    // The next one finds what is owed.
    expect(user.skerry(["exec", "--", "true"]).status).toBe(0);
    expect(JSON.parse(user.skerry(["audit", "query", "--agent", "killed", "--json"]).stdout)).toEqual([
      expect.objectContaining({
        result: "interrupted",
        tool: "shell_exec",
        details: expect.objectContaining({ terminal: true }),
      }),
    ]);
  });

  it("a terminal inside needs walls in strict mode", async () => {
    const { lines, status } = await run(
      ["shell", "--security-mode", "strict", "--backend", "subprocess"],
      [],
    );
    expect({ status, line: lines[0] }).toEqual({
      status: 77,
      line: "skerry: The backend subprocess has no walls; a terminal, into which anything may be typed, needs at least process isolation",
    });
  });

  it("audit records have a header and colours for a person", async () => {
    const { lines } = await run(["audit", "tail", "-n", "1"], []);
    expect(lines[0]).toMatch(/^ +SEQ {2}TIME +RESULT +TOOL +SESSION +WHAT$/);
  });
});

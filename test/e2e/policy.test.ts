import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { POLICY_PRESETS } from "../../src/guard/policy/index.js";
import { CURL, TOUCH, usePolicies, user, write } from "./policy-user.js";

usePolicies();

describe("skerry policy init", () => {
  it.each(Object.entries(POLICY_PRESETS))("prints the preset %s, which loads as it is", (preset, text) => {
    expect(user.skerry(["policy", "init", "--preset", preset])).toEqual({
      status: 0,
      stdout: text,
      stderr: "",
    });
    write("preset.yaml", text);
    expect(user.skerry(["policy", "check", "preset.yaml"])).toEqual({
      status: 0,
      stdout: expect.stringMatching(/^preset\.yaml: valid: \d+ tools, \d+ roles\n$/),
      stderr: "",
    });
  });

  it("refuses a preset that there is none of", () => {
    expect(user.skerry(["policy", "init", "--preset", "loose"])).toMatchObject({
      status: 64,
      stdout: "",
      stderr: expect.stringContaining("dev, strict, readonly"),
    });
  });

  it("writes a file, and does not replace one unless told to", () => {
    const file = join(user.home, "new.yaml");
    expect(user.skerry(["policy", "init", "-o", "new.yaml"])).toEqual({ status: 0, stdout: "", stderr: "" });
    expect(readFileSync(file, "utf8")).toBe(POLICY_PRESETS.dev);
    writeFileSync(file, "mine");
    expect(user.skerry(["policy", "init", "-o", "new.yaml"])).toEqual({
      status: 73,
      stdout: "",
      stderr: "skerry: new.yaml exists already\nhint: Choose another name, or write over it with --force.\n",
    });
    expect(readFileSync(file, "utf8")).toBe("mine");
    expect(user.skerry(["policy", "init", "-o", "new.yaml", "--force"]).status).toBe(0);
    expect(readFileSync(file, "utf8")).toBe(POLICY_PRESETS.dev);
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
      first: "allowed by policy.yaml:17 (policies.agent_roles.coder.tools[0]): coder has run_code",
    });
    expect(explain("--role", "coder", "--language", "python", "--code", "print(1)").stdout).toBe(stdout);
  });

  it("ends with 0, and says that a person is asked, for what needs a confirmation", () => {
    const { status, stdout } = explain("--role", "coder", "--command", "touch x");
    expect({ status, lines: stdout.split("\n").slice(0, 2) }).toEqual({
      status: 0,
      lines: [
        expect.stringContaining(`needs a confirmation by ${TOUCH}: `),
        "A person is asked before it runs; no answer means no.",
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
        "A person is asked before it runs; no answer means no.",
      ],
    });
    expect(stdout).toMatch(/\nrisk:\n {2}critical\n {2}critical line 1: .+ \[whole-tree\]\n/);
    expect(stdout).toContain("\nisolation:\n  at least process isolation in strict mode");
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
      stdout: expect.stringMatching(/^denied: The backend subprocess has no isolation/),
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
    ["two calls", ["--command", "ls", "--code", "1"], 64, "give either --command or a program"],
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

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { requires } from "../setup/requires.js";
import { CURL, lastRecord, TOUCH, usePolicies, user, write } from "./policy-user.js";

const { describe, it } = requires("linux", "bubblewrap", "python3");

usePolicies();

describe("skerry run and exec with a policy", () => {
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
      tool: "run_code",
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
      version: 1,
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
      filesDeleted: [],
      fileChanges: [],
      warm: false,
      rule: "policy.yaml: policies.tools.shell_exec.denied_commands[0] (line 10)",
      auditId: lastRecord().id,
      error: `denied by ${CURL}: curl is not allowed (line 1)`,
    });
    const allowed = JSON.parse(guarded("run", "--json", "-l", "python", "-c", "print(1)").stdout);
    expect(allowed).toMatchObject({ reason: "exited", risk: { level: "safe" }, auditId: expect.any(String) });
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
      stderr: expect.stringContaining("--role needs a policy"),
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
      stderr: expect.stringContaining("skerry: The backend subprocess has no isolation"),
    });
  });
});

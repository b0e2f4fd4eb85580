import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { requires } from "../setup/requires.js";
import { atTerminal, type Step } from "./at-terminal.js";
import { lastRecord, usePolicies, user } from "./policy-user.js";
import { LAUNCHER } from "./run-skerry.js";

const { describe, it } = requires("linux", "bubblewrap", "python3");

usePolicies();

describe("at a terminal", () => {
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
      "it has rules about commands, which cannot be enforced in a terminal",
    ],
    ["paths", "paths.yaml", [], "it has rules about paths, which cannot be enforced in a terminal"],
    ["risk", "risk.yaml", [], "it allows low risk at most, and what will be typed is unknown"],
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
  ])("Ctrl-C at the question cancels %s, which is not a rejection", async (_, command) => {
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
      decided_by: "none",
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
      line: "skerry: The backend subprocess has no isolation; a terminal, into which anything may be typed, needs at least process isolation",
    });
  });

  it("audit records have a header and colours for a person", async () => {
    const { lines } = await run(["audit", "tail", "-n", "1"], []);
    expect(lines[0]).toMatch(/^ +SEQ {2}TIME +RESULT +TOOL +SESSION +WHAT$/);
  });
});

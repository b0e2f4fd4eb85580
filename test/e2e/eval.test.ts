import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect } from "vitest";
import { waitUntil } from "../../src/kit/wait-until.js";
import { HUMAN_EVAL_FILE } from "../setup/human-eval.js";
import { requires } from "../setup/requires.js";
import { atTerminal } from "./at-terminal.js";
import { createUser, LAUNCHER, type User } from "./run-skerry.js";

const { describe, it } = requires("linux", "bubblewrap", "python3");

let user: User;
beforeAll(() => {
  user = createUser();
  const problem = (index: number) => ({
    task_id: `T/${index}`,
    prompt: "def double(n):\n",
    canonical_solution: "    return n * 2\n",
    test: "def check(candidate):\n    assert candidate(4) == 8\n",
    entry_point: "double",
  });
  write("problems.jsonl", ...Array.from({ length: 6 }, (_, index) => problem(index)));
});

function write(name: string, ...rows: object[]): void {
  writeFileSync(join(user.home, name), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
}

function resultsOf(name: string): { task_id: string; passed: boolean; result: string }[] {
  return readFileSync(join(user.home, name), "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { task_id: string; passed: boolean; result: string });
}

const sample = (index: number, body: string) => ({ task_id: `T/${index}`, completion: `    ${body}\n` });

describe("skerry eval", () => {
  it("runs the problems' own solutions", () => {
    const { status, stdout, stderr } = user.skerry(["eval", "problems.jsonl"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout.replace(/\d+\.\d s, [\d.]+ per second/, "TIME")).toBe(
      "samples  6 of 6 tasks\npassed   6 of 6\npass@1   100.0 %\nendings  6 passed\ntime     TIME\n",
    );
  });

  it("lists what failed, and writes HumanEval's own results beside the samples", () => {
    write(
      "samples.jsonl",
      sample(0, "return n + n"),
      sample(1, "return n"),
      sample(1, "return 8"),
      sample(2, "return nothing_at_all"),
    );
    const { status, stdout } = user.skerry([
      "eval",
      "problems.jsonl",
      "--samples",
      "samples.jsonl",
      "--workers",
      "1",
    ]);
    expect(status).toBe(0);
    expect(stdout.split("\n").slice(0, 7)).toEqual([
      "failed  T/1  AssertionError",
      "error   T/2  NameError: name 'nothing_at_all' is not defined",
      "",
      "samples  4 of 3 tasks",
      "passed   2 of 4",
      "pass@1   50.0 %",
      "endings  2 passed, 1 failed, 1 error",
    ]);
    expect(resultsOf("samples.jsonl_results.jsonl").map(({ result }) => result)).toEqual([
      "passed",
      "failed: AssertionError",
      "passed",
      "failed: NameError: name 'nothing_at_all' is not defined",
    ]);
  });

  it("prints one JSON object", () => {
    write("json.jsonl", sample(0, "return n + n"), sample(1, "return n"));
    const { stdout } = user.skerry([
      "eval",
      "problems.jsonl",
      "--samples",
      "json.jsonl",
      "--output",
      "j.jsonl",
      "--json",
    ]);
    expect(JSON.parse(stdout)).toMatchObject({
      tasks: 2,
      samples: 2,
      passed: 1,
      passAt: { 1: 0.5 },
      verdicts: { passed: 1, failed: 1 },
      evaluated: 2,
      results: "j.jsonl",
      failures: [{ taskId: "T/1", completionId: 0, verdict: "failed", result: "failed: AssertionError" }],
    });
  });

  it("goes on after kill -9 where it was, and runs nothing twice", async () => {
    const quick = Array.from({ length: 4 }, (_, index) => sample(index, "return n * 2"));
    write(
      "killed.jsonl",
      ...quick,
      sample(4, "import time; time.sleep(1.5); return n * 2"),
      sample(5, "return n * 2"),
    );
    const args = ["eval", "problems.jsonl", "--samples", "killed.jsonl", "--workers", "1"];
    const file = "killed.jsonl_results.jsonl";
    const child = spawn(LAUNCHER, args, { cwd: user.home, env: user.environment, stdio: "ignore" });
    await waitUntil(() => existsSync(join(user.home, file)) && resultsOf(file).length === 4);
    child.kill("SIGKILL");
    await once(child, "exit");
    const { status, stdout, stderr } = user.skerry(args);
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: "skerry: 4 of 6 were done before; --restart starts over\n",
    });
    expect(stdout).toContain("passed   6 of 6");
    expect(resultsOf(file).map(({ task_id }) => task_id)).toEqual(["T/0", "T/1", "T/2", "T/3", "T/4", "T/5"]);
    const third = user.skerry([...args, "--json"]);
    expect(JSON.parse(third.stdout)).toMatchObject({ evaluated: 0, passed: 6 });
  });

  it("stops with Ctrl-C, keeps what it has, and shows how far it is on a terminal", async () => {
    const body = "import time; time.sleep(0.3); return n * 2";
    write(
      "slow.jsonl",
      ...Array.from({ length: 6 }, (_, index) => sample(index, index === 0 ? "return n * 2" : body)),
    );
    const command = [LAUNCHER, "eval", "problems.jsonl", "--samples", "slow.jsonl", "--workers", "1"];
    const { lines, status } = await atTerminal(command, [{ expect: "% passed", send: "\x03" }], {
      env: user.environment,
      cwd: user.home,
    });
    expect(status).toBe(130);
    expect(lines.join("\n")).toMatch(/interrupted after [1-4] of 6: the same command continues there/);
    expect(resultsOf("slow.jsonl_results.jsonl").length).toBeGreaterThanOrEqual(1);
  });

  it("says when it is interrupted what was not run, and that nothing is kept where there is no file", async () => {
    write(
      "endless.jsonl",
      ...[0, 1, 2].map((index) => ({
        task_id: `T/${index}`,
        prompt: "def double(n):\n",
        canonical_solution: `    import time; time.sleep(${index === 0 ? 0.3 : 60}); return n * 2\n`,
        test: "def check(candidate):\n    assert candidate(4) == 8\n",
        entry_point: "double",
      })),
    );
    const args = ["eval", "endless.jsonl", "--workers", "1", "--timeout", "1m"];
    const interrupt = [{ expect: "% passed", send: "\x03" }];
    const where = { env: user.environment, cwd: user.home };
    const told = await atTerminal([LAUNCHER, ...args], interrupt, where);
    expect(told.status).toBe(130);
    const text = told.lines.join("\n");
    expect(text).toMatch(/not run +2 more samples/);
    expect(text).toContain(
      "interrupted after 1 of 3: nothing is kept; name a file with --output, and the same command continues there",
    );
    const { lines, status } = await atTerminal([LAUNCHER, ...args, "--json"], interrupt, where);
    expect(status).toBe(130);
    expect(lines.join("\n")).toMatch(/"samples": ?1,[\s\S]*"notRun": ?2/);
  });

  it("counts a sample that cannot be run as failed, and goes on", () => {
    write("nul.jsonl", sample(0, "return n + n"), sample(1, "return '\0'"), sample(2, "return n + n"));
    const { status, stdout } = user.skerry(["eval", "problems.jsonl", "--samples", "nul.jsonl", "--json"]);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ samples: 3, notRun: 0, verdicts: { passed: 2, invalid: 1 } });
  });

  it.each([
    [
      ["eval", "problems.jsonl", "--output", "none/x.jsonl"],
      74,
      "skerry: x.jsonl: there is no such directory\nhint: Name another file, in a directory that is there.\n",
    ],
    [["eval"], 64, "skerry: missing required argument 'problems'"],
    [["eval", "none.jsonl"], 66, "skerry: there is no file none.jsonl"],
    [["eval", "problems.jsonl", "--workers", "0"], 64, 'skerry: --workers: "0" is not a number from 1 to 64'],
    [
      ["eval", "problems.jsonl", "--samples", "problems.jsonl"],
      64,
      "skerry: problems.jsonl, line 1: expected a completion",
    ],
  ])("refuses %j", (args, status, message) => {
    const ended = user.skerry(args);
    expect(ended).toMatchObject({ status, stdout: "" });
    expect(ended.stderr).toContain(message);
  });

  it("passes all of HumanEval's own solutions", () => {
    const { stdout } = user.skerry(["eval", HUMAN_EVAL_FILE, "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ samples: 164, passed: 164 });
  });
});

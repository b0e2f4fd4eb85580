import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { waitUntil } from "../../src/kit/wait-until.js";
import { requires } from "../setup/requires.js";
import { createUser, LAUNCHER, type User } from "./run-skerry.js";

const real = requires("linux", "bubblewrap", "python3", "pytest");

let user: User;
const write = (name: string, text: string) => writeFileSync(join(user.home, name), text);

beforeAll(() => {
  user = createUser();
  write("solution.py", "def add(a, b):\n    return a + b\n");
  write("test_solution.py", "from solution import add\n\ndef test_add():\n    assert add(1, 2) == 3\n");
  write("test_wrong.py", "from solution import add\n\ndef test_wrong():\n    assert add(1, 2) == 4\n");
  write("cases.json", '[{ "call": "add(1, 2)", "expected": 3 }]');
  write("wait.py", "import time\ndef wait():\n    time.sleep(1000)\n");
  write("test_wait.py", "from wait import wait\ndef test_first(): pass\ndef test_wait(): wait()\n");
});

/** What is left of sandboxes that were thrown away. */
function leftovers(): string[] {
  const ephemeral = join(user.home, "state", "ephemeral");
  return existsSync(ephemeral) ? readdirSync(ephemeral) : [];
}

real.describe("skerry test", () => {
  it("prints a line for each test, why it failed, and a summary", () => {
    const passed = user.skerry(["test", "solution.py", "--tests", "test_solution.py"]);
    expect(passed).toEqual({
      status: 0,
      stdout: expect.stringMatching(/^passed {2}test_add \(\d+ ms\)\n\npassed: 1 passed, \d+\.\d s\n$/),
      stderr: "",
    });
    const failed = user.skerry(["test", "solution.py", "--tests", "test_wrong.py"]);
    expect(failed).toEqual({
      status: 1,
      stdout: expect.stringMatching(
        /^failed {2}test_wrong \(\d+ ms\)\n\ntest_wrong\n {2}assert 3 == 4\n[\s\S]*\n {2}expected 4\n {2}actual {3}3\n[\s\S]*\n\nfailed: 1 failed, \d+\.\d s\n$/,
      ),
      stderr: "",
    });
    expect(leftovers()).toEqual([]);
  });

  it("prints the report as one object, of tests and of cases", () => {
    const tests = user.skerry([
      "test",
      "solution.py",
      "--tests",
      "test_solution.py",
      "--json",
      "--agent",
      "a1",
    ]);
    expect({ ...tests, stdout: JSON.parse(tests.stdout) }).toEqual({
      status: 0,
      stderr: "",
      stdout: {
        allPassed: true,
        outcome: "passed",
        isTrustworthy: true,
        runner: "pytest",
        language: "python",
        tests: [{ name: "test_add", status: "passed", durationMs: expect.any(Number) }],
        failures: [],
        counts: { passed: 1, failed: 0, errors: 0, skipped: 0, notRun: 0, total: 1 },
        stdout: "",
        stderr: "",
        durationMs: expect.any(Number),
        auditIds: [expect.any(String), expect.any(String)],
      },
    });
    const cases = user.skerry(["test", "solution.py", "--cases", "cases.json", "--json"]);
    expect(JSON.parse(cases.stdout)).toMatchObject({ allPassed: true, runner: "cases" });
    const { stdout } = user.skerry(["audit", "query", "--json", "--limit", "10"]);
    expect(stdout.match(/"harness":"(solution|tests|cases)"/g)?.sort()).toEqual([
      '"harness":"cases"',
      ...Array(3).fill('"harness":"solution"'),
      ...Array(3).fill('"harness":"tests"'),
    ]);
  });

  it("ends with the status of what came of it", () => {
    write("broken.py", "def add(a, b:\n");
    write("crash.py", "import os\nos._exit(0)\n");
    write("none.py", "");
    write("policy.yaml", "policies: { tools: { run_tests: { supported_languages: [javascript] } } }\n");
    const status = (...args: string[]) => user.skerry(["test", ...args]).status;
    const tests = ["--tests", "test_solution.py"];
    expect([
      status("broken.py", "--cases", "cases.json"),
      status("crash.py", ...tests),
      status("solution.py", "--tests", "none.py"),
      status("solution.py", "--tests", "broken.py"),
      status("wait.py", "--tests", "test_wait.py", "--timeout", "1s"),
      status("solution.py", ...tests, "--policy", "policy.yaml"),
    ]).toEqual([2, 3, 4, 5, 124, 77]);
  });

  it.each<[string, string[], number, string]>([
    ["no tests", ["solution.py"], 64, "give either --tests or --cases"],
    [
      "tests and cases",
      ["solution.py", "--tests", "t.py", "--cases", "c.json"],
      64,
      "give either --tests or --cases",
    ],
    [
      "a missing solution",
      ["nowhere.py", "--tests", "test_solution.py"],
      66,
      "nowhere.py: there is no such file\nhint: Check the path.\n",
    ],
    [
      "missing tests",
      ["solution.py", "--tests", "nowhere.py"],
      66,
      "nowhere.py: there is no such file\nhint: Check the path.\n",
    ],
    ["cases that are no JSON", ["solution.py", "--cases", "solution.py"], 64, "solution.py is not JSON"],
    [
      "a file of no language",
      ["cases.json", "--tests", "test_solution.py"],
      64,
      "the language is unknown: the name",
    ],
    [
      "a language without tests",
      ["solution.py", "-l", "bash", "--tests", "test_solution.py"],
      69,
      "Tests are not supported for bash",
    ],
  ])("refuses %s", (_, args, status, message) => {
    const result = user.skerry(["test", ...args]);
    expect(result).toEqual({ status, stdout: "", stderr: expect.stringContaining(message) });
    expect(result.stderr).toContain("hint: ");
  });

  it("cancels both sandboxes on Ctrl-C, and leaves nothing of them", async () => {
    const child = spawn(LAUNCHER, ["test", "wait.py", "--tests", "test_wait.py"], {
      cwd: user.home,
      env: user.environment,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    let printed = "";
    child.stdout.on("data", (chunk) => {
      printed += chunk;
    });
    const closed = once(child, "close");
    await waitUntil(() => printed.includes("test_first"));
    process.kill(-child.pid!, "SIGINT");
    const [status] = await closed;
    expect(status).toBe(130);
    expect(printed).toMatch(/\n\ncancelled: Cancelled \(/);
    expect(leftovers()).toEqual([]);
  });
});

import { beforeAll, expect, it } from "vitest";
import { DOCKER_START_MS, startDocker } from "../../../../test/setup/docker.js";
import { requires } from "../../../../test/setup/requires.js";
import { summaryOf, useTestDriven } from "../../../../test/setup/test-driven.js";
import { registerBackend } from "../../../runtime/backends/registry.js";
import { parseConfig } from "../../config/index.js";
import type { SandboxManagerOptions } from "../../manager/index.js";
import { withoutSharedWorkspace } from "../../testing/without-shared-workspace.js";

const CODE = "def add(a, b): return a + b\ndef leave():\n    import os\n    os._exit(0)\n";
const TESTS =
  "import unittest\nimport solution\nclass Case(unittest.TestCase):\n    def test_add(self): self.assertEqual(solution.add(1, 2), 3)\n    def test_wrong(self): self.assertEqual(solution.add(1, 2), 4)\n    def test_zleave(self): solution.leave()\n";
const JAVASCRIPT = "exports.add = (a, b) => a + b;";
const NODE_TESTS =
  "const { test } = require('node:test');\nconst { add } = require('./solution');\ntest('adds', () => require('node:assert').equal(add(1, 2), 3));\n";

/** What has to work wherever sandboxes are. `separator`: of the runner that the place has. */
function worksThere(options: () => SandboxManagerOptions, runner: "pytest" | "unittest"): void {
  const testDriven = useTestDriven(options);
  const separator = runner === "pytest" ? "::" : ".";

  it("files of tests", async () => {
    const report = await testDriven.run(CODE, TESTS);
    const crash = "error: The solution ended with exit code 0 while it was tested";
    expect({ ...summaryOf(report), runner: report.runner, isTrustworthy: report.isTrustworthy }).toEqual({
      outcome: "crash",
      allPassed: false,
      tests: {
        [`Case${separator}test_add`]: "passed",
        [`Case${separator}test_wrong`]: "failed: 3 != 4",
        [`Case${separator}test_zleave`]: crash,
      },
      runner,
      isTrustworthy: true,
    });
    const node = await testDriven.run(JAVASCRIPT, NODE_TESTS, { language: "javascript" });
    expect(summaryOf(node)).toEqual({ outcome: "passed", allPassed: true, tests: { adds: "passed" } });
  });

  it("cases", async () => {
    const cases = [
      { call: "add(1, 2)", expected: 3 },
      { name: "wrong", call: "add(1, 2)", expected: 4 },
    ];
    const tests = { "add(1, 2)": "passed", wrong: "failed: 3 is not 4" };
    expect(summaryOf(await testDriven.run(CODE, cases))).toEqual({
      outcome: "failed",
      allPassed: false,
      tests,
    });
    const node = await testDriven.run(JAVASCRIPT, cases, { language: "javascript" });
    expect(summaryOf(node)).toEqual({ outcome: "failed", allPassed: false, tests });
  });

  it("both together", async () => {
    const report = await testDriven.run(CODE, TESTS.replace(/ {4}def test_z.*\n/, ""), { together: true });
    expect(summaryOf(report)).toMatchObject({
      outcome: "failed",
      tests: { [`Case${separator}test_wrong`]: "failed: 3 != 4" },
    });
  });
}

requires("root", "bubblewrap", "python3", "pytest").describe("without a shared directory there are", () => {
  beforeAll(() => registerBackend("bubblewrap-over-wire", withoutSharedWorkspace("bubblewrap")));
  worksThere(() => ({ backend: "bubblewrap-over-wire" }), "pytest");
});

requires("root", "docker", "debootstrap").describe(
  "in containers, whose image has no pytest, there are",
  () => {
    let config: SandboxManagerOptions["config"];
    beforeAll(async () => {
      const { host } = await startDocker();
      config = await parseConfig({ sandbox: { backends: { docker: { host } } } });
    }, DOCKER_START_MS);
    worksThere(() => ({ backend: "docker", config: config! }), "unittest");
  },
);

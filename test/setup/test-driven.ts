import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { SandboxManager, type SandboxManagerOptions } from "../../src/core/manager/index.js";
import {
  type TestCase,
  TestDrivenSandbox,
  type TestOptions,
  type TestReport,
} from "../../src/core/tools/test-driven/index.js";
import { temporaryDirectory } from "./clean-up.js";

/** What a test mostly wants to know of a report. */
export interface ReportSummary {
  readonly outcome: string;
  readonly allPassed: boolean;
  /** By name: `passed`, or the status and the first line of the message. */
  readonly tests: Readonly<Record<string, string>>;
}

/** A report without times and tracebacks. */
export function summaryOf({ outcome, allPassed, tests }: TestReport): ReportSummary {
  return {
    outcome,
    allPassed,
    tests: Object.fromEntries(
      tests.map(({ name, status, message }) => [
        name,
        message === undefined ? status : `${status}: ${message.split("\n")[0]}`,
      ]),
    ),
  };
}

/** A manager and a TestDrivenSandbox for all tests of a file; at the end nothing of what ran is left. */
export function useTestDriven(options: () => SandboxManagerOptions = () => ({ backend: "bubblewrap" })) {
  let stateDir: string;
  let manager: SandboxManager;
  beforeAll(() => {
    stateDir = temporaryDirectory();
    manager = new SandboxManager({ stateDir, handleSignals: false, ...options() });
  });
  afterAll(async () => {
    await manager.close();
    const ephemeral = join(stateDir, "ephemeral");
    expect(readdirSync(ephemeral)).toEqual([]);
  });
  return {
    get manager() {
      return manager;
    },
    run: (code: string, tests: string | readonly TestCase[], more: TestOptions = {}): Promise<TestReport> =>
      new TestDrivenSandbox(manager, { timeoutMs: 30_000 }).executeWithTests(code, tests, more),
  };
}

/** A solution that tries to pass without being right. */
export interface SolutionAttack {
  readonly what: string;
  readonly code: string;
  readonly tests?: string;
  readonly options?: TestOptions;
  readonly outcome: string;
  /** What each test's entry in the summary begins with. */
  readonly ends: Readonly<Record<string, string>>;
  /** It passes where solution and tests share a process, which shows that it is an attack. */
  readonly works?: boolean;
}

/** Runs an attack: it does not pass, and the report says what came of it. */
export async function expectNoPass(
  { run }: Pick<ReturnType<typeof useTestDriven>, "run">,
  { code, tests, options, outcome, ends, works = false }: SolutionAttack & { readonly tests: string },
): Promise<void> {
  const report = await run(code, tests, options);
  const summary = summaryOf(report);
  expect({ ...summary, tests: Object.keys(summary.tests) }).toEqual({
    outcome,
    allPassed: false,
    tests: Object.keys(ends),
  });
  for (const [name, start] of Object.entries(ends))
    expect(summary.tests[name]?.slice(0, start.length)).toBe(start);
  expect(report.isTrustworthy).toBe(true);
  if (!works) return;
  const together = await run(code, tests, { ...options, together: true });
  expect(summaryOf(together)).toMatchObject({ outcome: "passed", allPassed: true });
  expect(together.isTrustworthy).toBe(false);
}

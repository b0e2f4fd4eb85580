import { cutMiddle } from "../replies/model-text.js";

/** What came of it all, in one word. Only `passed` is good. */
export const TEST_OUTCOMES = [
  "passed",
  "failed",
  "syntax-error",
  "crash",
  "timeout",
  "memory",
  "output-limit",
  "no-tests",
  "tests-broken",
  "denied",
  "rejected",
  "cancelled",
] as const;
export type TestOutcome = (typeof TEST_OUTCOMES)[number];

export const TEST_STATUSES = ["passed", "failed", "error", "skipped", "not-run"] as const;
export type TestStatus = (typeof TEST_STATUSES)[number];

export type TestRunner = "cases" | "pytest" | "unittest" | "node:test";

/** What came of one test. */
export interface TestResult {
  readonly name: string;
  /** `error`: it could not be run to its end, or set up. `not-run`: everything had ended before its turn. */
  readonly status: TestStatus;
  readonly durationMs: number;
  /** Why it did not pass. */
  readonly message?: string;
  /** What was compared, as text. */
  readonly expected?: string;
  readonly actual?: string;
  /** The test's own lines, and the solution's. */
  readonly traceback?: string;
}

/** What came of a solution and its tests. Texts in it may come from the solution: they are data, not evidence. */
export interface TestReport {
  /** True only if every test that was found ran and passed; some may be skipped, not all. */
  readonly allPassed: boolean;
  readonly outcome: TestOutcome;
  /** False: the solution could have faked the verdict, because nothing kept it apart from what decides. */
  readonly isTrustworthy: boolean;
  readonly runner: TestRunner;
  readonly language: string;
  readonly tests: readonly TestResult[];
  /** Those that neither passed nor were skipped. */
  readonly failures: readonly TestResult[];
  readonly counts: TestCounts;
  /** Why it is not `passed`, in one line. */
  readonly error?: string;
  /** What the solution printed, cut when it is long. */
  readonly stdout: string;
  readonly stderr: string;
  readonly durationMs: number;
  /** The records of the audit log. */
  readonly auditIds: readonly string[];
}

export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly errors: number;
  readonly skipped: number;
  readonly notRun: number;
  readonly total: number;
}

/** What is known when everything has ended. */
export interface ReportParts {
  readonly outcome: TestOutcome;
  readonly isTrustworthy: boolean;
  readonly runner: TestRunner;
  readonly language: string;
  readonly tests: readonly TestResult[];
  readonly error?: string | undefined;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly durationMs: number;
  readonly auditIds: readonly string[];
}

const MAX_OUTPUT_CHARACTERS = 64 * 1024;

/** A report out of its parts. What is `passed` has to look like it. */
export function createReport(parts: ReportParts): TestReport {
  const { outcome, isTrustworthy, runner, language, tests, stdout = "", stderr = "" } = parts;
  const counts = countTests(tests);
  const failures = tests.filter(({ status }) => status !== "passed" && status !== "skipped");
  const error = parts.error ?? (outcome === "passed" ? undefined : describeCounts(counts));
  return {
    allPassed: outcome === "passed" && counts.passed > 0 && failures.length === 0,
    outcome,
    isTrustworthy,
    runner,
    language,
    tests,
    failures,
    counts,
    ...(error !== undefined && { error }),
    stdout: cutMiddle(stdout, MAX_OUTPUT_CHARACTERS),
    stderr: cutMiddle(stderr, MAX_OUTPUT_CHARACTERS),
    durationMs: Math.round(parts.durationMs * 100) / 100,
    auditIds: parts.auditIds,
  };
}

function countTests(tests: readonly TestResult[]): TestCounts {
  const count = (wanted: TestStatus) => tests.filter(({ status }) => status === wanted).length;
  return {
    passed: count("passed"),
    failed: count("failed"),
    errors: count("error"),
    skipped: count("skipped"),
    notRun: count("not-run"),
    total: tests.length,
  };
}

/** `2 failed, 1 not run, 5 passed` */
export function describeCounts({ passed, failed, errors, skipped, notRun }: TestCounts): string {
  const parts: [number, string][] = [
    [failed, "failed"],
    [errors, errors === 1 ? "error" : "errors"],
    [notRun, "not run"],
    [skipped, "skipped"],
    [passed, "passed"],
  ];
  const told = parts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  return told.length === 0 ? "no tests" : told.join(", ");
}

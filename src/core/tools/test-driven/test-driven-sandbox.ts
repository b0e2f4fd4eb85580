import { SandboxError } from "../../../kit/errors.js";
import { harnessFileName } from "../../../runtime/sandbox/index.js";
import type { SandboxManager } from "../../manager/index.js";
import { auditIdsOf, type CallEnd } from "./call-end.js";
import { runCases } from "./cases/run-cases.js";
import { parseCases, type TestCase } from "./cases/test-case.js";
import type { TestsVerdict } from "./judge-tests.js";
import { type CheckedOptions, checkTestOptions, type TestOptions } from "./options.js";
import { createReport, type TestReport } from "./report.js";
import { runTogether } from "./run-together.js";
import { judgeSplit } from "./split-tests/judge-split.js";
import { runSplit } from "./split-tests/run-split.js";
import type { TestList } from "./test-list.js";

/** Runs code and its tests where neither can harm anything, and the code cannot fake the verdict. */
export class TestDrivenSandbox {
  readonly #manager: SandboxManager;
  readonly #defaults: TestOptions;

  /** `defaults` hold where a run says nothing else. */
  constructor(manager: SandboxManager, defaults: TestOptions = {}) {
    this.#manager = manager;
    this.#defaults = defaults;
  }

  /** Runs the code with its tests: cases, or the text of a file of tests. What fails is in the report, not thrown. */
  async executeWithTests(
    code: string,
    tests: readonly TestCase[] | string,
    options: TestOptions = {},
  ): Promise<TestReport> {
    const checked = checkTestOptions({ ...this.#defaults, ...given(options) });
    if (typeof code !== "string") {
      throw new SandboxError("INVALID_ARGUMENT", "The code must be text", {
        hint: "Pass the solution's source.",
      });
    }
    if (typeof tests !== "string") return this.#runCases(code, parseCases(tests), checked);
    return checked.together ? this.#runTogether(code, tests, checked) : this.#runSplit(code, tests, checked);
  }

  async #runCases(code: string, cases: readonly TestCase[], options: CheckedOptions): Promise<TestReport> {
    if (options.together) {
      throw new SandboxError("INVALID_ARGUMENT", "Cases cannot run in the same process as their solution", {
        hint: "Leave out together: it is for test files.",
      });
    }
    const { language, module, caseTimeoutMs, signal, onProgress } = options;
    const report = reporter(options);
    const end = await runCases({
      manager: this.#manager,
      language,
      module,
      cases,
      caseTimeoutMs,
      solution: { ...solutionCall(code, options), signal },
      onResult: onProgress,
    });
    return report(end, end.list, end.isolates, end.solution);
  }

  async #runSplit(code: string, tests: string, options: CheckedOptions): Promise<TestReport> {
    const { language, module, testsName, runner, signal, onProgress, call } = options;
    const report = reporter(options);
    const end = await runSplit({
      manager: this.#manager,
      language,
      module,
      runner,
      signal,
      solution: solutionCall(code, options),
      tests: { ...call, code: tests, filename: testsName },
      onResult: onProgress,
    });
    return report(judgeSplit(end), end.list, end.isolates, end.solution, end.tests);
  }

  async #runTogether(code: string, tests: string, options: CheckedOptions): Promise<TestReport> {
    const { language, runner, signal, onProgress, call } = options;
    const report = reporter(options);
    const testsName = harnessFileName(options.testsName, tests);
    const end = await runTogether({
      manager: this.#manager,
      language,
      testsName,
      runner,
      solution: { ...solutionCall(code, options), files: { ...call.files, [testsName]: tests }, signal },
      onResult: onProgress,
    });
    return report(end, end.list, false, end.call);
  }
}

/** Without what is left out by being undefined. */
function given(options: TestOptions): TestOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** The solution as a tool call. */
function solutionCall(code: string, { call, module, language }: CheckedOptions) {
  return { ...call, code, filename: `${module}${language.extensions[0]}` };
}

/** Makes the report of a run that begins now. */
function reporter({ language }: CheckedOptions) {
  const startedAt = performance.now();
  return (
    { outcome, error }: TestsVerdict,
    list: TestList,
    isTrustworthy: boolean,
    solution: CallEnd,
    tests: CallEnd = {},
  ): TestReport => {
    const finished = list.finish(error ?? "It did not end");
    list.throwFault();
    return createReport({
      outcome,
      error,
      isTrustworthy,
      runner: list.runner,
      language: language.name,
      tests: finished,
      stdout: solution.result?.stdout ?? "",
      stderr: solution.result?.stderr ?? "",
      durationMs: performance.now() - startedAt,
      auditIds: auditIdsOf([solution, tests]),
    });
  };
}

import { SandboxError } from "../../../kit/errors.js";
import {
  DEFAULT_LANGUAGE,
  findLanguageWith,
  type Language,
  type PythonRunner,
} from "../../../runtime/sandbox/index.js";
import type { ToolCall } from "../../manager/index.js";
import type { TestResult } from "./report.js";

/** In whose name tests run, and how. */
export interface TestOptions
  extends Pick<
    ToolCall,
    "sessionId" | "agentId" | "orgId" | "role" | "backend" | "requestId" | "env" | "signal"
  > {
  /** python, javascript or typescript; left out: python. */
  readonly language?: string | undefined;
  /** Of everything; left out: 60 seconds. */
  readonly timeoutMs?: number | undefined;
  /** Of each case; left out: 10 seconds. Tests of a file have that of everything only. */
  readonly caseTimeoutMs?: number | undefined;
  /** Files that both sides find in their workspace, by their path there. Each has a copy of its own. */
  readonly files?: Readonly<Record<string, string | Uint8Array>> | undefined;
  /** What tests import; left out: `solution`. */
  readonly moduleName?: string | undefined;
  /** What the file of tests is called; left out: after the module. */
  readonly testsName?: string | undefined;
  /** `unittest`: also where the sandbox has pytest. */
  readonly runner?: PythonRunner | undefined;
  /**
   * Solution and tests in one process: all that tests can do elsewhere works, and the solution can fake the verdict. The
   * report is not trustworthy then.
   */
  readonly together?: boolean | undefined;
  /** Called with each test as soon as it is known what came of it. */
  readonly onProgress?: ((test: TestResult) => void) | undefined;
}

/** A language whose solutions can be tested. */
export type TestedLanguage = Language & Required<Pick<Language, "tests">>;

/** The same, checked, with everything in it that was left out. */
export interface CheckedOptions {
  readonly language: TestedLanguage;
  readonly module: string;
  readonly testsName: string;
  readonly runner: PythonRunner;
  readonly together: boolean;
  readonly caseTimeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ((test: TestResult) => void) | undefined;
  /** What every tool call of the run has. */
  readonly call: ToolCall;
}

const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_CASE_TIMEOUT_MS = 10_000;

/** Refuses options that mean nothing before anything runs. */
export function checkTestOptions(options: TestOptions): CheckedOptions {
  const language = findLanguageWith("tests", options.language ?? DEFAULT_LANGUAGE);
  const {
    moduleName: module = "solution",
    runner = "auto",
    together = false,
    timeoutMs = DEFAULT_TIMEOUT_MS,
  } = options;
  if (typeof module !== "string" || !language.tests.moduleName.test(module)) {
    throw invalid(
      `The solution's module cannot be called ${JSON.stringify(module)}`,
      "Give a name that the tests can import, such as solution.",
    );
  }
  const { testsName = language.tests.testsName(module) } = options;
  if (typeof testsName !== "string" || !/^\w[\w.-]{0,199}$/.test(testsName)) {
    throw invalid("The name of the test file must not contain directories", "For example test_solution.py.");
  }
  if (runner !== "auto" && runner !== "unittest") {
    throw invalid(`There is no runner ${JSON.stringify(runner)}`, "Leave it out, or pass unittest.");
  }
  const { sessionId, agentId, orgId, role, backend, requestId, env, files, signal, onProgress } = options;
  checkFiles(files, [module, testsName]);
  return {
    language,
    module,
    testsName,
    runner,
    together,
    caseTimeoutMs: options.caseTimeoutMs ?? Math.min(DEFAULT_CASE_TIMEOUT_MS, timeoutMs),
    signal,
    onProgress,
    call: {
      tool: "run_tests",
      language: language.name,
      timeoutMs,
      sessionId,
      agentId,
      orgId,
      role,
      backend,
      requestId,
      env,
      files,
    },
  };
}

/** A file beside them that has the name of the solution or of the tests would be run instead. */
function checkFiles(files: TestOptions["files"], taken: readonly string[]): void {
  const stem = (name: string) => name.replace(/\.[^./]+$/, "");
  const same = Object.keys(files ?? {}).find((path) => taken.some((name) => stem(path) === stem(name)));
  if (same === undefined) return;
  throw invalid(
    `The file ${JSON.stringify(same)} has the name of the solution or of its tests`,
    "Rename it, or set moduleName.",
  );
}

function invalid(message: string, hint: string): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", message, { hint });
}

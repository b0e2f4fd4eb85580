import { posix } from "node:path";
import { SandboxError } from "../../../kit/errors.js";
import { findLanguage, languageForFile } from "../../../runtime/sandbox/index.js";
import type { TestLanguage } from "./report.js";

/** How a language's solutions and tests are run; `runtime` is where the guest's runners are inside. */
export interface TestingLanguage {
  readonly name: TestLanguage;
  readonly extension: string;
  /** What a solution's module can be called. */
  readonly moduleName: RegExp;
  /** The default name of its tests. */
  testsName(module: string): string;
  /** The solution alone, for tests elsewhere. */
  solution(runtime: string, program: string, module: string): readonly string[];
  /** The tests alone; the solution's module asks the other side. */
  tests(runtime: string, program: string, module: string, runner: PythonRunner): readonly string[];
  /** Both in one process: `program` is the solution. */
  together(runtime: string, program: string, tests: string, runner: PythonRunner): readonly string[];
  /** The solution, with cases that come one by one. */
  cases(runtime: string, program: string, module: string): readonly string[];
}

/** Left to the sandbox, or unittest also where there is pytest. */
export type PythonRunner = "auto" | "unittest";

const PYTHON: TestingLanguage = {
  name: "python",
  extension: ".py",
  moduleName: /^[A-Za-z_][A-Za-z0-9_]{0,99}$/,
  testsName: (module) => `test_${module}.py`,
  solution: (runtime, program, module) => [
    "python3",
    `${runtime}/python/split-tests/split-solution.py`,
    program,
    module,
  ],
  // Isolated: nothing of the environment or of a user's packages has a say in how tests run.
  tests: (runtime, program, module, runner) => [
    "python3",
    "-I",
    `${runtime}/python/split-tests/split-tests.py`,
    program,
    module,
    runner,
  ],
  together: (runtime, program, tests, runner) => [
    "python3",
    `${runtime}/python/tests/together-tests.py`,
    program,
    tests,
    runner,
  ],
  cases: (runtime, program, module) => [
    "python3",
    `${runtime}/python/cases/cases-python.py`,
    program,
    module,
  ],
};

function nodeLanguage(name: "javascript" | "typescript", extension: string): TestingLanguage {
  const node = (runtime: string) =>
    name === "typescript"
      ? ["node", "--require", `${runtime}/javascript/programs/typescript-hooks.cjs`]
      : ["node"];
  // Tests are the program, so that they run as they would anywhere; what is around them is loaded before.
  const runner = (runtime: string, around: string) => [
    ...node(runtime),
    ...[
      "--require",
      `${runtime}/javascript/${around}`,
      "--test-reporter",
      `${runtime}/javascript/tests/tests-reporter.cjs`,
    ],
  ];
  return {
    name,
    extension,
    moduleName: /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$/,
    testsName: (module) => `${module}.test${extension}`,
    solution: (runtime, program) => [
      ...node(runtime),
      `${runtime}/javascript/split-tests/split-solution.cjs`,
      program,
    ],
    tests: (runtime, program, module) => [...runner(runtime, "split-tests/split-tests.cjs"), program, module],
    together: (runtime, program, tests) => [
      ...runner(runtime, "tests/together-tests.cjs"),
      posix.join(posix.dirname(program), tests),
      program,
    ],
    cases: (runtime, program) => [...node(runtime), `${runtime}/javascript/cases/cases-node.cjs`, program],
  };
}

const LANGUAGES: readonly TestingLanguage[] = [
  PYTHON,
  nodeLanguage("javascript", ".js"),
  nodeLanguage("typescript", ".ts"),
];

/** The language of that name, for tests; others are refused. */
export function findTestingLanguage(name: string): TestingLanguage {
  const wanted = findLanguage(name).name;
  const found = LANGUAGES.find((each) => each.name === wanted);
  if (found !== undefined) return found;
  throw new SandboxError("UNSUPPORTED", `Tests are not supported for ${wanted}`, {
    hint: `Supported: ${LANGUAGES.map((each) => each.name).join(", ")}.`,
  });
}

/** The language that a solution's file name says; an error where it says none. */
export function testingLanguageOf(file: string): TestingLanguage {
  const language = languageForFile(file);
  if (language !== undefined) return findTestingLanguage(language.name);
  throw new SandboxError("LANGUAGE_UNKNOWN", `the language is not clear from the name ${file}`, {
    hint: `Add --language with one of: ${LANGUAGES.map((each) => each.name).join(", ")}.`,
  });
}

import { posix } from "node:path";
import type { TestingLanguage } from "../language.js";

/** `node` starts Node.js with all that a program of the language needs. */
export function nodeTests(extension: string, node: (runtime: string) => readonly string[]): TestingLanguage {
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
    runner: "node:test",
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
    hasKeywords: false,
    values: {
      null: "null",
      true: "true",
      false: "false",
      nan: "NaN",
      inf: "Infinity",
      wholeFloat: "",
      tupleOfOne: "",
      tuple: ["[", "]"],
      set: ["new Set([", "])"],
      emptySet: "new Set([])",
      bytes: (bytes) => `<${bytes.toString("hex")}>`,
    },
    exceptions: {
      Error: "AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError",
    },
  };
}

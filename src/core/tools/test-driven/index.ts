export { type ExpectedError, type FunctionCall, parseCases, type TestCase } from "./cases/test-case.js";
export {
  codeWithReflection,
  type GenerateRequest,
  type ReflectionOptions,
  type ReflectionResult,
  type ReflectionRound,
} from "./code-with-reflection.js";
export { describeFailures } from "./feedback.js";
export type { TestOptions } from "./options.js";
export {
  describeCounts,
  TEST_OUTCOMES,
  type TestCounts,
  type TestOutcome,
  type TestReport,
  type TestResult,
  type TestRunner,
  type TestStatus,
} from "./report.js";
export { TestDrivenSandbox } from "./test-driven-sandbox.js";

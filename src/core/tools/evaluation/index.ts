export { type EvaluationOptions, evaluate, type SampleResult } from "./evaluate.js";
export type { SampleVerdict } from "./judge-sample.js";
export { passAtK, type TaskCounts } from "./pass-at-k.js";
export { canonicalSamples, loadProblems, loadSamples, type Problem, type Sample } from "./problems.js";
export { ResultsFile } from "./results-file.js";
export { type EvaluationSummary, summarise } from "./summary.js";

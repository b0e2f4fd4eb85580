import { cutMiddle, markUntrusted } from "../replies/model-text.js";
import { describeCounts, type TestReport, type TestResult } from "./report.js";

const MAX_FAILURES = 10;
const MAX_PART = 1500;
const MAX_OUTPUT = 1500;
const MAX_DETAILS = 12_000;

/**
 * What a model is told of tests that did not pass: the real failures, and what the code printed. All of that may have been
 * written by the code under test, so it stands between marks that cannot be guessed, and is called data.
 */
export function describeFailures(report: TestReport): string {
  if (report.allPassed) return "";
  const { outcome, error, failures, counts, stdout, stderr } = report;
  const shown = failures.filter(({ status }) => status !== "not-run").slice(0, MAX_FAILURES);
  const left = failures.length - shown.length;
  const told = describeCounts(counts);
  const details = [
    // Why it is not passed may be what the code raised when it was loaded.
    ...(error === undefined || error === told ? [] : [indent(error)]),
    ...shown.map(describeTest),
    ...(left > 0 ? [`${left} more did not pass, or did not run.`] : []),
    ...describeOutput("printed", stdout),
    ...describeOutput("printed to standard error", stderr),
  ].join("\n\n");
  const head = `The tests did not pass (${outcome})${counts.total === 0 ? "" : `: ${told}`}`;
  if (details === "") return head;
  return `${head}\n${markUntrusted(cutMiddle(details, MAX_DETAILS), "Output of the tests and of the code under test follows")}`;
}

function describeTest({ name, status, message, expected, actual, traceback }: TestResult): string {
  const parts = [
    ["message", message],
    ["expected", expected],
    ["actual", actual],
    ["traceback", traceback],
  ] as const;
  const told = parts.flatMap(([what, text]) => (text === undefined ? [] : [`${what}: ${indent(text)}`]));
  return [`${name}: ${status}`, ...told].join("\n  ");
}

function describeOutput(what: string, text: string): string[] {
  return text === "" ? [] : [`The code ${what}:\n  ${indent(text, MAX_OUTPUT)}`];
}

function indent(text: string, most = MAX_PART): string {
  return cutMiddle(text.trimEnd(), most).replaceAll("\n", "\n    ");
}

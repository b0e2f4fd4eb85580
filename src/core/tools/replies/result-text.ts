import type { ExecutionResult } from "../../../runtime/sandbox/index.js";
import { cutMiddle, MAX_TEXT_CHARACTERS } from "./model-text.js";

/**
 * A result as text for an agent: what it printed, then `STDERR:` and that, then `Exit code: n` or why it ended otherwise.
 * `(no output)` where it printed nothing.
 */
export function formatResult(
  result: Pick<ExecutionResult, "stdout" | "stderr" | "reason" | "exitCode" | "error">,
  most = MAX_TEXT_CHARACTERS,
): string {
  const text = [outputText(result, most), endText(result)].filter((part) => part !== "").join("\n");
  return text === "" ? NO_OUTPUT : text;
}

const NO_OUTPUT = "(no output)";

/** The part of it that the program wrote; empty where it wrote nothing. */
export function outputText(
  { stdout, stderr }: Pick<ExecutionResult, "stdout" | "stderr">,
  most: number,
): string {
  const parts = [
    ...(stdout === "" ? [] : [stdout.replace(/\n$/, "")]),
    ...(stderr === "" ? [] : [`STDERR:\n${stderr.replace(/\n$/, "")}`]),
  ];
  return cutMiddle(parts.join("\n"), most);
}

/** The part of it that we know; a plain success needs no words. */
export function endText({
  reason,
  exitCode,
  error,
}: Pick<ExecutionResult, "reason" | "exitCode" | "error">): string {
  if (reason !== "exited") return error ?? reason;
  return exitCode === 0 ? "" : `Exit code: ${exitCode}`;
}

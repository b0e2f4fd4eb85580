import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import type { ToolResult } from "../../manager/index.js";

/** What came of a sample. */
export const SAMPLE_VERDICTS = [
  "passed",
  "failed",
  "error",
  "left-early",
  "invalid",
  "timeout",
  "memory",
  "output-limit",
  "signaled",
  "denied",
  "rejected",
] as const;
export type SampleVerdict = (typeof SAMPLE_VERDICTS)[number];

export interface Judgement {
  readonly verdict: SampleVerdict;
  /** In HumanEval's own words: "passed", "timed out", "failed: AssertionError". */
  readonly result: string;
}

const MAX_WORDS = 500;

/** Decided by how the program ended, and by the word that only the end of its tests says; the rest only explains. */
export function judge(result: ToolResult, passWord: string): Judgement {
  switch (result.reason) {
    case "exited":
      return result.exitCode === 0 && saidWord(result, passWord)
        ? { verdict: "passed", result: "passed" }
        : describeExit(result);
    case "timeout":
      return { verdict: "timeout", result: "timed out" };
    case "cancelled":
      return { verdict: "error", result: "failed: cancelled" };
    default:
      return { verdict: result.reason, result: `failed: ${result.error ?? result.reason}` };
  }
}

/** Of a program that cannot even be sent. */
export function judgeUnrunnable(why: string): Judgement {
  return { verdict: "invalid", result: `failed: ${escapeUnsafe(why).slice(0, MAX_WORDS)}` };
}

function saidWord({ stdout, stderr }: ToolResult, passWord: string): boolean {
  return stderr.includes(passWord) || stdout.includes(passWord);
}

function describeExit({ exitCode, stderr }: ToolResult): Judgement {
  const last = exitCode === 1 ? exceptionLine(stderr) : undefined;
  if (last === undefined) {
    return {
      verdict: "left-early",
      result: `failed: it exited with status ${exitCode} before its tests had ended`,
    };
  }
  return {
    verdict: last.startsWith("AssertionError") ? "failed" : "error",
    result: `failed: ${escapeUnsafe(last).slice(0, MAX_WORDS)}`,
  };
}

/** The line of a traceback that names the exception. */
function exceptionLine(stderr: string): string | undefined {
  if (!/^(?:Traceback \(most recent call last\):| {2}File ")/m.test(stderr)) return undefined;
  return stderr
    .split("\n")
    .reverse()
    .find((line) => /^[\w.]+(?:Error|Exception|Interrupt|Exit|Iteration|Warning|Group)?\b(?::|$)/.test(line));
}

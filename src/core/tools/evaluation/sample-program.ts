import { randomBytes } from "node:crypto";
import { MAX_CODE_BYTES } from "../../../kit/code-limits.js";
import type { Problem, Sample } from "./problems.js";

const WORD_BYTES = 16;

export interface EvaluatedProgram {
  readonly code: string;
  /** What it says when its tests came to their end: one that leaves earlier has never said it. */
  readonly passWord: string;
}

/** The sample, its tests and the end that only passing leads to, as one program. */
export function composeProgram(problem: Problem, sample: Sample): EvaluatedProgram {
  const passWord = randomBytes(WORD_BYTES).toString("hex");
  const answer = sample.solution ?? `${problem.prompt}${sample.completion ?? ""}`;
  // Backwards: a program that prints its own text does not say the word by that.
  const written = `b"\\n${[...passWord].reverse().join("")}\\n"[::-1]`;
  const code = [
    answer,
    problem.test,
    `check(${problem.entry_point})`,
    "import os as _skerry_os",
    `try: _skerry_os.write(2, ${written})`,
    // It may have closed that one.
    `except OSError: _skerry_os.write(1, ${written})`,
    "_skerry_os._exit(0)",
    "",
  ].join("\n");
  return { code, passWord };
}

/** True where the program itself is what no call takes: a NUL character, or too much of it. */
export function isUnrunnable({ code }: EvaluatedProgram): boolean {
  return code.includes("\0") || Buffer.byteLength(code) > MAX_CODE_BYTES;
}

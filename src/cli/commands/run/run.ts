import type { ExecuteOptions } from "../../definition/options.js";
import { execute } from "../../execution/execute.js";
import { readProgram } from "../../input/program-source.js";

export interface RunOptions extends ExecuteOptions {
  readonly language?: string;
  readonly code?: string;
}

/** `skerry run`: a program in one of our languages. */
export async function run(words: readonly string[], options: RunOptions): Promise<number> {
  const { language, code, filename, args, fromStdin } = await readProgram(words, options);
  return execute(options, !fromStdin, { language: language.name, code, filename, args });
}

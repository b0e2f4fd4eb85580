import type { ExecuteOptions } from "../../definition/index.js";
import { execute } from "../../execution/index.js";
import { readProgram } from "../../input/index.js";

export interface RunOptions extends ExecuteOptions {
  readonly language?: string;
  readonly code?: string;
}

/** `skerry run`: a program in one of our languages. */
export async function run(words: readonly string[], options: RunOptions): Promise<number> {
  const { language, code, filename, args, fromStdin } = await readProgram(words, options);
  return execute(options, !fromStdin, { language: language.name, code, filename, args });
}

import type { ExecuteOptions } from "../../definition/index.js";
import { execute } from "../../execution/index.js";
import { readProgram } from "../../input/index.js";

export interface RunOptions extends ExecuteOptions {
  readonly language?: string;
  readonly code?: string;
  readonly alone?: boolean;
}

/** `skerry run`: a program in one of our languages. */
export async function run(words: readonly string[], options: RunOptions): Promise<number> {
  const { language, code, filename, args, fromStdin } = await readProgram(words, options);
  const file = filename === undefined ? undefined : { path: words[0]!, name: filename };
  return execute(options, !fromStdin, { language: language.name, code, filename, args }, file);
}

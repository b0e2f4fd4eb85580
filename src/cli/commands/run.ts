import { SandboxError } from "../../errors.js";
import { findLanguage, type Language, languageForFile, languageNames } from "../../sandbox/languages.js";
import { execute } from "../execute.js";
import type { ExecuteOptions } from "../program.js";
import { readProgramSource } from "../program-source.js";

export interface RunOptions extends ExecuteOptions {
  readonly language?: string;
  readonly code?: string;
}

/** `skerry run`: a program in one of our languages. */
export async function run(words: readonly string[], options: RunOptions): Promise<number> {
  const named = options.language === undefined ? undefined : findLanguage(options.language);
  const source = await readProgramSource(words, options.code);
  const language = named ?? guessLanguage(source.filename);
  return execute(options, !source.fromStdin, (sandbox, common) =>
    sandbox.runCode({
      ...common,
      language: language.name,
      code: source.code,
      args: [...source.args],
      ...(source.filename !== undefined && { filename: source.filename }),
    }),
  );
}

function guessLanguage(filename: string | undefined): Language {
  const language = filename === undefined ? undefined : languageForFile(filename);
  if (language !== undefined) return language;
  const what =
    filename === undefined ? "the program has no file name" : `the name ${filename} does not say it`;
  throw new SandboxError("LANGUAGE_UNKNOWN", `which language? ${what}`, {
    hint: `Add --language with one of: ${languageNames.join(", ")}.`,
  });
}

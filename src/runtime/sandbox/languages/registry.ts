import { extname } from "node:path";
import { suggestWord } from "../../../kit/closest-word.js";
import { SandboxError, toSandboxError } from "../../../kit/errors.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import { BASH } from "./bash/language.js";
import { JAVASCRIPT } from "./javascript/language.js";
import type { Language } from "./language.js";
import { PYTHON } from "./python/language.js";
import { TYPESCRIPT } from "./typescript/language.js";

/** The one list of languages: a new one is a folder and a line here. */
export const LANGUAGES: readonly Language[] = [PYTHON, JAVASCRIPT, TYPESCRIPT, BASH];

/** What a context and tests are in when no language is given, and what a pool keeps warm. */
export const DEFAULT_LANGUAGE = PYTHON.name;

export const languageNames: readonly string[] = LANGUAGES.map((language) => language.name);

/** The language of that name or alias; an unknown one is an error that lists the known. */
export function findLanguage(name: string): Language {
  const wanted = name.toLowerCase();
  const found = LANGUAGES.find((language) => language.name === wanted || language.aliases.includes(wanted));
  if (found !== undefined) return found;
  throw new SandboxError("LANGUAGE_UNKNOWN", `Unknown language ${JSON.stringify(name)}`, {
    hint: suggestWord(name, languageNames, "Known languages"),
  });
}

/** The names of the languages that have contexts, or whose solutions can be tested. */
export function languagesWith(part: "context" | "tests"): string[] {
  return LANGUAGES.filter((language) => language[part] !== undefined).map(({ name }) => name);
}

/** The language of that name or alias, which must have contexts, or tests. */
export function findLanguageWith<Part extends "context" | "tests">(
  part: Part,
  name: string,
): Language & Required<Pick<Language, Part>> {
  const language = findLanguage(name);
  if (has(language, part)) return language;
  const what = part === "context" ? "Contexts" : "Tests";
  throw new SandboxError("UNSUPPORTED", `${what} are not supported for ${language.name}`, {
    hint: `Supported: ${languagesWith(part).join(", ")}.`,
  });
}

function has<Part extends "context" | "tests">(
  language: Language,
  part: Part,
): language is Language & Required<Pick<Language, Part>> {
  return language[part] !== undefined;
}

/** The language that a file's name says, or undefined. */
export function languageForFile(path: string): Language | undefined {
  const extension = extname(path).toLowerCase();
  return LANGUAGES.find((language) => language.extensions.includes(extension));
}

/** The name under which a harness runs that code. */
export function harnessFileName(name: string, code: string): string {
  const language = languageForFile(name);
  if (language === undefined || !name.endsWith(language.extensions[0])) return name;
  const needed = language.tests?.extensionFor?.(code);
  return needed === undefined ? name : `${name.slice(0, -extname(name).length)}${needed}`;
}

/** The error of a language whose interpreter is missing, on this host or in the image. */
export function languageUnavailable(language: Language, cause: unknown, image?: string): SandboxError {
  return new SandboxError(
    "LANGUAGE_UNAVAILABLE",
    `There is no ${language.interpreter} inside the sandbox to run ${language.name}`,
    {
      hint:
        image === undefined
          ? `Install it where the sandbox can see it (below /usr): ${language.install}`
          : `The image ${escapeUnsafe(image)} has no ${language.interpreter}: add it, or set backends.docker.images.${language.name} to one that has it.`,
      cause,
    },
  );
}

/** The same when a program's interpreter was not found; every other error stays as it is. */
export function explainMissingCommand(language: Language, error: unknown, image?: string): unknown {
  if (toSandboxError(error).code !== "COMMAND_NOT_FOUND") return error;
  return languageUnavailable(language, error, image);
}

/** Names the image that a command is missing in; everything else stays as it is. */
export function commandUnavailable(error: unknown, image: string | undefined): unknown {
  if (image === undefined || !(error instanceof SandboxError) || error.code !== "COMMAND_NOT_FOUND")
    return error;
  return new SandboxError(error.code, error.message, {
    hint: `It must be in the image ${escapeUnsafe(image)}, or in the workspace. It is looked up in PATH inside; a script also needs the interpreter that its first line names.`,
    cause: error,
  });
}

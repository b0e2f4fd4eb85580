import { nearest } from "../config/index.js";
import { SandboxError } from "../errors.js";

/** Languages that code may be in, and their other names. */
const LANGUAGES: Readonly<Record<string, readonly string[]>> = {
  python: ["py", "python3"],
  javascript: ["js", "node"],
  typescript: ["ts"],
  bash: ["sh", "shell"],
};

/** The one name of a language, however a request spells it. */
export function canonicalLanguage(name: string): string {
  const lower = name.toLowerCase();
  return (
    Object.entries(LANGUAGES).find(
      ([language, others]) => language === lower || others.includes(lower),
    )?.[0] ?? lower
  );
}

/** The same for a policy, where an unknown one is a mistake. */
export function languageName(name: string): string {
  const language = canonicalLanguage(name);
  if (Object.hasOwn(LANGUAGES, language)) return language;
  const near = nearest(name, Object.keys(LANGUAGES));
  throw new SandboxError(
    "INVALID_ARGUMENT",
    near === undefined ? "it is not known" : `did you mean "${near}"?`,
    {
      hint: `Known languages: ${Object.keys(LANGUAGES).join(", ")}.`,
    },
  );
}

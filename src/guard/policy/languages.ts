/** Languages that code may be in, and their other names. */
const LANGUAGES = {
  python: ["py", "python3"],
  javascript: ["js", "node"],
  typescript: ["ts"],
  bash: ["sh", "shell"],
} as const;

export type PolicyLanguage = keyof typeof LANGUAGES;

export const LANGUAGE_NAMES = Object.keys(LANGUAGES) as readonly PolicyLanguage[];

/** The one name of a language, however it is spelt; undefined for any other. */
export function languageName(name: string): PolicyLanguage | undefined {
  const lower = name.toLowerCase();
  return LANGUAGE_NAMES.find((each) => each === lower || LANGUAGES[each].some((other) => other === lower));
}

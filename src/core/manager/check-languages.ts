import { closestWord } from "../../kit/closest-word.js";
import { SandboxError } from "../../kit/errors.js";
import { settingsByLanguage } from "../../runtime/backends/index.js";
import { findLanguage, LANGUAGES, languageNames } from "../../runtime/sandbox/index.js";
import type { Config } from "../config/index.js";

/** Refuses settings that would be ignored. */
export function checkLanguages({ languages, backends }: Config["sandbox"]): void {
  for (const [name, { preload }] of Object.entries(languages)) {
    const { warm } = findLanguage(name);
    if (preload.length === 0 || warm?.kind === "fork") continue;
    throw new SandboxError(
      "CONFIG_INVALID",
      `sandbox.languages.${name}.preload: ${name} cannot load modules ahead`,
      {
        hint: "Only languages whose interpreter forks can: python.",
      },
    );
  }
  const named = settingsByLanguage(backends).flatMap(({ path, languages: names }) =>
    names.map((name) => ({ path, name })),
  );
  for (const { path, name } of named) {
    if (languageNames.includes(name)) continue;
    const meant =
      LANGUAGES.find(({ aliases }) => aliases.includes(name))?.name ?? closestWord(name, languageNames);
    throw new SandboxError("CONFIG_INVALID", `sandbox.backends.${path}.${name}: unknown language`, {
      hint: meant === undefined ? `Known languages: ${languageNames.join(", ")}.` : `Did you mean ${meant}?`,
    });
  }
}

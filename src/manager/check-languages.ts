import type { Config } from "../config/index.js";
import { SandboxError } from "../errors.js";
import { findLanguage } from "../sandbox/languages.js";

/** Refuses settings that would be ignored. */
export function checkLanguages(languages: Config["sandbox"]["languages"]): void {
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
}

import { SandboxError } from "../../kit/errors.js";
import { egressRulesOfDomains } from "./from-config.js";
import type { EgressRules } from "./rules.js";

export { Egress, type EgressOptions } from "./egress.js";
export type { EgressEvent, EgressTotals } from "./events.js";
export type { EgressRules, RequestRule, Ruled } from "./rules.js";
export { Secret, type SecretOptions } from "./secret.js";

/** Rules that let sandboxes reach these hosts: names, or `*.name` for all names below one. */
export function allowDomains(...domains: readonly string[]): EgressRules {
  if (domains.some((domain) => typeof domain !== "string")) {
    throw new SandboxError("INVALID_ARGUMENT", "allowDomains takes names, one after the other", {
      hint: 'For example allowDomains("api.example.com", "*.files.example.com").',
    });
  }
  return egressRulesOfDomains(domains, "allowDomains");
}

import { SandboxError } from "../../kit/errors.js";
import { egressRulesOfDomains } from "./from-config.js";
import type { EgressRules } from "./rules.js";

export { Egress, type EgressOptions } from "./egress.js";
export type { EgressEvent, EgressTotals } from "./events.js";
export type { EgressRules, RequestRule, Ruled, RuleSets } from "./rules.js";
export { Secret, type SecretOptions } from "./secret.js";
export {
  type NetworkConfig,
  type RequestConfig,
  SECRET_PLACES,
  type SecretConfig,
  type SecretPlace,
} from "./settings.js";

/** Rules that let sandboxes reach these hosts: names, or `*.name` for all names below one. */
export function allowDomains(...domains: readonly string[]): EgressRules {
  if (domains.some((domain) => typeof domain !== "string")) {
    throw new SandboxError("INVALID_ARGUMENT", "allowDomains takes names, one after the other", {
      hint: 'For example allowDomains("api.example.com", "*.files.example.com").',
    });
  }
  return egressRulesOfDomains(domains, "allowDomains");
}
export { openAuthority } from "./authority.js";
export { createCaBundle } from "./ca-bundle.js";
export { type CheckedChange, checkChange, type EgressChange, mergeChanges, rulesOfChange } from "./change.js";
export { EGRESS_PORT } from "./environment.js";
export { egressRulesOf, egressRulesOfDomains, joinRules } from "./from-config.js";
export { checkSecretHosts, loadSecrets, parseSecretOption } from "./load-secrets.js";
export { SecretSet } from "./secrets.js";

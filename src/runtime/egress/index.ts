import { SandboxError } from "../../kit/errors.js";
import { egressRulesOfDomains } from "./rules/from-config.js";
import type { EgressRules } from "./rules/rules.js";

export type { EgressEvent, EgressTotals } from "./events.js";
export { Egress, type EgressOptions } from "./proxy/egress.js";
export type { EgressRules, RequestRule, Ruled, RuleSets } from "./rules/rules.js";
export {
  type NetworkConfig,
  type RequestConfig,
  SECRET_PLACES,
  type SecretConfig,
  type SecretPlace,
} from "./rules/settings.js";
export { Secret, type SecretOptions } from "./secrets/secret.js";

/** Rules that let sandboxes reach these hosts: names, or `*.name` for all names below one. */
export function allowDomains(...domains: readonly string[]): EgressRules {
  if (domains.some((domain) => typeof domain !== "string")) {
    throw new SandboxError("INVALID_ARGUMENT", "allowDomains takes names, one after the other", {
      hint: 'For example allowDomains("api.example.com", "*.files.example.com").',
    });
  }
  return egressRulesOfDomains(domains, "allowDomains");
}
export { openAuthority } from "./certificates/authority.js";
export { createCaBundle } from "./certificates/ca-bundle.js";
export { EGRESS_PORT } from "./environment.js";
export {
  type CheckedChange,
  checkChange,
  type EgressChange,
  mergeChanges,
  rulesOfChange,
} from "./rules/change.js";
export { egressRulesOf, egressRulesOfDomains, joinRules } from "./rules/from-config.js";
export { checkSecretHosts, loadSecrets, parseSecretOption } from "./secrets/load-secrets.js";
export { SecretSet } from "./secrets/secret-set.js";

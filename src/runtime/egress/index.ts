import { SandboxError } from "../../kit/errors.js";
import { allowClientsOf } from "./clients/allow-clients.js";
import type { Egress, EgressOptions } from "./proxy/egress.js";
import { egressRulesOfDomains } from "./rules/from-config.js";
import type { EgressRules } from "./rules/rules.js";
import type { ClientName } from "./rules/settings.js";
import type { EdgeSecrets } from "./secrets/edge-secrets.js";
import type { Secret } from "./secrets/secret.js";

export { type AllowedClients, allowClientsOf, clientOfHost } from "./clients/allow-clients.js";
export { describePrivateHosts } from "./clients/private-hosts.js";
export { EGRESS_PORT, egressEnvironment } from "./environment.js";
export type { EgressEvent, EgressTotals } from "./events.js";
export type { Egress, EgressOptions } from "./proxy/egress.js";
export {
  type CheckedChange,
  checkChange,
  type EgressChange,
  mergeChanges,
  rulesOfChange,
} from "./rules/change.js";
export { allowsSomething } from "./rules/decide.js";
export { egressRulesOf, egressRulesOfDomains, joinRules, splitHostServices } from "./rules/from-config.js";
export type { EgressRules, GuestFile, HostAndPort, RequestRule, RuleEntry, RuleSets } from "./rules/rules.js";
export {
  CLIENT_NAMES,
  type ClientName,
  type NetworkConfig,
  type RequestConfig,
  SECRET_LOCATIONS,
  type SecretConfig,
  type SecretLocation,
} from "./rules/settings.js";
export { checkSecretHosts, loadSecrets, parseSecretOption } from "./secrets/load-secrets.js";
export { Secret, type SecretOptions, type SecretOrigin } from "./secrets/secret.js";

/** Rules that let sandboxes reach these hosts: names, or `*.name` for all names below one. */
export function allowDomains(...domains: readonly string[]): EgressRules {
  if (domains.some((domain) => typeof domain !== "string")) {
    throw new SandboxError("INVALID_ARGUMENT", "allowDomains takes names, one after the other", {
      hint: 'For example allowDomains("api.example.com", "*.files.example.com").',
    });
  }
  return egressRulesOfDomains(domains, "allowDomains");
}

/**
 * Rules that let sandboxes reach what these clients' own configuration on this machine names: their package indexes, also
 * mirrors, at their ports. Credentials stay outside.
 */
export function allowClients(...clients: readonly ClientName[]): EgressRules {
  return allowClientsOf(clients, "allowClients").rules;
}

/** Loads the proxy, which a sandbox without network does not need. */
export async function openEgress(options: EgressOptions): Promise<Egress> {
  const { Egress } = await import("./proxy/egress.js");
  return new Egress(options);
}

/** The secrets of one sandbox, under placeholders of its own. */
export interface SandboxSecrets extends EdgeSecrets {
  /** Variables for programs inside: each secret's name, and what stands for its value. */
  placeholders(): Record<string, string>;
}

/** Prepares secrets for one sandbox. Resolves also to the certificates, in PEM, that programs inside have to trust. */
export async function openSecrets(
  stateDir: string,
  secrets: readonly Secret[],
): Promise<{ readonly secrets: SandboxSecrets; readonly certificates: string }> {
  const [{ SecretSet }, { openAuthority }, { createCaBundle }] = await Promise.all([
    import("./secrets/secret-set.js"),
    import("./certificates/authority.js"),
    import("./certificates/ca-bundle.js"),
  ]);
  const authority = await openAuthority(stateDir);
  return {
    secrets: new SecretSet(secrets, authority),
    certificates: createCaBundle(authority.certificate),
  };
}

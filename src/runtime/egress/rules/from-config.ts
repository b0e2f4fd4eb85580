import { SandboxError } from "../../../kit/errors.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import { allowedDomainComplaint } from "../../../kit/hosts.js";
import { hostText, parseHost } from "./host.js";
import type { EgressRules, RequestRule, RuleEntry } from "./rules.js";
import type { NetworkConfig } from "./settings.js";

const BLOCK = "sandbox.network";

/** The rules of the configuration's `sandbox.network`. */
export function egressRulesOf(network: NetworkConfig): EgressRules {
  return {
    allowedDomains: labelled(network.allowedDomains, "allowedDomains"),
    deniedDomains: labelled(network.deniedDomains, "deniedDomains"),
    allowedIps: labelled(network.allowedIps, "allowedIps"),
    deniedIps: labelled(network.deniedIps, "deniedIps"),
    allowedPorts: labelled(network.allowedPorts, "allowedPorts"),
    deniedPorts: labelled(network.deniedPorts, "deniedPorts"),
    requests: labelled<RequestRule>(network.requests, "requests").map(({ value, rule }) => {
      const host = parseHost(value.host);
      return { rule, value: { ...value, host: host === undefined ? value.host : hostText(host) } };
    }),
    origin: `${BLOCK}.allowedDomains`,
    ipsOrigin: `${BLOCK}.allowedIps`,
    portsOrigin: `${BLOCK}.allowedPorts`,
  };
}

/** Rules for hosts that were named one by one, as by `--allow-domain`. The label is what named them. */
export function egressRulesOfDomains(
  domains: readonly string[],
  label: string,
  remedy?: EgressRules["remedy"],
): EgressRules {
  return {
    ...(remedy !== undefined && { remedy }),
    allowedDomains: domains.map((domain) => {
      const complaint = allowedDomainComplaint(domain);
      if (complaint === undefined) return { value: domain.toLowerCase(), rule: `${label} ${domain}` };
      const shown = escapeUnsafe(JSON.stringify(domain.slice(0, 80)));
      throw new SandboxError("INVALID_ARGUMENT", `${label} ${shown}: ${complaint}`, {
        hint: 'Name a host, such as api.example.com, or "*.example.com" for all names below it.',
      });
    }),
    deniedDomains: [],
    allowedIps: [],
    deniedIps: [],
    deniedPorts: [],
    requests: [],
    origin: label,
  };
}

/** One set that allows what any of them allows, and denies what any of them denies. The first names what is refused. */
export function joinRules(first: EgressRules, ...others: readonly EgressRules[]): EgressRules {
  const sets = [first, ...others];
  const saying = sets.filter(({ allowedPorts }) => allowedPorts !== undefined);
  return {
    ...first,
    allowedDomains: sets.flatMap((set) => set.allowedDomains),
    deniedDomains: sets.flatMap((set) => set.deniedDomains),
    allowedIps: sets.flatMap((set) => set.allowedIps),
    deniedIps: sets.flatMap((set) => set.deniedIps),
    ...(saying.length > 0 && { allowedPorts: saying.flatMap((set) => set.allowedPorts ?? []) }),
    deniedPorts: sets.flatMap((set) => set.deniedPorts),
    requests: sets.flatMap((set) => set.requests),
  };
}

function labelled<T>(values: readonly T[], key: string): RuleEntry<T>[] {
  return values.map((value, index) => ({ value, rule: `${BLOCK}.${key}[${index}]` }));
}

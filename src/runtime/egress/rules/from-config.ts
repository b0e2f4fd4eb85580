import { defined } from "../../../kit/defined.js";
import { SandboxError } from "../../../kit/errors.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import { allowedDomainComplaint, HOST_SERVICES, hostServicePort } from "../../../kit/hosts.js";
import { hostText, parseHost } from "./host.js";
import type { EgressRules, RequestRule, RuleEntry } from "./rules.js";
import type { NetworkConfig } from "./settings.js";

const BLOCK = "sandbox.network";

/** The rules of the configuration's `sandbox.network`. */
export function egressRulesOf(network: NetworkConfig): EgressRules {
  const { names, services } = splitHostServices(labelled(network.allowedDomains, "allowedDomains"));
  return {
    allowedDomains: names,
    deniedDomains: labelled(network.deniedDomains, "deniedDomains"),
    allowedIps: labelled(network.allowedIps, "allowedIps"),
    deniedIps: labelled(network.deniedIps, "deniedIps"),
    allowedPorts: labelled(network.allowedPorts, "allowedPorts"),
    deniedPorts: labelled(network.deniedPorts, "deniedPorts"),
    requests: [
      ...labelled<RequestRule>(network.requests, "requests").map(({ value, rule }) => {
        const host = parseHost(value.host);
        return { rule, value: { ...value, host: host === undefined ? value.host : hostText(host) } };
      }),
      ...services,
    ],
    ...(network.internet && { internet: `${BLOCK}.internet` }),
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
  const entries = domains.map((domain) => {
    const complaint = allowedDomainComplaint(domain);
    if (complaint === undefined) return { value: domain.toLowerCase(), rule: `${label} ${domain}` };
    const shown = escapeUnsafe(JSON.stringify(domain.slice(0, 80)));
    throw new SandboxError("INVALID_ARGUMENT", `${label} ${shown}: ${complaint}`, {
      hint: 'Name a host, such as api.example.com, or "*.example.com" for all names below it.',
    });
  });
  const { names, services } = splitHostServices(entries);
  return {
    ...(remedy !== undefined && { remedy }),
    allowedDomains: names,
    deniedDomains: [],
    allowedIps: [],
    deniedIps: [],
    deniedPorts: [],
    requests: services,
    origin: label,
  };
}

/** Entries that name a port of the host are rules of that port alone. */
export function splitHostServices(entries: readonly RuleEntry<string>[]): {
  readonly names: readonly RuleEntry<string>[];
  readonly services: readonly RuleEntry<RequestRule>[];
} {
  return {
    names: entries.filter(({ value }) => hostServicePort(value) === undefined),
    services: entries.flatMap(({ value, rule }) => {
      const port = hostServicePort(value);
      return port === undefined ? [] : [{ rule, value: { host: HOST_SERVICES, ports: [port] } }];
    }),
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
    ...defined({ internet: sets.find(({ internet }) => internet !== undefined)?.internet }),
    ownHosts: sets.flatMap(({ ownHosts = [] }) => ownHosts),
    environment: Object.assign({}, ...sets.map(({ environment }) => environment)),
    files: sets.flatMap(({ files = [] }) => files),
  };
}

function labelled<T>(values: readonly T[], key: string): RuleEntry<T>[] {
  return values.map((value, index) => ({ value, rule: `${BLOCK}.${key}[${index}]` }));
}

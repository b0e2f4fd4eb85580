import { matchingDomain } from "../../../kit/domains.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import { HOST_SERVICES } from "../../../kit/hosts.js";
import {
  inRange,
  isNamedBy,
  isOwnAddress,
  isPrivateAddress,
  isSpecialAddress,
  leadsInto,
} from "./addresses.js";
import { type Host, hostText } from "./host.js";
import { matchesPath, readPath } from "./paths.js";
import {
  DEFAULT_PORTS,
  type EgressDecision,
  type EgressRules,
  type RequestRule,
  type RuleEntry,
  type RuleSets,
} from "./rules.js";

/** A request that egress can read. The path is as it stands in the request, with or without its query. */
export interface ReadableRequest {
  readonly host: Host;
  readonly port: number;
  readonly method: string;
  readonly path: string;
  readonly scheme: "http" | "https";
  /** Left out: it has none. */
  readonly hasBody?: boolean;
}

export interface HostOptions {
  /** The proxy cannot read it: a TLS tunnel, or a protocol other than HTTP. */
  readonly opaque?: boolean;
}

/** May this host be connected to, as far as its name says? What it resolves to is for `decideAddress`. */
export function decideHost(
  rules: RuleSets,
  host: Host,
  port: number,
  options: HostOptions = {},
): EgressDecision {
  return everySet(rules, (set, isOpen) => {
    const access = accessTo(set, isOpen, host, port);
    if ("allowed" in access) return access;
    const { open, narrowed } = access;
    if (open !== undefined) return allow(open.rule, hostText(host));
    if (options.opaque !== true) return allow(narrowed[0]!.rule, hostText(host));
    const why = `${hostText(host)} is allowed for some requests only by rule ${narrowed[0]!.rule}, and requests inside TLS cannot be read`;
    return deny(narrowed[0]!.rule, why);
  });
}

/** A body means nothing in them: some servers leave it on the connection, and read it as a request that no rule has seen. */
const WITHOUT_BODY = ["GET", "HEAD"];

/** May a request that can be read be sent? */
export function decideRequest(
  rules: RuleSets,
  { host, port, method, path, scheme, hasBody = false }: ReadableRequest,
): EgressDecision {
  return everySet(rules, (set, isOpen) => {
    const access = accessTo(set, isOpen, host, port);
    if ("allowed" in access) return access;
    const { open, narrowed } = access;
    if (open !== undefined) return allow(open.rule, hostText(host));
    const read = readPath(path);
    const found = narrowed.find(({ value }) => isOneOf(value, method, read));
    const request = `${shown(method)} ${scheme}://${hostText(host)}${shown(path.split("?", 1)[0]!)}`;
    if (found !== undefined && hasBody && WITHOUT_BODY.includes(method)) {
      const why = `${request} has a body, which servers may take for a next request: rule ${found.rule} does not allow it`;
      return deny(found.rule, why);
    }
    if (found !== undefined) return allow(found.rule, hostText(host));
    const { rule } = narrowed[0]!;
    if (read !== undefined) return deny(rule, `${request} is not allowed by rule ${rule}`);
    return deny(
      rule,
      `${request} has a path that servers read in different ways, which rule ${rule} does not allow`,
    );
  });
}

/** May this address be dialled for the host? */
export function decideAddress(rules: RuleSets, host: Host, address: string, port: number): EgressDecision {
  const named =
    host.kind === "address" ? shown(address) : `${host.name} resolves to ${shown(address)}, which`;
  return everySet(rules, (set) => {
    const refusing = deniedAddress(set, address);
    if (refusing !== undefined) return deny(refusing.rule, `${named} is denied by rule ${refusing.rule}`);
    if (set.deniesOnly === true) return allow(set.origin, shown(address));
    const special = isSpecialAddress(address) ?? (isOwnAddress(address) ? "this machine" : undefined);
    const naming = set.allowedIps.find(({ value }) => inRange(address, value));
    if (special === undefined) return allow(naming?.rule ?? set.origin, shown(address));
    const own = host.kind === "name" ? ownEntry(set, host.name, port, address) : undefined;
    if (own !== undefined) return allow(own.rule, host.kind === "name" ? host.name : address);
    const asked = set.requests.filter(
      ({ value }) => value.host === address && (value.ports?.includes(port) ?? true),
    );
    const entries = [...set.allowedIps, ...asked.map(({ value, rule }) => ({ value: value.host, rule }))];
    if (
      isNamedBy(
        address,
        entries.map(({ value }) => value),
      )
    ) {
      return allow(entries.find(({ value }) => inRange(address, value))?.rule ?? set.origin, shown(address));
    }
    const why =
      host.kind === "address"
        ? `${shown(address)} (${special}) is not allowed by rule ${set.ipsOrigin ?? set.origin}`
        : `${host.name} resolves to ${shown(address)} (${special}), which is not allowed by rule ${set.ipsOrigin ?? set.origin}`;
    return deny(set.ipsOrigin ?? set.origin, why);
  });
}

/** Some host may be reached by these rules. */
export function allowsSomething({ allowedDomains, allowedIps, requests, internet }: EgressRules): boolean {
  return internet !== undefined || allowedDomains.length + allowedIps.length + requests.length > 0;
}

/**
 * The entry by which a name may lead to an address that is not of the public Internet: the host's own services at loopback,
 * and what this machine's own configuration names at private addresses. Never a cloud's metadata.
 */
function ownEntry(
  { requests, ownHosts = [] }: EgressRules,
  name: string,
  port: number,
  address: string,
): RuleEntry<unknown> | undefined {
  if (name === HOST_SERVICES)
    return requests.find(({ value }) => value.host === name && value.ports?.includes(port) === true);
  if (isSpecialAddress(address) !== undefined && !isPrivateAddress(address)) return undefined;
  return ownHosts.find(({ value }) => value.host === name && value.port === port);
}

/** The verdict about what is no host at all: a name with a NUL, an address with a zone. */
export function refuseHost(rules: RuleSets, raw: string): EgressDecision {
  const rule = (isList(rules) ? rules[0] : rules)?.origin ?? NO_RULES;
  return deny(rule, `"${shown(raw)}" is not the name of a host`);
}

/** Text of the guest for a line: short, and nothing in it acts or hides. */
export function shown(text: string): string {
  return escapeUnsafe(text.length > 120 ? `${text.slice(0, 120)}…` : text);
}

interface Access {
  /** The entry that allows everything there. */
  readonly open?: RuleEntry<unknown>;
  /** The entries that allow some requests. One at least where nothing is open. */
  readonly narrowed: readonly RuleEntry<RequestRule>[];
}

/** What a set says about a host and a port: refused, or which entries allow it. */
function accessTo(set: EgressRules, isOpen: IsOpen, host: Host, port: number): EgressDecision | Access {
  const text = hostText(host);
  const deniedPort = set.deniedPorts.find(({ value }) => value === port);
  if (deniedPort !== undefined)
    return deny(deniedPort.rule, `port ${port} of ${text} is denied by rule ${deniedPort.rule}`);
  const denied =
    host.kind === "address" ? deniedAddress(set, text) : matchingDomain(set.deniedDomains, text, "deny");
  if (denied !== undefined) return deny(denied.rule, `${text} is denied by rule ${denied.rule}`);
  // A service of the host is named with its port by the set that allows it.
  if (set.deniesOnly === true)
    return isOpen(port) || text === HOST_SERVICES ? allow(set.origin, text) : closedPort(set, text, port);
  const open =
    matchingDomain(set.allowedDomains, text, "allow") ??
    set.allowedIps.find(({ value }) => host.kind === "address" && inRange(text, value)) ??
    (set.internet === undefined ? undefined : { value: "*", rule: set.internet });
  if (open !== undefined && isOpen(port)) return { open, narrowed: [] };
  const requests = set.requests.filter(({ value }) => matchingDomain([{ value: value.host }], text, "allow"));
  const narrowed = requests.filter(({ value }) => value.ports?.includes(port) ?? isOpen(port));
  if (narrowed.length > 0) {
    const whole = narrowed.find(({ value }) => value.methods === undefined && value.paths === undefined);
    return { ...(whole !== undefined && { open: whole }), narrowed };
  }
  if (open !== undefined || requests.length > 0) return closedPort(set, text, port);
  const rule = host.kind === "address" ? (set.ipsOrigin ?? set.origin) : set.origin;
  if (allowsSomething(set)) return deny(rule, `${text} is not allowed by rule ${rule}`);
  const refused = `this sandbox has no network: ${text} was refused`;
  return deny(
    rule,
    set.remedy === undefined ? `${refused} by rule ${rule}` : `${refused}; ${set.remedy(text)}`,
  );
}

function closedPort(set: EgressRules, host: string, port: number): EgressDecision {
  const rule = set.portsOrigin ?? set.origin;
  return deny(rule, `port ${port} of ${host} is not allowed by rule ${rule}`);
}

function deniedAddress(set: EgressRules, address: string): RuleEntry<string> | undefined {
  return (
    set.deniedIps.find(({ value }) => leadsInto(address, value)) ??
    matchingDomain(set.deniedDomains, address, "deny")
  );
}

function isOneOf({ methods, paths }: RequestRule, method: string, path: string | undefined): boolean {
  if (methods !== undefined && !methods.includes(method)) return false;
  return paths === undefined || (path !== undefined && paths.some((glob) => matchesPath(glob, path)));
}

const NO_RULES = "built in";

type IsOpen = (port: number) => boolean;

/** The first set that refuses decides; where every set allows, the first that can names the rule. */
function everySet(
  rules: RuleSets,
  decide: (set: EgressRules, isOpen: IsOpen) => EgressDecision,
): EgressDecision {
  const sets = isList(rules) ? rules : [rules];
  const isSaid = sets.some(({ allowedPorts }) => allowedPorts !== undefined);
  const byDefault: IsOpen = (port) => isSaid || DEFAULT_PORTS.some((each) => each === port);
  const verdicts = sets.map((set) =>
    decide(set, (port) => set.allowedPorts?.some(({ value }) => value === port) ?? byDefault(port)),
  );
  const refusal = verdicts.find(({ allowed }) => !allowed);
  const naming = verdicts.find((_, index) => sets[index]!.deniesOnly !== true);
  return refusal ?? naming ?? deny(NO_RULES, "nothing is allowed: there are no rules");
}

function isList(rules: RuleSets): rules is readonly EgressRules[] {
  return Array.isArray(rules);
}

function allow(rule: string, what: string): EgressDecision {
  return { allowed: true, rule, why: `${what} is allowed by rule ${rule}` };
}

function deny(rule: string, why: string): EgressDecision {
  return { allowed: false, rule, why };
}

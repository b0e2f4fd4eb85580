import { SandboxError } from "../../../kit/errors.js";
import {
  allowedRangeComplaint,
  domainComplaint,
  HOST_SERVICES,
  hostServicePort,
  loopbackComplaint,
  rangeComplaint,
} from "../../../kit/hosts.js";
import { shown } from "./decide.js";
import { egressRulesOfDomains } from "./from-config.js";
import { hostText, parseHost } from "./host.js";
import type { EgressRules, RuleEntry } from "./rules.js";

/** Hosts that a running session may reach besides, or no longer: names, `*.name`, addresses and ranges. */
export interface EgressChange {
  readonly allow?: readonly string[];
  /** `*`: everything. */
  readonly deny?: readonly string[];
}

/** A change with every host in its one spelling. */
export type CheckedChange = Required<EgressChange>;

const EXAMPLE = 'For example { allow: ["api.example.com"], deny: ["*.files.example.com"] }.';

/** Refuses what is no host: who denies something has to know that it is denied. */
export function checkChange(change: EgressChange): CheckedChange {
  if (!isRecord(change)) {
    throw new SandboxError("INVALID_ARGUMENT", "A change takes hosts to allow and hosts to deny", {
      hint: EXAMPLE,
    });
  }
  const { allow = [], deny = [] } = change;
  const lists = { allow, deny };
  for (const [kind, list] of Object.entries(lists)) {
    if (Array.isArray(list) && list.every((each) => typeof each === "string")) continue;
    throw new SandboxError("INVALID_ARGUMENT", `${kind} takes a list of hosts`, {
      hint: EXAMPLE,
    });
  }
  if (allow.length + deny.length === 0) {
    throw new SandboxError("INVALID_ARGUMENT", "There is nothing to change", {
      hint: "Name hosts to allow or to deny.",
    });
  }
  const checked = { allow: allow.map(canonical), deny: deny.map(canonical).map(withoutPort) };
  // Throws for what would allow strangers.
  rulesOfChange(checked);
  return checked;
}

/** The later word counts: what is allowed now is no longer denied by an earlier change, and the other way round. */
export function mergeChanges(earlier: CheckedChange, later: CheckedChange): CheckedChange {
  const named = new Set([...later.allow, ...later.deny]);
  const opensService = later.allow.some((each) => hostServicePort(each) !== undefined);
  const others = (list: readonly string[]) =>
    list.filter((each) => !named.has(each) && !(opensService && each === HOST_SERVICES));
  return {
    allow: [...others(earlier.allow), ...later.allow],
    deny: [...others(earlier.deny), ...later.deny],
  };
}

/** The rules that a change comes to. */
export function rulesOfChange({ allow, deny }: CheckedChange): EgressRules {
  const isRange = (host: string) => rangeComplaint(host) === undefined;
  const ranges = allow.filter(isRange);
  for (const range of ranges) {
    const complaint = loopbackComplaint(range) ?? allowedRangeComplaint(range);
    if (complaint !== undefined)
      throw new SandboxError("INVALID_ARGUMENT", `egress allow ${range}: ${complaint}`);
  }
  const denied = (list: readonly string[]): RuleEntry<string>[] =>
    list.map((value) => ({ value, rule: `egress deny ${value}` }));
  return {
    ...egressRulesOfDomains(
      allow.filter((host) => !isRange(host)),
      "egress allow",
    ),
    allowedIps: ranges.map((value) => ({ value, rule: `egress allow ${value}` })),
    deniedDomains: denied(deny.filter((host) => !isRange(host))),
    deniedIps: denied(deny.filter(isRange)),
  };
}

/** The spelling in which rules are compared. */
function canonical(host: string): string {
  if (host === "*" || rangeComplaint(host) === undefined) return host;
  if (hostServicePort(host) !== undefined) return host.toLowerCase();
  const [wildcard, name] = host.startsWith("*.") ? ["*.", host.slice(2)] : ["", host];
  const parsed = parseHost(name);
  const text = parsed === undefined ? undefined : wildcard + hostText(parsed);
  if (
    text !== undefined &&
    (parsed?.kind === "address" ? wildcard === "" : domainComplaint(text) === undefined)
  )
    return text;
  throw new SandboxError("INVALID_ARGUMENT", `"${shown(host)}" is not a host`, {
    hint: "Name one such as api.example.com, *.example.com, 192.0.2.7 or 192.0.2.0/24, without scheme, port or path.",
  });
}

/** A denial is for every port. */
function withoutPort(host: string): string {
  return hostServicePort(host) === undefined ? host : HOST_SERVICES;
}

function isRecord(value: unknown): value is EgressChange {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

import { basename } from "node:path";
import type { PolicyDecision, RuleReference } from "../../../guard/policy/index.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import { type EgressRules, type RuleEntry, splitHostServices } from "../../../runtime/egress/index.js";

/** The rules of a policy's decision. Undefined: there is no network access, so nothing may be reached. */
export function egressRulesOfDecision(network: PolicyDecision["network"]): EgressRules | undefined {
  if (!network.access) return undefined;
  const { names, services } = splitHostServices(labelled(network.allowedDomains));
  return {
    allowedDomains: names,
    deniedDomains: labelled(network.deniedDomains),
    allowedIps: labelled(network.allowedIps),
    deniedIps: labelled(network.deniedIps),
    deniedPorts: labelled(network.deniedPorts),
    requests: services,
    origin: labelOf(network.rule),
  };
}

/** The rules of a decision without network access: nothing, and the words that say why. */
export function noEgressOfDecision({ settingRules, rule }: PolicyDecision): EgressRules {
  const granting = settingRules.network_access?.rule;
  return {
    allowedDomains: [],
    deniedDomains: [],
    allowedIps: [],
    deniedIps: [],
    deniedPorts: [],
    requests: [],
    origin:
      granting === undefined
        ? escapeUnsafe(`${basename(rule.source)}: network_access, which nothing grants`)
        : labelOf(granting),
  };
}

/** "policy.yaml: network.allowlist.domains[2] (line 14)". The agent is told it: no directories of this machine. */
function labelOf({ path, source, line }: RuleReference): string {
  return escapeUnsafe(`${basename(source)}: ${path} (line ${line})`);
}

function labelled<T>(items: readonly { readonly value: T; readonly rule: RuleReference }[]): RuleEntry<T>[] {
  return items.map(({ value, rule }) => ({ value, rule: labelOf(rule) }));
}

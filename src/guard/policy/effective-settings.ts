import { intersectDomains } from "../../kit/domains.js";
import type { LimitName, LimitRule, PolicyLimits, RuledSetting, SettingRule } from "./decision.js";
import type { Items, Policy, Role, RuleReference, Setting, Settings } from "./policy.js";

/** The three places that may say something about a call, most general first. */
export interface Layers {
  readonly base: Settings;
  readonly tool: Settings;
  readonly role: Settings;
}

const RISKS = ["safe", "low", "medium", "high", "critical"];

/** Which key of the file sets which limit. */
const LIMIT_KEYS = {
  timeoutMs: "max_execution_time",
  memoryMb: "max_memory",
  cpus: "max_cpu",
  pids: "max_pids",
  outputBytes: "max_output",
  fileSizeMb: "max_file_size",
  workspaceMb: "max_workspace",
} as const satisfies Record<LimitName, keyof Settings>;

/** What a role has, with what it inherits. */
export interface EffectiveRole {
  readonly settings: Settings;
  readonly tools: Items;
}

/**
 * What every role says, with what it inherits. Its own word replaces its parents', of several parents the stricter
 * counts, and what any of them denies is denied. Each role is worked out once, however many ways lead to it.
 */
export function effectiveRoles({ roles }: Policy): ReadonlyMap<string, EffectiveRole> {
  const done = new Map<string, EffectiveRole>();
  const workOut = (role: Role): EffectiveRole => {
    const known = done.get(role.name);
    if (known !== undefined) return known;
    const parents = role.inherits.flatMap(({ value }) => roles.get(value) ?? []).map(workOut);
    const inherited = parents.map(({ settings }) => settings).reduce(stricterSettings, {});
    const effective: EffectiveRole = {
      settings: withInherited(role.settings, inherited),
      tools: role.tools ?? unique(parents.flatMap(({ tools }) => tools)),
    };
    done.set(role.name, effective);
    return effective;
  };
  for (const role of roles.values()) workOut(role);
  return done;
}

/** Its own word replaces the other's, but what either denies is denied. */
export function withInherited(own: Settings, inherited: Settings): Settings {
  return { ...inherited, ...own, ...bothDeny(own, inherited) };
}

function unique(items: Items): Items {
  const seen = new Set<string>();
  return items.filter(({ value }) => !seen.has(value) && seen.add(value));
}

const DENY_KEYS = ["denied_paths", "denied_commands", "denied_domains", "confirm_commands"] as const;

function bothDeny(one: Settings, other: Settings): Settings {
  const found: Partial<Record<keyof Settings, Setting<unknown>>> = {};
  for (const key of DENY_KEYS) {
    const lists = [one[key], other[key]].filter((each) => each !== undefined);
    if (lists.length > 0)
      found[key] = { value: uniqueRules(lists.flatMap(({ value }) => value)), rule: lists[0]!.rule };
  }
  return found as Settings;
}

/** Over several ways the same entry comes several times. */
function uniqueRules(items: Items): Items {
  const seen = new Set<string>();
  return items.filter(({ rule }) => !seen.has(rule.path) && seen.add(rule.path));
}

/** Of a tool's and a role's own word the stricter one; without either, the default's. */
export function strictest<T>(
  layers: Layers,
  key: keyof Settings,
  stricter: (a: T, b: T) => T,
): Setting<T> | undefined {
  const tool = layers.tool[key] as Setting<T> | undefined;
  const role = layers.role[key] as Setting<T> | undefined;
  if (tool === undefined || role === undefined)
    return tool ?? role ?? (layers.base[key] as Setting<T> | undefined);
  return stricter(tool.value, role.value) === tool.value ? tool : role;
}

const smaller = (a: number, b: number) => Math.min(a, b);
export const isTrue = (a: boolean, b: boolean) => a || b;
export const isFalse = (a: boolean, b: boolean) => a && b;
export const strictMode = (a: "strict" | "permissive", b: "strict" | "permissive") =>
  a === "strict" || b === "strict" ? "strict" : "permissive";
export const lowerRisk = <T extends string>(a: T, b: T) => (RISKS.indexOf(a) <= RISKS.indexOf(b) ? a : b);

/** The limits of a call, and where each comes from. */
export function effectiveLimits(layers: Layers): {
  readonly limits: PolicyLimits;
  readonly limitRules: Partial<Record<LimitName, LimitRule>>;
} {
  const limits: { -readonly [Name in LimitName]?: number } = {};
  const limitRules: Partial<Record<LimitName, LimitRule>> = {};
  for (const [limit, key] of Object.entries(LIMIT_KEYS) as [LimitName, (typeof LIMIT_KEYS)[LimitName]][]) {
    const chosen = strictest<number>(layers, key, smaller);
    if (chosen === undefined) continue;
    limits[limit] = chosen.value;
    const other = [layers.tool[key], layers.role[key]].find((each) => each !== undefined && each !== chosen);
    const isOpposed = other !== undefined && other.value !== chosen.value;
    limitRules[limit] = { rule: chosen.rule, ...(isOpposed && { instead: other }) };
  }
  return { limits, limitRules };
}

/** The settings of a call other than limits, and where each comes from. */
export function effectiveSettingRules(layers: Layers): Partial<Record<RuledSetting, SettingRule>> {
  const found: Partial<Record<RuledSetting, SettingRule>> = {};
  const note = (key: RuledSetting, chosen: Setting<boolean | string> | undefined) => {
    if (chosen === undefined) return;
    const other = [layers.tool[key], layers.role[key]].find((each) => each !== undefined && each !== chosen);
    const isOpposed = other !== undefined && other.value !== chosen.value;
    found[key] = { ...chosen, ...(isOpposed && { instead: other }) };
  };
  note("sandbox_enabled", strictest<boolean>(layers, "sandbox_enabled", isTrue));
  note("network_access", strictest<boolean>(layers, "network_access", isFalse));
  note("security_mode", strictest(layers, "security_mode", strictMode));
  note("max_risk", strictest<string>(layers, "max_risk", lowerRisk));
  return found;
}

/** Every list that must let something through: the tool's and the role's, or without either the default's. */
export function allowLists(
  layers: Layers,
  key: "allowed_paths" | "allowed_commands" | "allowed_domains" | "supported_languages",
): Setting<Items>[] {
  const own = [layers.tool[key], layers.role[key]].filter((each) => each !== undefined);
  return own.length > 0 ? own : [layers.base[key]].filter((each) => each !== undefined);
}

/** The hosts that every list lets through; without a list of tool, role or default, those of the network's block. */
export function allowedDomains(
  layers: Layers,
  { network }: Policy,
): { readonly items: Items; readonly rule: RuleReference } {
  const [first, ...others] = allowLists(layers, "allowed_domains");
  if (first === undefined) return { items: network.allowedDomains, rule: network.rule };
  return {
    items: others.reduce<Items>((both, { value }) => intersectDomains(both, value), first.value),
    rule: first.rule,
  };
}

/** Every entry of any list that refuses or asks. */
export function denyItems(
  layers: Layers,
  key: "denied_paths" | "denied_commands" | "denied_domains" | "confirm_commands",
): Items {
  return [layers.tool[key], layers.role[key], layers.base[key]].flatMap((each) => each?.value ?? []);
}

/** Two parents' words in one: limits by the smaller, lists by both. */
function stricterSettings(one: Settings, other: Settings): Settings {
  const layers: Layers = { base: {}, tool: one, role: other };
  const merged: Partial<Record<keyof Settings, Setting<unknown>>> = { ...one, ...other };
  for (const key of Object.values(LIMIT_KEYS)) assign(key, strictest<number>(layers, key, smaller));
  assign("network_access", strictest<boolean>(layers, "network_access", isFalse));
  assign("sandbox_enabled", strictest<boolean>(layers, "sandbox_enabled", isTrue));
  assign("requires_confirmation", strictest<boolean>(layers, "requires_confirmation", isTrue));
  assign("security_mode", strictest(layers, "security_mode", strictMode));
  assign("max_risk", strictest<string>(layers, "max_risk", lowerRisk));
  Object.assign(merged, bothDeny(one, other));
  for (const key of [
    "allowed_paths",
    "allowed_commands",
    "allowed_domains",
    "supported_languages",
  ] as const) {
    const [first, second] = [one[key], other[key]];
    if (first === undefined || second === undefined) continue;
    const names = new Set(second.value.map(({ value }) => value));
    const value =
      key === "allowed_domains"
        ? intersectDomains(first.value, second.value)
        : first.value.filter((each) => names.has(each.value));
    assign(key, { value, rule: first.rule });
  }
  return merged as Settings;

  function assign(key: keyof Settings, setting: Setting<unknown> | undefined): void {
    if (setting !== undefined) merged[key] = setting;
  }
}

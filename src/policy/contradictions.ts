import { nearest } from "../config/nearest.js";
import type { Policy, Role, RuleBlock, RuleReference, SettingName } from "./policy.js";
import { BUILT_IN_TOOLS, CUSTOM_TOOL } from "./tools.js";

interface Contradiction {
  readonly rule: RuleReference;
  readonly message: string;
  readonly hint: string;
}

/** Rules that each make sense and together do not. */
export function findContradictions(policy: Policy): Contradiction[] {
  const tools = [...policy.tools].flatMap(([name, block]) => toolContradictions(name, block));
  const roles = [...policy.roles.values()].flatMap((role) => roleContradictions(role, policy));
  const blocks = [policy.default, ...policy.tools.values(), ...policy.roles.values()].flatMap(
    blockContradictions,
  );
  return [...tools, ...roles, ...blocks];
}

function toolContradictions(name: string, { settings }: RuleBlock): Contradiction[] {
  const { runsCode } = BUILT_IN_TOOLS.get(name) ?? CUSTOM_TOOL;
  const enabled = settings.sandbox_enabled;
  if (!runsCode || enabled?.value !== false) return [];
  return [
    {
      rule: enabled.rule,
      message: `${name} runs code, which never happens outside a sandbox`,
      hint: "Leave sandbox_enabled out. Only tools that read and write files may go without.",
    },
  ];
}

function blockContradictions({ settings }: RuleBlock): Contradiction[] {
  const found: Contradiction[] = [];
  for (const what of ["paths", "commands", "domains"] as const) {
    const allowed = settings[`allowed_${what}` as SettingName & `allowed_${string}`];
    const denied = settings[`denied_${what}` as SettingName & `denied_${string}`];
    const names = new Set(allowed?.value.map(({ value }) => value));
    for (const { value, rule } of denied?.value ?? []) {
      if (names.has(value)) {
        found.push({
          rule,
          message: `${JSON.stringify(value)} is both allowed and denied`,
          hint: "Remove one of the two.",
        });
      }
    }
  }
  const { allowed_domains, network_access, requires_confirmation, risk_level } = settings;
  if (allowed_domains !== undefined && network_access?.value === false) {
    found.push({
      rule: allowed_domains.rule,
      message: "domains are allowed, and network_access is false",
      hint: "Set network_access to true, or remove the domains.",
    });
  }
  if (risk_level?.value === "critical" && requires_confirmation?.value === false) {
    found.push({
      rule: requires_confirmation.rule,
      message: "a critical tool always asks a person",
      hint: "Remove requires_confirmation, or lower risk_level.",
    });
  }
  return found;
}

function roleContradictions(role: Role, { roles }: Policy): Contradiction[] {
  const unknown = role.inherits
    .filter(({ value }) => !roles.has(value))
    .map(({ value, rule }) => {
      const near = nearest(value, ["default", ...roles.keys()]);
      return {
        rule,
        message: `there is no role named ${JSON.stringify(value)}`,
        hint:
          near === undefined ? `Known: ${["default", ...roles.keys()].join(", ")}.` : `Did you mean ${near}?`,
      };
    });
  return inheritsItself(role, roles)
    ? [
        ...unknown,
        { rule: role.rule, message: `the role ${role.name} inherits from itself`, hint: "Break the circle." },
      ]
    : unknown;
}

function inheritsItself(role: Role, roles: ReadonlyMap<string, Role>): boolean {
  const seen = new Set<string>();
  const waiting = role.inherits.map(({ value }) => value);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (next === role.name) return true;
    if (seen.has(next)) continue;
    seen.add(next);
    waiting.push(...(roles.get(next)?.inherits ?? []).map(({ value }) => value));
  }
  return false;
}

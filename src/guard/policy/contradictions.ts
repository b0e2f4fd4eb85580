import { closestWord } from "../../kit/closest-word.js";
import type { Policy, Role, RuleBlock, RuleReference, Setting, SettingName } from "./policy.js";
import { BUILT_IN_TOOLS, CUSTOM_TOOL } from "./tools.js";

interface Contradiction {
  readonly rule: RuleReference;
  readonly message: string;
  readonly hint: string;
}

const MAX_ROLES = 1000;
/** Deeper than any organisation; inheriting twice over at each level would take forever. */
const MAX_LEVELS = 32;

/** Rules that each make sense and together do not. */
export function findContradictions(policy: Policy): Contradiction[] {
  if (policy.roles.size > MAX_ROLES) {
    return [
      { rule: policy.rolesRule, message: `more than ${MAX_ROLES} roles`, hint: "Let roles share rules." },
    ];
  }
  const { defaultRole } = policy;
  const isUnknown = defaultRole !== undefined && !policy.roles.has(defaultRole.value);
  const roles = [
    ...(isUnknown ? [unknownRole(defaultRole, [...policy.roles.keys()])] : []),
    ...[...policy.roles.values()].flatMap((role) => roleContradictions(role, policy)),
  ];
  const blocks = [policy.default, ...policy.tools.values(), ...policy.roles.values()].flatMap(
    blockContradictions,
  );
  const critical = [...policy.tools].flatMap(([name, block]) => criticalContradictions(name, block));
  return [...sandboxContradictions(policy), ...unenforceablePaths(policy), ...roles, ...blocks, ...critical];
}

function runsCode(name: string): boolean {
  return (BUILT_IN_TOOLS.get(name) ?? CUSTOM_TOOL).runsCode;
}

/** Only tools that run nothing may go without a sandbox, in every layer. */
function sandboxContradictions({ default: base, tools, roles }: Policy): Contradiction[] {
  const found: Contradiction[] = [];
  const refuse = (setting: Setting<boolean> | undefined, name: string | undefined) => {
    if (setting?.value !== false || name === undefined) return;
    found.push({
      rule: setting.rule,
      message: `${name} runs code, which never happens outside a sandbox`,
      hint: "Leave sandbox_enabled out. Only tools that read and write files may go without.",
    });
  };
  const isExposed = (name: string) =>
    runsCode(name) && tools.get(name)?.settings.sandbox_enabled === undefined;
  refuse(base.settings.sandbox_enabled, [...tools.keys()].find(isExposed));
  for (const [name, { settings }] of tools)
    refuse(settings.sandbox_enabled, runsCode(name) ? name : undefined);
  for (const { settings, tools: own = [] } of roles.values()) {
    refuse(settings.sandbox_enabled, own.find(({ value }) => runsCode(value))?.value);
  }
  return found;
}

/** A program opens what it likes in its workspace: a list of the only paths it may use could not be enforced. */
function unenforceablePaths({ tools }: Policy): Contradiction[] {
  return [...tools].flatMap(([name, { settings }]) =>
    settings.allowed_paths === undefined || !runsCode(name)
      ? []
      : [
          {
            rule: settings.allowed_paths.rule,
            message: `${name} runs code, which may open every file of its workspace`,
            hint: "allowed_paths is for tools that read and write files; put what must stay out of reach elsewhere.",
          },
        ],
  );
}

function blockContradictions({ settings }: RuleBlock): Contradiction[] {
  const found: Contradiction[] = [];
  const compare = (denied: SettingName, other: SettingName, how: string) => {
    const listOf = (name: SettingName) =>
      (settings[name] as Setting<readonly Setting<string>[]> | undefined)?.value ?? [];
    const names = new Set(listOf(other).map(({ value }) => value));
    for (const { value, rule } of listOf(denied)) {
      if (!names.has(value)) continue;
      found.push({ rule, message: `${JSON.stringify(value)} is ${how}`, hint: "Remove one of the two." });
    }
  };
  compare("denied_paths", "allowed_paths", "both allowed and denied");
  compare("denied_commands", "allowed_commands", "both allowed and denied");
  compare("denied_domains", "allowed_domains", "both allowed and denied");
  compare("denied_commands", "confirm_commands", "both denied and to be confirmed");
  const { allowed_domains, network_access } = settings;
  if (allowed_domains !== undefined && network_access?.value === false) {
    found.push({
      rule: allowed_domains.rule,
      message: "domains are allowed, and network_access is false",
      hint: "Set network_access to true, or remove the domains.",
    });
  }
  return found;
}

function criticalContradictions(name: string, { settings }: RuleBlock): Contradiction[] {
  const { requires_confirmation: asks, risk_level } = settings;
  const tier = risk_level?.value ?? (BUILT_IN_TOOLS.get(name) ?? CUSTOM_TOOL).tier;
  if (tier !== "critical" || asks?.value !== false) return [];
  return [
    {
      rule: asks.rule,
      message: "a critical tool always asks a person",
      hint: "Remove requires_confirmation, or lower risk_level.",
    },
  ];
}

function roleContradictions(role: Role, { roles }: Policy): Contradiction[] {
  const found: Contradiction[] = [];
  for (const parent of role.inherits) {
    if (!roles.has(parent.value)) found.push(unknownRole(parent, ["default", ...roles.keys()]));
  }
  const { isCircular, levels, hasTools } = lookUp(role, roles);
  const { rule, name } = role;
  if (isCircular)
    found.push({ rule, message: `the role ${name} inherits from itself`, hint: "Break the circle." });
  else if (levels > MAX_LEVELS) {
    found.push({
      rule,
      message: `roles inherit over more than ${MAX_LEVELS} levels`,
      hint: "Inherit from fewer.",
    });
  } else if (!hasTools && found.length === 0) {
    found.push({
      rule,
      message: `the role ${name} has no tools, so it can do nothing`,
      hint: "List them under tools.",
    });
  }
  return found;
}

function unknownRole({ value, rule }: Setting<string>, names: readonly string[]): Contradiction {
  const near = closestWord(value, names);
  const hint = near === undefined ? `Known: ${names.slice(0, 20).join(", ")}.` : `Did you mean ${near}?`;
  return { rule, message: `there is no role named ${JSON.stringify(value)}`, hint };
}

/** What a role reaches by inheriting, level by level; each role is looked at once. */
function lookUp(role: Role, roles: ReadonlyMap<string, Role>) {
  const seen = new Set<string>([role.name]);
  let isCircular = false;
  let hasTools = role.tools !== undefined;
  let levels = 0;
  for (let level = [role]; level.length > 0; levels++) {
    const next: Role[] = [];
    for (const { value } of level.flatMap(({ inherits }) => inherits)) {
      isCircular ||= value === role.name;
      const parent = roles.get(value);
      if (parent === undefined || seen.has(value)) continue;
      seen.add(value);
      hasTools ||= parent.tools !== undefined;
      next.push(parent);
    }
    level = next;
  }
  return { isCircular, levels, hasTools };
}

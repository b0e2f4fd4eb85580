import { nearest } from "../config/index.js";
import type { Policy, Settings } from "./policy.js";
import type { Reader } from "./reader.js";
import { findCycle, toolsOfRole } from "./roles.js";
import type { RuleList, RuleReference } from "./rule.js";
import { keyOf } from "./settings-keys.js";

/** Finds what no single key is wrong about: rules that contradict each other, and roles that go in circles. */
export function checkConsistency(policy: Policy, reader: Reader): void {
  checkRoles(policy, reader);
  checkSandboxes(policy, reader);
  checkConfirmation(policy, reader);
  const blocks = [policy.defaults, ...[...(policy.tools?.values() ?? [])].map((tool) => tool.settings)];
  for (const settings of [...blocks, ...[...policy.roles.values()].map((role) => role.settings)]) {
    checkLists(settings, reader);
    checkNetwork(settings, reader);
  }
}

function at(rule: RuleReference) {
  return { line: rule.line, column: rule.column };
}

function checkRoles(policy: Policy, reader: Reader): void {
  for (const [name, role] of policy.roles) {
    for (const { value: parent, rule } of role.inherits) {
      if (policy.roles.has(parent)) continue;
      const near = nearest(parent, ["default", ...policy.roles.keys()]);
      reader.problem(
        at(rule),
        rule.path,
        `unknown role "${parent}"${near === undefined ? "" : `; did you mean "${near}"?`}`,
      );
    }
    const cycle = findCycle(policy.roles, name);
    if (cycle !== undefined) {
      const how = cycle.length === 2 ? "inherits itself" : `inherits itself: ${cycle.join(" → ")}`;
      reader.problem(at(cycleRule(policy, name) ?? role.rule), role.rule.path, how);
    } else if (toolsOfRole(policy.roles, name).length === 0 && role.tools === undefined) {
      reader.problem(
        at(role.rule),
        role.rule.path,
        "the role has no tools, so it could do nothing",
        "List them under `tools:`.",
      );
    }
  }
}

function cycleRule(policy: Policy, name: string): RuleReference | undefined {
  return policy.roles.get(name)?.inherits[0]?.rule;
}

/** Only tools that run nothing may do without a sandbox. */
function checkSandboxes(policy: Policy, reader: Reader): void {
  const refuse = (rule: RuleReference, who: string) =>
    reader.problem(
      at(rule),
      rule.path,
      `${who}, which runs code, always runs in a sandbox`,
      "Remove the line, or write true.",
    );
  for (const [name, { settings }] of policy.tools ?? []) {
    const { sandbox } = settings;
    if (sandbox?.value === false && policy.known.get(name)?.runsCode === true) refuse(sandbox.rule, name);
  }
  for (const [name, { settings }] of policy.roles) {
    const { sandbox } = settings;
    if (sandbox?.value !== false || findCycle(policy.roles, name) !== undefined) continue;
    const tool = toolsOfRole(policy.roles, name).find(
      ({ value }) => policy.known.get(value)?.runsCode === true,
    );
    if (tool !== undefined) refuse(sandbox.rule, tool.value);
  }
  const { sandbox } = policy.defaults;
  if (sandbox?.value !== false) return;
  const names = [...(policy.tools?.keys() ?? policy.known.keys())];
  const exposed = names.find(
    (name) =>
      policy.known.get(name)?.runsCode === true && policy.tools?.get(name)?.settings.sandbox === undefined,
  );
  if (exposed !== undefined) refuse(sandbox.rule, exposed);
}

/** A critical tool needs a person, whatever else is said. */
function checkConfirmation(policy: Policy, reader: Reader): void {
  for (const [name, { settings, tier }] of policy.tools ?? []) {
    const { confirmation } = settings;
    const effective = tier?.value ?? policy.known.get(name)?.tier;
    if (confirmation?.value === false && effective === "critical") {
      reader.problem(
        at(confirmation.rule),
        confirmation.rule.path,
        `${name} is critical, which always needs a person's consent`,
      );
    }
  }
}

/** The same entry in a list and in the one that says the opposite. */
function checkLists(settings: Settings, reader: Reader): void {
  const pairs: readonly [keyof Settings, readonly Entry[], keyof Settings, readonly Entry[]][] = [
    [
      "deniedCommands",
      texts(settings.deniedCommands, ({ text }) => text),
      "allowedCommands",
      texts(settings.allowedCommands, ({ text }) => text),
    ],
    [
      "deniedPaths",
      texts(settings.deniedPaths, ({ pattern }) => pattern),
      "allowedPaths",
      texts(settings.allowedPaths, ({ pattern }) => pattern),
    ],
    [
      "deniedDomains",
      texts(settings.deniedDomains, ({ pattern }) => pattern),
      "allowedDomains",
      texts(settings.allowedDomains, ({ pattern }) => pattern),
    ],
    [
      "deniedCommands",
      texts(settings.deniedCommands, ({ text }) => text),
      "confirmCommands",
      texts(settings.confirmCommands, ({ text }) => text),
    ],
  ];
  for (const [, denied, otherField, others] of pairs) {
    for (const { text, rule } of denied) {
      const other = others.find((each) => each.text === text);
      if (other !== undefined) {
        reader.problem(
          at(rule),
          rule.path,
          `"${text}" also stands in ${keyOf(otherField)}, on line ${other.rule.line}`,
        );
      }
    }
  }
}

interface Entry {
  readonly text: string;
  readonly rule: RuleReference;
}

function texts<T>(list: RuleList<T> | undefined, textOf: (value: T) => string): Entry[] {
  return (list?.items ?? []).map(({ value, rule }) => ({ text: textOf(value), rule }));
}

/** Hosts that may be reached, and no way out. */
function checkNetwork(settings: Settings, reader: Reader): void {
  const { network, allowedDomains } = settings;
  if (network?.value !== false || allowedDomains === undefined || allowedDomains.items.length === 0) return;
  reader.problem(
    at(allowedDomains.rule),
    allowedDomains.rule.path,
    `hosts are allowed, but network_access is false on line ${network.rule.line}`,
  );
}

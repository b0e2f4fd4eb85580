import { closestWord } from "../../kit/closest-word.js";
import { SandboxError } from "../../kit/errors.js";
import { escapeUnsafe } from "../../kit/escape-unsafe.js";
import { parseCommandPattern } from "./command-patterns.js";
import { findContradictions } from "./contradictions.js";
import { compilePathGlob } from "./path-globs.js";
import type {
  Items,
  NetworkRules,
  Policy,
  PolicyProblem,
  Role,
  RuleBlock,
  RuleReference,
  Setting,
  SettingName,
  Settings,
} from "./policy.js";
import { type ItemCheck, NETWORK_ITEMS, readSetting, SETTING_KINDS, shown } from "./setting-kinds.js";
import { BUILT_IN_TOOLS, toolName } from "./tools.js";
import { YamlTree } from "./yaml-tree.js";

const MAX_POLICY_CHARACTERS = 1024 * 1024;
const MAX_PROBLEMS = 50;
const MAX_ITEMS = 10_000;
const NAME = /^[a-zA-Z][\w.-]{0,63}$/;
/** As names they would mean something to JavaScript itself. */
const FORBIDDEN_NAMES = new Set(["__proto__", "constructor", "prototype"]);

/** Reads a policy. Anything wrong with it is POLICY_INVALID, with every problem, its line and its column. */
export function parsePolicy(text: string, source = "policy"): Policy {
  const { policy, problems } = read(text, source);
  if (policy !== undefined) return policy;
  const lines = problems.map(
    ({ line, column, message, hint }) =>
      `${source}:${line}:${column}: ${message}${hint === undefined ? "" : ` (${hint})`}`,
  );
  throw new SandboxError("POLICY_INVALID", lines.join("\n"), {
    hint: "skerry policy check says the same; skerry policy init prints a policy to start from.",
  });
}

/** Everything that is wrong with a policy; nothing when it is valid. */
export function checkPolicy(text: string, source = "policy"): readonly PolicyProblem[] {
  return read(text, source).problems;
}

function read(
  text: string,
  source: string,
): { readonly policy?: Policy; readonly problems: readonly PolicyProblem[] } {
  if (typeof text !== "string" || text.length > MAX_POLICY_CHARACTERS) {
    return { problems: [{ line: 1, column: 1, path: "", message: "a policy has 1 MiB of text at most" }] };
  }
  const tree = new YamlTree(text, source);
  const policy = tree.problems.length > 0 ? undefined : new Reader(tree, source).read();
  const problems = tree.problems
    .map((each) => ({ ...each, message: escapeUnsafe(each.message), path: escapeUnsafe(each.path) }))
    .sort((a, b) => a.line - b.line || a.column - b.column)
    .slice(0, MAX_PROBLEMS);
  return policy === undefined || problems.length > 0 ? { problems } : { policy, problems };
}

/** Goes through a file from top to bottom; what it does not understand becomes a problem of the tree. */
class Reader {
  readonly #tree: YamlTree;
  readonly #source: string;
  readonly #custom = new Set<string>();

  constructor(tree: YamlTree, source: string) {
    this.#tree = tree;
    this.#source = source;
  }

  read(): Policy | undefined {
    const tree = this.#tree;
    if (tree.isNothing(tree.root)) {
      tree.complain(tree.root, "", "the policy is empty", "skerry policy init prints one to start from.");
      return undefined;
    }
    const parts = this.#block(tree.root, "", [
      "version",
      "default_role",
      "custom_tools",
      "policies",
      "network",
    ]);
    const version = parts.get("version");
    if (version !== undefined && tree.scalar(version) !== 1) {
      tree.complain(version, "version", `expected version 1, not ${shown(tree.scalar(version))}`);
    }
    if (!parts.has("policies") && !parts.has("network")) {
      tree.complain(tree.root, "", 'expected "policies" or "network"');
    }
    this.#readCustomTools(parts.get("custom_tools"));
    const policies = parts.get("policies");
    const sections =
      policies === undefined
        ? new Map<string, unknown>()
        : this.#block(policies, "policies", ["default", "tools", "agent_roles"]);
    const [defaultRole] = parts.has("default_role")
      ? this.#single(parts.get("default_role"), "default_role")
      : [];
    const policy: Policy = {
      source: this.#source,
      ...(defaultRole !== undefined && { defaultRole }),
      default: this.#ruleBlock(sections.get("default"), "policies.default"),
      toolsRule: this.#keyRule(policies, "tools"),
      rolesRule: this.#keyRule(policies, "agent_roles"),
      tools: this.#readTools(sections.get("tools")),
      roles: this.#readRoles(sections.get("agent_roles")),
      network: this.#readNetwork(parts.get("network")),
      customTools: this.#custom,
    };
    for (const { rule, message, hint } of findContradictions(policy)) {
      tree.problems.push({ line: rule.line, column: rule.column, path: rule.path, message, hint });
    }
    return policy;
  }

  /** Where a section of the policies begins; the policies themselves when it is not there. */
  #keyRule(policies: unknown, name: string): RuleReference {
    const entries = this.#tree.isMap(policies) ? this.#tree.entries(policies, "policies") : [];
    return this.#tree.reference(entries.find(({ key }) => key === name)?.at ?? policies, `policies.${name}`);
  }

  #readCustomTools(node: unknown): void {
    if (node === undefined) return;
    for (const item of this.#list(node, "custom_tools")) {
      if (BUILT_IN_TOOLS.has(toolName(item.value))) {
        this.#refuse(item.rule, `${item.value} is built in and need not be declared`);
      } else if (this.#isName(item.rule, item.value)) this.#custom.add(item.value);
    }
  }

  #readTools(node: unknown): Map<string, RuleBlock> {
    const tools = new Map<string, RuleBlock>();
    if (node === undefined || this.#tree.isNothing(node)) return tools;
    for (const { key, at, value } of this.#tree.entries(node, "policies.tools")) {
      const path = `policies.tools.${key}`;
      const rule = this.#tree.reference(at, path);
      const name = toolName(key);
      if (tools.has(name)) this.#refuse(rule, `${key} is another name of ${name}, which stands here already`);
      else if (this.#isTool(rule, name))
        tools.set(name, { rule, settings: this.#settings(value, path, ["risk_level"]) });
    }
    return tools;
  }

  #readRoles(node: unknown): Map<string, Role> {
    const roles = new Map<string, Role>();
    if (node === undefined || this.#tree.isNothing(node)) return roles;
    for (const { key, at, value } of this.#tree.entries(node, "policies.agent_roles")) {
      const path = `policies.agent_roles.${key}`;
      if (key === "default")
        this.#tree.complain(at, path, "default is the name of the defaults, not of a role");
      else if (this.#isName(this.#tree.reference(at, path), key))
        roles.set(key, this.#readRole(key, at, value, path));
    }
    return roles;
  }

  #readRole(name: string, at: unknown, node: unknown, path: string): Role {
    const tree = this.#tree;
    const entries = tree.isNothing(node) ? [] : tree.entries(node, path);
    const find = (key: string) => entries.find((entry) => entry.key === key)?.value;
    const toolsNode = find("tools");
    const inheritsNode = find("inherits");
    const tools =
      toolsNode === undefined
        ? undefined
        : this.#list(toolsNode, `${path}.tools`).map((item) => ({ ...item, value: toolName(item.value) }));
    for (const tool of tools ?? []) this.#isTool(tool.rule, tool.value);
    const inherits =
      inheritsNode === undefined
        ? []
        : tree.isList(inheritsNode)
          ? this.#list(inheritsNode, `${path}.inherits`)
          : this.#single(inheritsNode, `${path}.inherits`);
    return {
      name,
      rule: tree.reference(at, path),
      settings: this.#settings(node, path, ["tools", "inherits"]),
      inherits: inherits.filter((each) => each.value !== "default"),
      ...(tools !== undefined && { tools }),
    };
  }

  #readNetwork(node: unknown): NetworkRules {
    const tree = this.#tree;
    const parts =
      node === undefined ? new Map() : this.#block(node, "network", ["default", "allowlist", "denylist"]);
    const initial = parts.get("default");
    if (initial !== undefined && tree.scalar(initial) !== "none") {
      tree.complain(
        initial,
        "network.default",
        `expected none, not ${shown(tree.scalar(initial))}`,
        "What has network access reaches the allowlist only.",
      );
    }
    const list = (name: "allowlist" | "denylist", keys: readonly string[]) => {
      const value = parts.get(name);
      const fields =
        value === undefined
          ? new Map<string, unknown>()
          : this.#block(value, `network.${name}`, ["enabled", ...keys]);
      const enabled = fields.get("enabled");
      const isOn = enabled === undefined ? true : tree.scalar(enabled);
      if (typeof isOn !== "boolean")
        tree.complain(enabled, `network.${name}.enabled`, "expected true or false");
      return { fields, isOn: isOn === true };
    };
    const allow = list("allowlist", ["domains", "ips"]);
    const deny = list("denylist", ["domains", "ips", "ports"]);
    const items = (
      { fields, isOn }: typeof allow,
      name: "allowlist" | "denylist",
      key: "domains" | "ips",
    ) => {
      const value = fields.get(key);
      const read =
        value === undefined ? [] : this.#list(value, `network.${name}.${key}`, NETWORK_ITEMS[name][key]);
      return isOn ? read : [];
    };
    return {
      rule: tree.reference(node, "network"),
      allowedDomains: items(allow, "allowlist", "domains"),
      allowedIps: items(allow, "allowlist", "ips"),
      deniedDomains: items(deny, "denylist", "domains"),
      deniedIps: items(deny, "denylist", "ips"),
      deniedPorts: deny.isOn ? this.#ports(deny.fields.get("ports")) : [],
    };
  }

  #ports(node: unknown): Setting<number>[] {
    if (node === undefined) return [];
    return (this.#tree.items(node, "network.denylist.ports") ?? []).flatMap((item, index) => {
      const path = `network.denylist.ports[${index}]`;
      const value = this.#tree.scalar(item);
      if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 65_535) {
        return [{ value: value as number, rule: this.#tree.reference(item, path) }];
      }
      this.#tree.complain(item, path, `expected a port from 1 to 65535, not ${shown(value)}`);
      return [];
    });
  }

  #ruleBlock(node: unknown, path: string): RuleBlock {
    return { rule: this.#tree.reference(node, path), settings: this.#settings(node, path, []) };
  }

  #settings(node: unknown, path: string, others: readonly string[]): Settings {
    const settings: Partial<Record<SettingName, Setting<unknown>>> = {};
    if (node === undefined || this.#tree.isNothing(node)) return settings as Settings;
    for (const { key, at, value } of this.#tree.entries(node, path)) {
      if (others.includes(key) && key !== "risk_level") continue;
      if (!Object.hasOwn(SETTING_KINDS, key)) {
        this.#unknownKey(at, path, key, [...Object.keys(SETTING_KINDS), ...others]);
        continue;
      }
      if (key === "risk_level" && !others.includes(key)) {
        this.#tree.complain(at, `${path}.${key}`, "only a tool has a risk_level", "Write it at the tool.");
        continue;
      }
      const name = key as SettingName;
      const setting = this.#setting(name, value, `${path}.${key}`, at);
      if (setting !== undefined) settings[name] = setting;
    }
    return settings as Settings;
  }

  #setting(name: SettingName, node: unknown, path: string, at: unknown): Setting<unknown> | undefined {
    const kind = SETTING_KINDS[name];
    const rule = this.#tree.reference(at, path);
    if (kind.kind === "list") {
      const value = this.#list(node, path, kind.check ?? itemCheckOf(name));
      return { value, rule };
    }
    const read = readSetting(kind, this.#tree.scalar(node));
    if ("value" in read) return { value: read.value, rule };
    this.#tree.complain(node ?? at, path, read.wrong);
    return undefined;
  }

  #list(node: unknown, path: string, check?: ItemCheck): Items {
    const items = this.#tree.items(node, path) ?? [];
    if (items.length > MAX_ITEMS) this.#tree.complain(node, path, `more than ${MAX_ITEMS} entries`);
    return items.slice(0, MAX_ITEMS).flatMap((item, index) => {
      const at = `${path}[${index}]`;
      const value = this.#tree.scalar(item);
      const wrong =
        typeof value !== "string" || value.trim() === ""
          ? `expected text, not ${shown(value)}`
          : check?.(value);
      if (wrong === undefined) return [{ value: value as string, rule: this.#tree.reference(item, at) }];
      const { message, hint = undefined } = typeof wrong === "string" ? { message: wrong } : wrong;
      this.#tree.complain(item, at, message, hint);
      return [];
    });
  }

  #single(node: unknown, path: string): Items {
    const value = this.#tree.scalar(node);
    if (typeof value === "string" && value !== "") return [{ value, rule: this.#tree.reference(node, path) }];
    this.#tree.complain(node, path, `expected the name of a role, not ${shown(value)}`);
    return [];
  }

  /** A map with these keys only. */
  #block(node: unknown, path: string, keys: readonly string[]): Map<string, unknown> {
    const found = new Map<string, unknown>();
    if (this.#tree.isNothing(node)) return found;
    for (const { key, at, value } of this.#tree.entries(node, path)) {
      if (keys.includes(key)) found.set(key, value);
      else this.#unknownKey(at, path, key, keys);
    }
    return found;
  }

  #unknownKey(at: unknown, path: string, key: string, known: readonly string[]): void {
    const rule = this.#tree.reference(at, path === "" ? key : `${path}.${key}`);
    this.#refuse(rule, `there is no key ${shown(key)} here`, () => {
      const near = closestWord(key, known);
      return near === undefined ? `Known: ${known.join(", ")}.` : `Did you mean ${near}?`;
    });
  }

  #isTool(rule: RuleReference, name: string): boolean {
    if (BUILT_IN_TOOLS.has(name) || this.#custom.has(name)) return true;
    this.#refuse(rule, `there is no tool named ${shown(name)}`, () => {
      const near = closestWord(name, [...BUILT_IN_TOOLS.keys(), ...this.#custom]);
      return near === undefined ? "Declare tools of your own in custom_tools." : `Did you mean ${near}?`;
    });
    return false;
  }

  #isName(rule: RuleReference, name: string): boolean {
    if (NAME.test(name) && !FORBIDDEN_NAMES.has(name)) return true;
    this.#refuse(
      rule,
      `${shown(name)} is not a name`,
      () => "Use letters, digits, _, - and dots, a letter first.",
    );
    return false;
  }

  /** The hint is only made for a problem that is shown: a file may have very many. */
  #refuse({ line, column, path }: RuleReference, message: string, hint?: () => string): void {
    const { problems } = this.#tree;
    if (problems.length >= MAX_PROBLEMS) return;
    problems.push({ line, column, path, message, ...(hint !== undefined && { hint: hint() }) });
  }
}

/** What an entry of a list must be, by the list's name. */
function itemCheckOf(name: SettingName): ItemCheck | undefined {
  if (name.endsWith("_paths")) return (item) => complaintOf(() => compilePathGlob(item));
  if (name.endsWith("_commands")) return (item) => complaintOf(() => parseCommandPattern(item));
  return undefined;
}

function complaintOf(action: () => unknown): string | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

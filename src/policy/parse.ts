import { checkConsistency } from "./consistency.js";
import { compileDomain } from "./domains.js";
import { compileIpRange } from "./ip-ranges.js";
import type { NetworkRules, Policy, RoleRules, Settings, ToolRules } from "./policy.js";
import { type PolicyProblem, policyInvalid } from "./problem.js";
import { type Read, Reader, readBoolean, readChoice, readCompiled, readNumber, readText } from "./reader.js";
import type { RuleList, RuleReference, Setting } from "./rule.js";
import { readSettings } from "./settings-keys.js";
import { BUILT_IN_TOOLS, TIERS, type Tier, type Tool } from "./tools.js";
import { type Place, type PolicyNode, readYaml } from "./yaml-nodes.js";

const NAME = /^[A-Za-z][\w.-]{0,63}$/;

/** Every problem of a policy, in the order of the file; empty when it is fine. */
export function checkPolicy(text: string, source: string): PolicyProblem[] {
  return read(text, source).problems;
}

/** Reads a policy; anything wrong is POLICY_INVALID with every problem named. */
export function parsePolicy(text: string, source: string): Policy {
  const { policy, problems } = read(text, source);
  if (policy === undefined || problems.length > 0) throw policyInvalid(problems, source);
  return policy;
}

function read(text: string, source: string): { policy: Policy | undefined; problems: PolicyProblem[] } {
  const reader = new Reader(source, text);
  const { root, problems } = readYaml(text);
  for (const { place, message } of problems) reader.problem(place, "", message);
  if (problems.length > 0) return { policy: undefined, problems: reader.problems };
  if (root === undefined || (root.kind === "scalar" && root.value === null)) {
    reader.problem(
      { line: 1, column: 1 },
      "",
      "the policy is empty",
      "An empty policy decides nothing; it would be a mistake.",
    );
    return { policy: undefined, problems: reader.problems };
  }
  const policy = new PolicyReader(reader).read(root);
  const sorted = reader.problems.sort((a, b) => a.line - b.line || a.column - b.column);
  return { policy: sorted.length === 0 ? policy : undefined, problems: sorted };
}

type Own = Map<string, (value: PolicyNode, place: Place, path: string) => void>;

/** A list's key without a value is a list without entries that somebody still wants to fill. */
class PolicyReader {
  private readonly known = new Map<string, Tool>(BUILT_IN_TOOLS.map((tool) => [tool.name, tool]));
  private defaults: Settings = {};
  private tools: Map<string, ToolRules> | undefined;
  private readonly roles = new Map<string, RoleRules>();
  private network: NetworkRules | undefined;

  constructor(private readonly reader: Reader) {}

  read(root: PolicyNode): Policy | undefined {
    const map = this.reader.map(root, "");
    if (map === undefined) return undefined;
    // Tools that are declared at the end of the file may be used at its start.
    const declared = map.entries.find(({ key }) => key === "custom_tools");
    if (declared !== undefined) this.readCustomTools(declared.value);
    for (const { key, place, value } of map.entries) {
      if (key === "policies") this.readPolicies(value);
      else if (key === "network") this.network = this.readNetwork(value, place);
      else if (key === "version") readVersion(this.reader, value, "version");
      else if (key !== "custom_tools") {
        this.reader.unknownKey(place, key, key, ["policies", "network", "version", "custom_tools"]);
      }
    }
    const policy: Policy = {
      source: this.reader.source,
      known: this.known,
      defaults: this.defaults,
      tools: this.tools,
      roles: this.roles,
      network: this.network,
    };
    checkConsistency(policy, this.reader);
    return policy;
  }

  private readCustomTools(node: PolicyNode): void {
    const { reader } = this;
    if (node.kind !== "list") {
      reader.problem(node.place, "custom_tools", "a list of names was expected");
      return;
    }
    node.items.forEach((item, index) => {
      const path = `custom_tools[${index}]`;
      const tool = item.kind === "map" ? this.readCustomTool(item, path) : this.namedTool(item, path);
      if (tool === undefined) return;
      if (this.known.has(tool.name)) reader.problem(item.place, path, `"${tool.name}" is already known`);
      else this.known.set(tool.name, tool);
    });
  }

  /** What we know nothing about counts as something that runs code. */
  private namedTool(node: PolicyNode, path: string): Tool | undefined {
    const name = readName(this.reader, node, path);
    return name === undefined ? undefined : { name, tier: "high", runsCode: true };
  }

  private readCustomTool(node: Extract<PolicyNode, { kind: "map" }>, path: string): Tool | undefined {
    const { reader } = this;
    let name: string | undefined;
    let tier: Tier | undefined = "high";
    let runsCode: boolean | undefined = true;
    for (const { key, place, value } of node.entries) {
      if (key === "name") name = readName(reader, value, `${path}.name`);
      else if (key === "risk_level") tier = readChoice(TIERS)(reader, value, `${path}.risk_level`);
      else if (key === "runs_code") runsCode = readBoolean(reader, value, `${path}.runs_code`);
      else if (key === "description") readText(reader, value, `${path}.description`);
      else
        reader.unknownKey(place, `${path}.${key}`, key, ["name", "risk_level", "runs_code", "description"]);
    }
    if (name === undefined) return reader.problem(node.place, path, "a custom tool needs a name");
    return tier === undefined || runsCode === undefined ? undefined : { name, tier, runsCode };
  }

  private readPolicies(node: PolicyNode): void {
    const map = this.reader.map(node, "policies");
    for (const { key, place, value } of map?.entries ?? []) {
      const path = `policies.${key}`;
      if (key === "default") this.readDefaults(value, path);
      else if (key === "tools") this.readTools(value, path);
      else if (key === "agent_roles") this.readRoles(value, path);
      else this.reader.unknownKey(place, path, key, ["default", "tools", "agent_roles"]);
    }
  }

  private readDefaults(node: PolicyNode, path: string): void {
    const map = this.reader.map(node, path);
    if (map !== undefined) this.defaults = readSettings(this.reader, map, path, this.describing());
  }

  private describing(more: Own = new Map()): Own {
    return new Map([
      ...more,
      ["description", (value, _place, path) => void readText(this.reader, value, path)],
    ]);
  }

  private readTools(node: PolicyNode, at: string): void {
    const map = this.reader.map(node, at);
    this.tools = new Map();
    for (const { key, place, value } of map?.entries ?? []) {
      const path = `${at}.${key}`;
      if (!this.known.has(key)) this.unknownTool(place, path, key);
      // "file_list:" alone means the defaults.
      const block = isNothing(value)
        ? { ...value, kind: "map" as const, entries: [] }
        : this.reader.map(value, path);
      if (block === undefined) continue;
      let tier: Setting<Tier> | undefined;
      const own: Own = new Map([
        [
          "risk_level",
          (level, levelPlace, levelPath) => {
            tier = this.reader.setting(level, levelPlace, levelPath, readChoice(TIERS));
          },
        ],
      ]);
      const settings = readSettings(this.reader, block, path, this.describing(own));
      this.tools.set(key, {
        rule: this.reader.rule(place, path),
        settings,
        ...(tier !== undefined && { tier }),
      });
    }
  }

  private unknownTool(place: Place, path: string, name: string): void {
    this.reader.unknownKey(place, path, name, this.known.keys(), "tool");
  }

  private readRoles(node: PolicyNode, at: string): void {
    const map = this.reader.map(node, at);
    for (const { key, place, value } of map?.entries ?? []) {
      const path = `${at}.${key}`;
      if (!NAME.test(key) || key === "default") {
        this.reader.problem(
          place,
          path,
          'a role\'s name begins with a letter, has at most 64 of A-Z a-z 0-9 _ . - and is not "default"',
        );
      }
      const block = this.reader.map(value, path);
      if (block !== undefined) this.roles.set(key, this.readRole(block, this.reader.rule(place, path), path));
    }
  }

  private readRole(node: Extract<PolicyNode, { kind: "map" }>, rule: RuleReference, at: string): RoleRules {
    const { reader } = this;
    let inherits: readonly Setting<string>[] = [];
    let tools: RuleList<string> | undefined;
    const own: Own = new Map([
      [
        "inherits",
        (value, place, path) => {
          const one = value.kind === "list" ? undefined : reader.setting(value, place, path, readText);
          const many = value.kind === "list" ? reader.list(value, place, path, readText)?.items : undefined;
          inherits = (many ?? (one === undefined ? [] : [one])).filter(
            ({ value: name }) => name !== "default",
          );
        },
      ],
      [
        "tools",
        (value, place, path) => {
          tools = reader.list(value, place, path, this.readToolName);
        },
      ],
    ]);
    const settings = readSettings(reader, node, at, this.describing(own));
    return { rule, inherits, settings, ...(tools !== undefined && { tools }) };
  }

  private readonly readToolName: Read<string> = (reader, node, path) => {
    const name = readText(reader, node, path);
    if (name !== undefined && !this.known.has(name)) this.unknownTool(node.place, path, name);
    return name;
  };

  private readNetwork(node: PolicyNode, at: Place): NetworkRules | undefined {
    const { reader } = this;
    const map = reader.map(node, "network");
    if (map === undefined) return undefined;
    let access: Setting<boolean> | undefined;
    let allow: ListBlock = {};
    let deny: ListBlock = {};
    for (const { key, place, value } of map.entries) {
      if (key === "default") {
        const chosen = reader.setting(
          value,
          place,
          "network.default",
          readChoice(["none", "allowlist"] as const),
        );
        if (chosen !== undefined) access = { value: chosen.value === "allowlist", rule: chosen.rule };
      } else if (key === "allowlist")
        allow = readListBlock(reader, value, "network.allowlist", ["domains", "ips"]);
      else if (key === "denylist")
        deny = readListBlock(reader, value, "network.denylist", ["domains", "ports"]);
      else reader.unknownKey(place, `network.${key}`, key, ["default", "allowlist", "denylist"]);
    }
    return {
      rule: reader.rule(at, "network"),
      ...(access !== undefined && { access }),
      ...(allow.domains !== undefined && { allowedDomains: allow.domains }),
      ...(allow.ips !== undefined && { allowedIps: allow.ips }),
      ...(deny.domains !== undefined && { deniedDomains: deny.domains }),
      ...(deny.ports !== undefined && { deniedPorts: deny.ports }),
    };
  }
}

interface ListBlock {
  domains?: NonNullable<NetworkRules["allowedDomains"]>;
  ips?: RuleList<string>;
  ports?: RuleList<number>;
}

/** `allowlist` or `denylist`; `enabled: false` makes it mean nothing. */
function readListBlock(reader: Reader, node: PolicyNode, at: string, allowed: readonly string[]): ListBlock {
  const block: ListBlock = {};
  let enabled: boolean | undefined = true;
  for (const { key, place, value } of reader.map(node, at)?.entries ?? []) {
    const path = `${at}.${key}`;
    if (key === "enabled") enabled = readBoolean(reader, value, path);
    else if (!allowed.includes(key)) reader.unknownKey(place, path, key, ["enabled", ...allowed]);
    else if (key === "domains")
      assign(block, "domains", reader.list(value, place, path, readCompiled("a host", compileDomain)));
    else if (key === "ips")
      assign(
        block,
        "ips",
        reader.list(value, place, path, readCompiled("an address or range", compileIpRange)),
      );
    else assign(block, "ports", reader.list(value, place, path, readNumber(1, 65_535, true)));
  }
  return enabled === true ? block : {};
}

function assign<K extends keyof ListBlock>(block: ListBlock, key: K, value: ListBlock[K] | undefined): void {
  if (value !== undefined) block[key] = value;
}

function isNothing(node: PolicyNode): boolean {
  return node.kind === "scalar" && node.value === null;
}

const readName: Read<string> = (reader, node, path) => {
  const name = readText(reader, node, path);
  if (name === undefined || NAME.test(name)) return name;
  return reader.problem(
    node.place,
    path,
    "a name begins with a letter and has at most 64 of A-Z a-z 0-9 _ . -",
  );
};

const readVersion: Read<number> = (reader, node, path) => {
  if (node.kind === "scalar" && node.value === 1) return 1;
  return reader.problem(node.place, path, "the only version is 1");
};

import { nearest } from "../config/nearest.js";
import { checkCommands, hasCommandRules } from "./check-commands.js";
import type { Consideration, Decision, PolicyRequest, ViolationReason } from "./decision.js";
import { matchingDomain } from "./domains.js";
import {
  allowLists,
  denyItems,
  effectiveLimits,
  isFalse,
  isTrue,
  type Layers,
  lowerRisk,
  roleSettings,
  roleTools,
  strictest,
  strictMode,
} from "./effective-settings.js";
import { isInWorkspace, matchingPath, resolvePath } from "./paths.js";
import type { Items, Policy, Role, RuleReference, Settings } from "./policy.js";
import { BUILT_IN_TOOLS, CUSTOM_TOOL, type Tier } from "./tools.js";

const STRICTNESS = ["allow", "confirm", "deny"];

/** Decides by one policy. Knows nothing of what ran before: the same request has the same answer. */
export class PolicyEngine {
  readonly policy: Policy;
  readonly #roles = new Map<string, Settings>();

  constructor(policy: Policy) {
    this.policy = policy;
    for (const role of policy.roles.values()) this.#roles.set(role.name, roleSettings(role, policy));
  }

  /** What the policy says to a request. Never throws for one: what makes no sense is denied. */
  async decide(request: PolicyRequest): Promise<Decision> {
    const { policy } = this;
    const role = request.role === undefined ? undefined : policy.roles.get(request.role);
    const layers: Layers = {
      base: policy.default.settings,
      tool: policy.tools.get(request.tool)?.settings ?? {},
      role: role === undefined ? {} : (this.#roles.get(role.name) ?? {}),
    };
    const considered = [
      this.#checkTool(request, role),
      ...this.#checkLanguage(request, layers),
      ...checkPaths(request, layers),
      ...checkDomains(request, layers, policy),
      ...(await checkCommands(request, layers)),
      ...checkConfirmation(request, layers),
    ].sort((a, b) => STRICTNESS.indexOf(b.verdict) - STRICTNESS.indexOf(a.verdict));
    return this.#compose(request, layers, considered);
  }

  #compose(request: PolicyRequest, layers: Layers, considered: readonly Consideration[]): Decision {
    const { network } = this.policy;
    const strictestSay = considered[0]!;
    const valuesOf = (items: Items) => items.map(({ value }) => value);
    const securityMode = strictest<"strict" | "permissive">(layers, "security_mode", strictMode)?.value;
    const maxRisk = strictest<NonNullable<Decision["maxRisk"]>>(layers, "max_risk", lowerRisk)?.value;
    return {
      ...strictestSay,
      considered,
      tool: request.tool,
      role: request.role,
      tier: tierOf(request.tool, layers),
      sandbox:
        toolOf(request.tool).runsCode ||
        (strictest<boolean>(layers, "sandbox_enabled", isTrue)?.value ?? true),
      ...effectiveLimits(layers),
      network: {
        access: strictest<boolean>(layers, "network_access", isFalse)?.value ?? false,
        allowedDomains: [
          ...allowLists(layers, "allowed_domains").flatMap(({ value }) => valuesOf(value)),
          ...valuesOf(network.allowedDomains),
        ],
        deniedDomains: [...valuesOf(denyItems(layers, "denied_domains")), ...valuesOf(network.deniedDomains)],
        allowedIps: valuesOf(network.allowedIps),
        deniedIps: valuesOf(network.deniedIps),
        deniedPorts: network.deniedPorts.map(({ value }) => value),
      },
      hasCommandRules: hasCommandRules(layers),
      ...(securityMode !== undefined && { securityMode }),
      ...(maxRisk !== undefined && { maxRisk }),
    };
  }

  /** May this role use this tool at all? */
  #checkTool({ tool, role: name }: PolicyRequest, role: Role | undefined): Consideration {
    const { policy } = this;
    if (name !== undefined && role === undefined) {
      return say(
        "deny",
        policy.rolesRule,
        `there is no role named ${JSON.stringify(name)}${suggestion(name, policy.roles.keys())}`,
        "role",
      );
    }
    if (role === undefined) {
      const block = policy.tools.get(tool);
      if (block !== undefined)
        return say("allow", block.rule, `${tool} is one of the policy's tools`, "tool");
      return say(
        "deny",
        policy.toolsRule,
        `there is no tool named ${JSON.stringify(tool)}${suggestion(tool, policy.tools.keys())}`,
        "tool",
      );
    }
    const tools = roleTools(role, policy);
    const item = tools.find(({ value }) => value === tool);
    if (item !== undefined) return say("allow", item.rule, `${role.name} has ${tool}`, "tool");
    const has = tools.map(({ value }) => value).join(", ") || "none";
    return say(
      "deny",
      role.rule,
      `${role.name} does not have the tool ${JSON.stringify(tool)} (it has ${has})`,
      "tool",
    );
  }

  #checkLanguage({ language }: PolicyRequest, layers: Layers): Consideration[] {
    if (language === undefined) return [];
    return allowLists(layers, "supported_languages").map((list) => {
      const item = list.value.find(({ value }) => sameLanguage(value, language));
      if (item !== undefined) return say("allow", item.rule, `${language} is supported`, "language");
      const known = list.value.map(({ value }) => value).join(", ") || "none";
      return say("deny", list.rule, `${language} is not a supported language (${known})`, "language");
    });
  }
}

function checkPaths({ paths = [], tool }: PolicyRequest, layers: Layers): Consideration[] {
  return paths.flatMap(({ path, access }) => {
    const resolved = resolvePath(path);
    const found: Consideration[] = [];
    const denied = matchingPath(denyItems(layers, "denied_paths"), resolved);
    if (denied !== undefined) found.push(say("deny", denied.rule, `${resolved} is denied`, "path"));
    const lists = allowLists(layers, "allowed_paths");
    for (const list of lists) {
      const item = matchingPath(list.value, resolved);
      if (item !== undefined) found.push(say("allow", item.rule, `${resolved} is allowed`, "path"));
      // The lists of a tool that runs code are about what it opens by itself; its input files go into the workspace.
      else if (access === "read" || !toolOf(tool).runsCode)
        found.push(say("deny", list.rule, `${resolved} is not among the allowed paths`, "path"));
    }
    const rule = strictest(layers, "filesystem_access", (a) => a)?.rule ?? lists[0]?.rule;
    if (!isInWorkspace(resolved) && lists.length === 0) {
      found.push(say("deny", rule ?? NOWHERE, `${resolved} is outside the workspace`, "path"));
    }
    return found;
  });
}

function checkDomains({ domains = [] }: PolicyRequest, layers: Layers, { network }: Policy): Consideration[] {
  return domains.flatMap((domain) => {
    const access = strictest<boolean>(layers, "network_access", isFalse);
    if (access?.value !== true) {
      return [say("deny", access?.rule ?? network.rule, `there is no network access (${domain})`, "network")];
    }
    const denied = matchingDomain([...denyItems(layers, "denied_domains"), ...network.deniedDomains], domain);
    if (denied !== undefined) return [say("deny", denied.rule, `${domain} is denied`, "domain")];
    const allowed = matchingDomain(
      [...allowLists(layers, "allowed_domains").flatMap(({ value }) => value), ...network.allowedDomains],
      domain,
    );
    if (allowed !== undefined) return [say("allow", allowed.rule, `${domain} is allowed`, "domain")];
    return [say("deny", network.rule, `${domain} is not among the allowed domains`, "domain")];
  });
}

function checkConfirmation({ tool }: PolicyRequest, layers: Layers): Consideration[] {
  const found: Consideration[] = [];
  for (const { requires_confirmation: asks } of [layers.tool, layers.role, layers.base]) {
    if (asks?.value === true)
      found.push(say("confirm", asks.rule, `${tool} needs a confirmation`, "confirmation"));
  }
  if (tierOf(tool, layers) === "critical") {
    found.push(
      say(
        "confirm",
        layers.tool.risk_level?.rule ?? NOWHERE,
        `${tool} is critical: a person decides`,
        "confirmation",
      ),
    );
  }
  return found;
}

function tierOf(tool: string, layers: Layers): Tier {
  return layers.tool.risk_level?.value ?? toolOf(tool).tier;
}

function toolOf(name: string) {
  return BUILT_IN_TOOLS.get(name) ?? CUSTOM_TOOL;
}

const ALIASES: Readonly<Record<string, string>> = {
  py: "python",
  python3: "python",
  js: "javascript",
  node: "javascript",
  ts: "typescript",
  sh: "bash",
  shell: "bash",
};

function sameLanguage(one: string, other: string): boolean {
  const canonical = (name: string) => {
    const lower = name.toLowerCase();
    return Object.hasOwn(ALIASES, lower) ? ALIASES[lower] : lower;
  };
  return canonical(one) === canonical(other);
}

/** Rules that hold without being written down. */
const NOWHERE: RuleReference = { path: "built in", source: "skerry", line: 1, column: 1 };

function say(
  verdict: Consideration["verdict"],
  rule: RuleReference,
  why: string,
  reason: ViolationReason,
): Consideration {
  return { verdict, rule, why, reason };
}

function suggestion(name: string, known: Iterable<string>): string {
  const near = nearest(name, known);
  return near === undefined ? "" : `; did you mean ${near}?`;
}

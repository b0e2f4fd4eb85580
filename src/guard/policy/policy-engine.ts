import { closestWord } from "../../kit/closest-word.js";
import { isHost, matchingDomain } from "../../kit/domains.js";
import { escapeUnsafe } from "../../kit/escape-unsafe.js";
import { HOST_SERVICES, hostServicePort } from "../../kit/hosts.js";
import { checkCommands, hasCommandRules } from "./check-commands.js";
import { checkPaths } from "./check-paths.js";
import type { Consideration, PolicyDecision, PolicyRequest, ViolationReason } from "./decision.js";
import {
  allowedDomains,
  allowLists,
  denyItems,
  type EffectiveRole,
  effectiveLimits,
  effectiveRoles,
  effectiveSettingRules,
  isFalse,
  isTrue,
  type Layers,
  lowerRisk,
  strictest,
  strictMode,
  withInherited,
} from "./effective-settings.js";
import type { Items, Policy, RuleReference, Settings } from "./policy.js";
import { BUILT_IN_TOOLS, CUSTOM_TOOL, languageName, type Tier, type Tool, toolName } from "./tools.js";

const STRICTNESS = ["allow", "confirm", "deny"];

/** The part of a decision that is the same for every request of one role with one tool. */
type Settled = Omit<PolicyDecision, keyof Consideration | "considered" | "tool" | "role">;

function settle(tool: string, layers: Layers, policy: Policy): Settled {
  const { network } = policy;
  const valuesOf = (items: Items) => items.map(({ value }) => value);
  const allowed = allowLists(layers, "allowed_paths");
  const hosts = allowedDomains(layers, policy);
  const securityMode = strictest<"strict" | "permissive">(layers, "security_mode", strictMode)?.value;
  const maxRisk = strictest<NonNullable<PolicyDecision["maxRisk"]>>(layers, "max_risk", lowerRisk)?.value;
  return {
    tier: tierOf(tool, layers),
    sandbox: toolOf(tool).runsCode || (strictest<boolean>(layers, "sandbox_enabled", isTrue)?.value ?? true),
    ...effectiveLimits(layers),
    settingRules: effectiveSettingRules(layers),
    network: {
      access: strictest<boolean>(layers, "network_access", isFalse)?.value ?? false,
      rule: hosts.rule,
      allowedDomains: hosts.items,
      deniedDomains: [...denyItems(layers, "denied_domains"), ...network.deniedDomains],
      allowedIps: network.allowedIps,
      deniedIps: network.deniedIps,
      deniedPorts: network.deniedPorts,
    },
    deniedPaths: valuesOf(denyItems(layers, "denied_paths")),
    allowedPaths: allowed.length === 0 ? undefined : allowed.map(({ value }) => valuesOf(value)),
    hasCommandRules: hasCommandRules(layers),
    ...(securityMode !== undefined && { securityMode }),
    ...(maxRisk !== undefined && { maxRisk }),
  };
}

/** Decides by one policy. Knows nothing of what ran before: the same request has the same answer. */
export class PolicyEngine {
  readonly policy: Policy;
  readonly #roles: ReadonlyMap<string, EffectiveRole>;
  readonly #settled = new Map<string, Settled>();

  constructor(policy: Policy) {
    this.policy = policy;
    this.#roles = effectiveRoles(policy);
  }

  /** What the policy says to a request. Never throws for one: what makes no sense is denied. */
  async decide(given: PolicyRequest): Promise<PolicyDecision> {
    const { policy } = this;
    if (!isWellFormed(given)) return this.#compose({ tool: "" }, NO_LAYERS, [MALFORMED]);
    const request = { ...given, tool: toolName(given.tool), role: given.role ?? policy.defaultRole?.value };
    const role = request.role === undefined ? undefined : this.#roles.get(request.role);
    const layers: Layers = {
      base: policy.default.settings,
      tool: toolSettings(policy, request.tool),
      role: role?.settings ?? {},
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

  #compose(request: PolicyRequest, layers: Layers, considered: readonly Consideration[]): PolicyDecision {
    return {
      ...considered[0]!,
      considered,
      tool: request.tool,
      role: request.role,
      ...this.#settle(request, layers),
    };
  }

  /** What depends on the role and the tool only: computed once. */
  #settle({ tool, role }: PolicyRequest, layers: Layers): Settled {
    const isKnown = this.policy.tools.has(tool) && (role === undefined || this.#roles.has(role));
    const key = JSON.stringify([tool, role]);
    const known = this.#settled.get(key);
    if (known !== undefined) return known;
    const settled = settle(tool, layers, this.policy);
    // Many decisions share them from now on.
    for (const part of Object.values(settled)) Object.freeze(part);
    // Strangers' names must not fill it.
    if (isKnown) this.#settled.set(key, settled);
    return settled;
  }

  /** May this role use this tool at all? */
  #checkTool({ tool, role: name }: PolicyRequest, role: EffectiveRole | undefined): Consideration {
    const { policy } = this;
    if (name === undefined) {
      const block = policy.tools.get(tool);
      if (block !== undefined)
        return say("allow", block.rule, `${tool} is one of the policy's tools`, "tool");
      const why = BUILT_IN_TOOLS.has(tool)
        ? `this policy does not list ${tool}; add "${tool}: {}" below policies.tools`
        : `there is no tool named ${quoted(tool)}${suggestion(tool, policy.tools.keys())}`;
      return say("deny", policy.toolsRule, why, "tool");
    }
    if (role === undefined) {
      const why = `there is no role named ${quoted(name)}${suggestion(name, policy.roles.keys())}`;
      return say("deny", policy.rolesRule, why, "role");
    }
    const item = role.tools.find(({ value }) => value === tool);
    if (item !== undefined) return say("allow", item.rule, `${name} has ${tool}`, "tool");
    const has = role.tools.map(({ value }) => value).join(", ") || "none";
    const why = `${name} does not have the tool ${quoted(tool)} (it has ${has})`;
    return say("deny", policy.roles.get(name)!.rule, why, "tool");
  }

  #checkLanguage({ language }: PolicyRequest, layers: Layers): Consideration[] {
    if (language === undefined) return [];
    return allowLists(layers, "supported_languages").map((list) => {
      const name = languageName(language);
      const item = list.value.find(({ value }) => name !== undefined && languageName(value) === name);
      if (item !== undefined) return say("allow", item.rule, `${name} is supported`, "language");
      const known = list.value.map(({ value }) => value).join(", ") || "none";
      return say("deny", list.rule, `${quoted(language)} is not a supported language (${known})`, "language");
    });
  }
}

function checkDomains({ domains = [] }: PolicyRequest, layers: Layers, policy: Policy): Consideration[] {
  const { network } = policy;
  const access = strictest<boolean>(layers, "network_access", isFalse);
  const denied = [...denyItems(layers, "denied_domains"), ...network.deniedDomains];
  const allowed = allowedDomains(layers, policy);
  return domains.map((domain) => {
    const shown = quoted(domain);
    if (access?.value !== true) {
      return say("deny", access?.rule ?? network.rule, `there is no network access (${shown})`, "network");
    }
    if (!isHost(domain)) return say("deny", allowed.rule, `${shown} is not the name of a host`, "domain");
    const refusing = matchingDomain(denied, domain, "deny");
    if (refusing !== undefined) return say("deny", refusing.rule, `${shown} is denied`, "domain");
    const letting = matchingDomain(allowed.items.map(withoutPort), domain, "allow");
    if (letting !== undefined) return say("allow", letting.rule, `${shown} is allowed`, "domain");
    return say("deny", allowed.rule, `${shown} is not among the allowed domains`, "domain");
  });
}

/** `host.skerry.internal:8080` is a rule about that host; egress knows the port. */
function withoutPort<Rule extends { readonly value: string }>(rule: Rule): Rule {
  return hostServicePort(rule.value) === undefined ? rule : { ...rule, value: HOST_SERVICES };
}

function checkConfirmation({ tool }: PolicyRequest, layers: Layers): Consideration[] {
  const found: Consideration[] = [];
  const asks = strictest<boolean>(layers, "requires_confirmation", isTrue);
  if (asks?.value === true)
    found.push(say("confirm", asks.rule, `${tool} needs a confirmation`, "confirmation"));
  if (tierOf(tool, layers) === "critical") {
    const rule = layers.tool.risk_level?.rule ?? NOWHERE;
    found.push(say("confirm", rule, `${tool} is critical: a person decides`, "confirmation"));
  }
  return found;
}

function tierOf(tool: string, layers: Layers): Tier {
  return layers.tool.risk_level?.value ?? toolOf(tool).tier;
}

/** What the file says of a tool, and of the one that it is like. */
function toolSettings({ tools }: Policy, name: string): Settings {
  const own = tools.get(name)?.settings ?? {};
  const { like } = toolOf(name);
  return like === undefined ? own : withInherited(own, tools.get(like)?.settings ?? {});
}

function toolOf(name: string): Tool {
  return BUILT_IN_TOOLS.get(name) ?? CUSTOM_TOOL;
}

/** Built-in rules. */
const NOWHERE: RuleReference = { path: "built in", source: "skerry", line: 1, column: 1 };

const NO_LAYERS: Layers = { base: {}, tool: {}, role: {} };
const MALFORMED = say(
  "deny",
  NOWHERE,
  "a request names a tool, and its parts are texts and lists of texts",
  "tool",
);

/** Requests come from agents: their types are not to be trusted. */
function isWellFormed(request: PolicyRequest): boolean {
  if (typeof request !== "object" || request === null || typeof request.tool !== "string") return false;
  const { role, language, code, command, argv, domains, paths } = request;
  const isText = (each: unknown) => each === undefined || typeof each === "string";
  const isTexts = (each: unknown) =>
    each === undefined || (Array.isArray(each) && each.every((text) => typeof text === "string"));
  const isFile = (each: { path: unknown; access: unknown } | null) =>
    typeof each?.path === "string" && (each.access === "read" || each.access === "write");
  return (
    [role, language, code, command].every(isText) &&
    [argv, domains].every(isTexts) &&
    (paths === undefined || (Array.isArray(paths) && paths.every(isFile)))
  );
}

function say(
  verdict: Consideration["verdict"],
  rule: RuleReference,
  why: string,
  reason: ViolationReason,
): Consideration {
  return { verdict, rule, why: escapeUnsafe(why), reason };
}

/** What an agent wrote, short. */
function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}

function suggestion(name: string, known: Iterable<string>): string {
  const near = closestWord(name, known);
  return near === undefined ? "" : `; did you mean ${near}?`;
}

import type { Items, Policy, RuleReference, Setting, Settings } from "./policy.js";

/** A rule that a record can name as the one that decided. */
export interface ReviewedRule {
  readonly rule: RuleReference;
  readonly value: string;
  /** `grant`: it lets something be used. `refusal`: it denies something, or asks a person. */
  readonly kind: "grant" | "refusal";
}

const REFUSALS = ["denied_commands", "confirm_commands", "denied_paths", "denied_domains"] as const;

/**
 * The rules of a policy that decide by themselves, for a review: what is granted and never used can be taken away. Limits
 * and lists of what is allowed are not among them: a call that they let through is decided by its tool.
 */
export function rulesToReview(policy: Policy): ReviewedRule[] {
  const { network, tools, roles } = policy;
  const blocks = [policy.default, ...tools.values(), ...roles.values()];
  return [
    ...grantedTools(policy),
    ...blocks.flatMap(({ settings }) => refusalsOf(settings)),
    ...[...network.allowedDomains, ...network.allowedIps].map((item) => toReview(item, "grant")),
    ...[...network.deniedDomains, ...network.deniedIps, ...network.deniedPorts].map((item) =>
      toReview(item, "refusal"),
    ),
  ];
}

/** With roles it is a role's list that lets a tool be used, without them the tool's own block. */
function grantedTools({ tools, roles }: Policy): ReviewedRule[] {
  if (roles.size === 0)
    return [...tools].map(([name, { rule }]) => ({ rule, value: name, kind: "grant" }) as const);
  return [...roles.values()].flatMap(({ name, tools: own = [] }) =>
    own.map(({ value, rule }) => ({ rule, value: `${name} has ${value}`, kind: "grant" }) as const),
  );
}

function refusalsOf(settings: Settings): ReviewedRule[] {
  const lists = REFUSALS.flatMap((key): Items => settings[key]?.value ?? []);
  const asks = settings.requires_confirmation;
  return [
    ...lists.map((item) => toReview(item, "refusal")),
    ...(asks?.value === true
      ? [{ rule: asks.rule, value: "requires_confirmation", kind: "refusal" } as const]
      : []),
  ];
}

function toReview({ value, rule }: Setting<string | number>, kind: ReviewedRule["kind"]): ReviewedRule {
  return { rule, value: String(value), kind };
}

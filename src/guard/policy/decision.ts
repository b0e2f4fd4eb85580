import type { Items, RuleReference, Setting } from "./policy.js";
import type { Tier } from "./tools.js";

/** A call to be decided. */
export interface PolicyRequest {
  readonly tool: string;
  readonly role?: string | undefined;
  readonly language?: string | undefined;
  readonly code?: string | undefined;
  /** A shell's command line. */
  readonly command?: string | undefined;
  /** A command without a shell. */
  readonly argv?: readonly string[] | undefined;
  /** Further programs that come along with it, such as input files. */
  readonly scripts?: readonly { readonly language: string; readonly code: string }[] | undefined;
  readonly paths?: readonly { readonly path: string; readonly access: "read" | "write" }[] | undefined;
  readonly domains?: readonly string[] | undefined;
}

export type PolicyVerdict = "allow" | "confirm" | "deny";

/** What kind of rule was broken, for the metrics. */
export type ViolationReason =
  | "tool"
  | "role"
  | "language"
  | "command"
  | "path"
  | "network"
  | "domain"
  | "confirmation";

/** The decision of one rule. */
export interface Consideration {
  readonly verdict: PolicyVerdict;
  readonly rule: RuleReference;
  readonly why: string;
  readonly reason: ViolationReason;
}

/** What an execution may use. Left out: the manager's own. */
export interface PolicyLimits {
  readonly timeoutMs?: number;
  readonly memoryMb?: number;
  readonly cpus?: number;
  readonly pids?: number;
  readonly outputBytes?: number;
  readonly fileSizeMb?: number;
  readonly workspaceMb?: number;
}

export type LimitName = keyof PolicyLimits;

/** A limit's origin, and what it was stricter than. */
export interface LimitRule {
  readonly rule: RuleReference;
  readonly instead?: { readonly rule: RuleReference; readonly value: number };
}

/** Settings other than limits. */
export type RuledSetting = "sandbox_enabled" | "network_access" | "security_mode" | "max_risk";

/** Such a setting's value and origin, and what it was stricter than. */
export interface SettingRule {
  readonly value: boolean | string;
  readonly rule: RuleReference;
  readonly instead?: { readonly rule: RuleReference; readonly value: boolean | string };
}

/** What the policy says, by which rule, and within which limits. */
export interface PolicyDecision {
  readonly verdict: PolicyVerdict;
  /** The rule that decided. */
  readonly rule: RuleReference;
  readonly why: string;
  readonly reason: ViolationReason;
  /** Every rule that had a say, strictest first. */
  readonly considered: readonly Consideration[];
  readonly tool: string;
  readonly role: string | undefined;
  readonly tier: Tier;
  /** False: a tool that only touches files may do so on the host. */
  readonly sandbox: boolean;
  readonly limits: PolicyLimits;
  readonly limitRules: Readonly<Partial<Record<LimitName, LimitRule>>>;
  readonly settingRules: Readonly<Partial<Record<RuledSetting, SettingRule>>>;
  readonly network: {
    readonly access: boolean;
    /** The list that refuses what none of its entries allows. */
    readonly rule: RuleReference;
    readonly allowedDomains: Items;
    readonly deniedDomains: Items;
    readonly allowedIps: Items;
    readonly deniedIps: Items;
    readonly deniedPorts: readonly Setting<number>[];
  };
  readonly securityMode?: "strict" | "permissive";
  readonly maxRisk?: "safe" | "low" | "medium" | "high" | "critical";
  /** Patterns of what file calls may not touch. */
  readonly deniedPaths: readonly string[];
  /** Patterns of which one in each list has to match; undefined: no list narrows it. */
  readonly allowedPaths: readonly (readonly string[])[] | undefined;
  readonly hasCommandRules: boolean;
}

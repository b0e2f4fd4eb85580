import type { Tier } from "./tools.js";

/** Where a rule stands, so that a decision can name it. */
export interface RuleReference {
  /** `policies.tools.shell_exec.denied_commands[2]`. */
  readonly path: string;
  readonly source: string;
  /** 1-based. */
  readonly line: number;
  readonly column: number;
}

/** A value and where it was written. */
export interface Setting<T> {
  readonly value: T;
  readonly rule: RuleReference;
}

/** The entries of a list, each with its own line. */
export type Items = readonly Setting<string>[];

/** Everything that a block of rules may say: the defaults, a tool or a role. Sizes are in MiB, output in bytes. */
export interface Settings {
  readonly sandbox_enabled?: Setting<boolean>;
  readonly risk_level?: Setting<Tier>;
  readonly requires_confirmation?: Setting<boolean>;
  readonly security_mode?: Setting<"strict" | "permissive">;
  readonly max_risk?: Setting<"safe" | "low" | "medium" | "high" | "critical">;
  readonly max_execution_time?: Setting<number>;
  readonly max_memory?: Setting<number>;
  readonly max_cpu?: Setting<number>;
  readonly max_pids?: Setting<number>;
  readonly max_output?: Setting<number>;
  readonly max_file_size?: Setting<number>;
  readonly max_workspace?: Setting<number>;
  readonly network_access?: Setting<boolean>;
  readonly filesystem_access?: Setting<"workspace_only">;
  readonly allowed_paths?: Setting<Items>;
  readonly denied_paths?: Setting<Items>;
  readonly allowed_commands?: Setting<Items>;
  readonly denied_commands?: Setting<Items>;
  readonly confirm_commands?: Setting<Items>;
  readonly supported_languages?: Setting<Items>;
  readonly allowed_domains?: Setting<Items>;
  readonly denied_domains?: Setting<Items>;
}

export type SettingName = keyof Settings;

export interface RuleBlock {
  readonly rule: RuleReference;
  readonly settings: Settings;
}

export interface Role extends RuleBlock {
  readonly name: string;
  /** Left out: the tools of those it inherits from. */
  readonly tools?: Items;
  /** Other roles; the defaults are always there. */
  readonly inherits: Items;
}

/** The `network` block: names and addresses for what has network access. */
export interface NetworkRules {
  readonly rule: RuleReference;
  readonly allowedDomains: Items;
  readonly allowedIps: Items;
  readonly deniedDomains: Items;
  readonly deniedIps: Items;
  readonly deniedPorts: readonly Setting<number>[];
}

/** A policy file that was read without a complaint. */
export interface Policy {
  readonly source: string;
  /** The role of a call that names none. */
  readonly defaultRole?: Setting<string>;
  readonly default: RuleBlock;
  /** Where the tools and roles begin, for what is in none of them. */
  readonly toolsRule: RuleReference;
  readonly rolesRule: RuleReference;
  readonly tools: ReadonlyMap<string, RuleBlock>;
  readonly roles: ReadonlyMap<string, Role>;
  readonly network: NetworkRules;
  readonly customTools: ReadonlySet<string>;
}

/** What is wrong with a policy file, and where. */
export interface PolicyProblem {
  readonly line: number;
  readonly column: number;
  /** Where in the policy; empty for the whole file. */
  readonly path: string;
  readonly message: string;
  readonly hint?: string;
}

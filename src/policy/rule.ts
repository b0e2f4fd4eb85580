/** Where a rule stands, for people: `policies.tools.shell_exec.denied_commands[2]` on line 31. */
export interface RuleReference {
  readonly path: string;
  readonly source: string;
  /** 1-based; 0 for what is built in. */
  readonly line: number;
  readonly column: number;
  /** Its line of the file. */
  readonly text: string;
}

/** A value and the rule that set it. */
export interface Setting<T> {
  readonly value: T;
  readonly rule: RuleReference;
}

/** A list, and the rule that each of its entries is. */
export interface RuleList<T> {
  readonly rule: RuleReference;
  readonly items: readonly Setting<T>[];
}

/** A rule that stands in no file. */
export function builtInRule(path: string, text: string): RuleReference {
  return { path, source: "built-in", line: 0, column: 0, text };
}

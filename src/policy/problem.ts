import { SandboxError } from "../errors.js";
import { visible } from "../visible.js";

/** Something wrong in a policy file. */
export interface PolicyProblem {
  /** 1-based. */
  readonly line: number;
  readonly column: number;
  /** Dotted: "policies.tools.shell_exec"; "" for the whole file. */
  readonly path: string;
  readonly message: string;
  readonly hint?: string;
}

const MAX_SHOWN = 50;

/** `policy.yaml:12:5: policies.tools.shel_exec: …`, for one line of a terminal. */
export function formatProblem(problem: PolicyProblem, source: string): string {
  const path = problem.path === "" ? "" : `${problem.path}: `;
  return visible(`${source}:${problem.line}:${problem.column}: ${path}${problem.message}`);
}

/** Every problem as one error. */
export function policyInvalid(problems: readonly PolicyProblem[], source: string): SandboxError {
  const lines = problems.slice(0, MAX_SHOWN).map((problem) => formatProblem(problem, source));
  if (problems.length > MAX_SHOWN) lines.push(`and ${problems.length - MAX_SHOWN} more`);
  const message =
    lines.length === 1 ? lines[0]! : `the policy has ${problems.length} problems:\n  ${lines.join("\n  ")}`;
  const hint = problems.find((problem) => problem.hint !== undefined)?.hint;
  return new SandboxError("POLICY_INVALID", message, {
    hint: hint ?? "`skerry policy init` prints a policy that works.",
  });
}

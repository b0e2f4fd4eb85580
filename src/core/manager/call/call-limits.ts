import type { PolicyLimits } from "../../../guard/policy/index.js";
import { SandboxError, toSandboxError } from "../../../kit/errors.js";
import type { Limits } from "../../../runtime/backends/index.js";
import type { ChosenBackend } from "../sandboxes/choose-backend.js";
import { checkLimits, effectiveLimits, strictestLimits } from "../sandboxes/limits.js";
import type { CallPlan } from "./assess-call.js";
import type { Guards } from "./guards.js";

/** The limits that a sandbox for the plan is asked to have, and all that it then has. Throws where it cannot. */
export function limitsFor(
  plan: CallPlan,
  { backend, probe }: ChosenBackend,
  { sandboxes, limits: own }: Pick<Guards, "sandboxes" | "limits">,
): { readonly limits: Limits; readonly enforced: Limits } {
  if (own !== undefined) checkLimits(own);
  const limits = sandboxLimits(plan.limits, { ...sandboxes.requestedLimits, ...own }, own);
  try {
    const requested = { ...sandboxes.requestedLimits, ...limits };
    return { limits, enforced: effectiveLimits(requested, probe.capabilities, backend.name) };
  } catch (error) {
    throw asPolicyError(error, plan);
  }
}

/** The part of a policy's limits that holds for the whole sandbox, never above what the manager's caller set. */
function sandboxLimits(policy: PolicyLimits, requested: Limits, own: Limits = {}): Limits {
  const { timeoutMs: _, outputBytes: __, ...limits } = policy;
  const wanted = { ...own, ...limits };
  const strictest = strictestLimits(wanted, requested);
  return Object.fromEntries(
    Object.entries(strictest).filter(([name]) => Object.hasOwn(wanted, name)),
  ) as Limits;
}

/** An unenforceable limit that the policy sets is the policy's error. */
export function asPolicyError(error: unknown, plan: CallPlan): SandboxError {
  const failure = toSandboxError(error);
  if (failure.code !== "LIMIT_UNENFORCEABLE" || plan.decision === undefined) return failure;
  return new SandboxError("POLICY_UNENFORCEABLE", `The policy cannot be enforced here: ${failure.message}`, {
    ...(failure.hint !== undefined && { hint: failure.hint }),
    cause: failure,
  });
}

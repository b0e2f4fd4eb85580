import type { Limits } from "../../../runtime/backends/index.js";
import type { ExpectedCaller } from "../manager-options.js";
import { type CallPlan, missingRole } from "./assess-call.js";
import { limitsFor } from "./call-limits.js";
import type { Guards } from "./guards.js";
import { routeCall } from "./route-call.js";

/** What a session is likely to be used for first. */
const FIRST_TOOLS = ["run_code", "shell_exec"] as const;

/**
 * What the first call of a caller will ask of the session's sandbox: one that was started otherwise would be thrown away
 * then. Undefined: such a call may not run. Throws where it could not.
 */
export async function expectedStart(
  { role, backend }: ExpectedCaller,
  guards: Pick<Guards, "policy" | "sandboxes" | "limits">,
): Promise<{ readonly limits: Limits; readonly backend?: string } | undefined> {
  const plan = await expectedPlan(role, guards);
  if (plan === undefined) return undefined;
  const chosen = await routeCall({ backend }, plan, guards);
  const { limits } = limitsFor(plan, chosen, guards);
  return { limits, ...(backend !== undefined && { backend: chosen.backend.name }) };
}

async function expectedPlan(
  role: string | undefined,
  { policy }: Pick<Guards, "policy">,
): Promise<CallPlan | undefined> {
  const plan = { risk: undefined, securityMode: undefined };
  if (policy === undefined) return { ...plan, decision: undefined, limits: {} };
  if (missingRole(policy.policy, role) !== undefined) return undefined;
  for (const tool of FIRST_TOOLS) {
    const decision = await policy.decide({ tool, role });
    if (decision.verdict !== "deny") return { ...plan, decision, limits: decision.limits };
  }
  return undefined;
}

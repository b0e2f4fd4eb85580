import { SandboxError } from "../../../kit/errors.js";
import type { Capabilities } from "../../../runtime/backends/index.js";
import { type Isolation, isAtLeast } from "../../../runtime/backends/index.js";
import type { ChosenBackend } from "../sandboxes/choose-backend.js";
import type { CallPlan } from "./assess-call.js";
import type { CheckedCall } from "./checked-call.js";
import type { Guards } from "./guards.js";
import { getRequiredSandbox } from "./required-sandbox.js";

/** The backend for a call: the caller's or the manager's own, refused where it is weaker than what the code asks for. */
export async function routeCall(
  call: Partial<Pick<CheckedCall, "backend" | "kind">>,
  plan: CallPlan,
  { sandboxes }: Pick<Guards, "sandboxes">,
): Promise<ChosenBackend> {
  const chosen = await sandboxes.backend(call.backend);
  const { name } = chosen.backend;
  const { capabilities } = chosen.probe;
  const isolation = isolationOf(capabilities);
  // A call may ask for stronger walls than the manager's, never for weaker ones.
  const own = isolationOf((await sandboxes.backend()).probe.capabilities);
  const required =
    call.backend === undefined ? requiredIsolation(plan) : stronger(requiredIsolation(plan), own);
  if (!isAtLeast(isolation, required)) {
    const level = plan.risk?.level;
    const what =
      call.kind?.type === "terminal"
        ? "a terminal, into which anything may be typed,"
        : `${level === undefined ? "this" : `${level}-risk`} code`;
    throw new SandboxError(
      "BACKEND_TOO_WEAK",
      `The backend ${name} has ${isolation === "none" ? "no isolation" : `${isolation} isolation`}; ${what} needs at least ${required} isolation`,
      { hint: 'Leave the backend out, or set it to "auto": the best isolating one of this host is used.' },
    );
  }
  assertNetwork(plan, capabilities, name);
  return chosen;
}

/** What the code asks for; where it was not assessed, any isolation will do. */
export function requiredIsolation({ risk, securityMode }: CallPlan): Isolation {
  return risk === undefined || securityMode === undefined ? "none" : getRequiredSandbox(risk, securityMode);
}

function stronger(one: Isolation, other: Isolation): Isolation {
  return isAtLeast(one, other) ? one : other;
}

/** How strong a backend's walls are. One that only says that it isolates counts as the weakest that does. */
function isolationOf({ isolates, isolation }: Capabilities): Isolation {
  return isolates ? (isolation ?? "process") : "none";
}

/** A policy that grants the network means the hosts it names: without a way to hold to that, nothing runs. */
function assertNetwork({ decision }: CallPlan, { network }: Capabilities, backend: string): void {
  if (decision === undefined || !decision.network.access) {
    if (decision === undefined || network !== "all-or-nothing") return;
    throw unenforceable(`The policy allows no network, and the backend ${backend} has the host's`);
  }
  if (network === "per-host") return;
  throw unenforceable(
    `The policy grants some of the network, and the backend ${backend} cannot tell one host from another`,
  );
}

function unenforceable(message: string): SandboxError {
  return new SandboxError("POLICY_UNENFORCEABLE", message, {
    hint: "Choose a backend that can enforce it (skerry doctor -v lists what each can), or change network_access in the policy.",
  });
}

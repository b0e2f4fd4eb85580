import { randomBytes } from "node:crypto";
import type { RunningSandbox } from "../../../runtime/sandbox/index.js";
import type { ChosenBackend } from "../sandboxes/choose-backend.js";
import type { CallPlan } from "./assess-call.js";
import { asPolicyError, limitsFor } from "./call-limits.js";
import type { CheckedCall } from "./checked-call.js";
import type { Guards } from "./guards.js";

/** A sandbox that a call may use until it releases it. */
export interface AcquiredSandbox {
  readonly sandbox: RunningSandbox;
  /** The workspace's limit, where it has one. */
  readonly workspaceMb: number | undefined;
  /** `hasNetwork`: the host's, whose bytes are not counted. */
  readonly about: { readonly id: string; readonly backend: string; readonly hasNetwork: boolean };
  /** A throw-away sandbox in which nothing ran is gone when this resolves; the others may go in the background. */
  release(isReusable: boolean): Promise<void>;
}

type Held = Pick<AcquiredSandbox, "sandbox" | "release">;

/** The session's sandbox with the plan's limits, or one of its own for a call without a session, in a cell or with a harness. */
export async function acquireSandbox(
  call: CheckedCall,
  plan: CallPlan,
  chosen: ChosenBackend,
  guards: Pick<Guards, "sandboxes" | "nameOf" | "limits">,
): Promise<AcquiredSandbox> {
  const { backend, probe } = chosen;
  const { limits, enforced } = limitsFor(plan, chosen, guards);
  const options = {
    limits,
    signal: call.signal,
    ...(call.backend !== undefined && { backend: backend.name }),
  };
  try {
    const { sandbox, release } = await hold(call, options, guards);
    const hasNetwork = probe.capabilities.network === "all-or-nothing";
    return {
      sandbox,
      workspaceMb: enforced.workspaceMb,
      about: { id: sandbox.id, backend: sandbox.type, hasNetwork },
      release,
    };
  } catch (error) {
    throw asPolicyError(error, plan);
  }
}

async function hold(
  call: CheckedCall,
  options: Parameters<Guards["sandboxes"]["lease"]>[1],
  { sandboxes, nameOf }: Pick<Guards, "sandboxes" | "nameOf">,
): Promise<Held> {
  const { kind, sessionId } = call;
  // Nothing of the session's is in a cell: its sandbox, with what runs there, stays as it is.
  if (kind.type === "cell") {
    return leased(await sandboxes.leaseForCells(ownerOf(call), { ...options, cells: kind.options }));
  }
  if (sessionId !== undefined && kind.type !== "harness") {
    const forFiles = kind.type === "files";
    return leased(await sandboxes.lease(nameOf(sessionId), { ...options, forFiles }));
  }
  const sandbox = await sandboxes.start(`once-${randomBytes(4).toString("hex")}`, {
    ...options,
    hasInputs: Object.keys(call.files ?? {}).length > 0,
    leased: true,
  });
  return {
    sandbox,
    release: (isReusable) => (isReusable ? sandboxes.discard(sandbox) : sandbox.stop()),
  };
}

function leased({ sandbox, release }: { readonly sandbox: RunningSandbox; release(): void }): Held {
  return { sandbox, release: async () => release() };
}

/** Whose programs may share a sandbox, each in a cell of its own. */
function ownerOf({ orgId, agentId, role, sessionId }: CheckedCall): string {
  return JSON.stringify([orgId, agentId, role, sessionId].map((each) => each ?? null));
}

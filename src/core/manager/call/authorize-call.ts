import type { ConfirmationOutcome } from "../../../guard/confirmation/index.js";
import { assessCall, type CallPlan } from "./assess-call.js";
import { assessTerminal, UNKNOWN_INPUT } from "./assess-terminal.js";
import { describeContext } from "./call-parts.js";
import type { CallRecord } from "./call-record.js";
import { type CheckedCall, languageOf, notRun, textOf } from "./checked-call.js";
import type { Guards } from "./guards.js";
import type { UnversionedResult } from "./tool-call.js";

export type Authorization =
  | {
      readonly isAuthorized: true;
      /** With the code that was agreed to. */
      readonly call: CheckedCall;
      readonly plan: CallPlan;
      readonly confirmation: UnversionedResult["confirmation"];
    }
  | { readonly isAuthorized: false; readonly result: UnversionedResult };

/** Code that a person keeps editing into something that must be asked about again ends here. */
const MAX_EDITS = 5;

/** What is said of everything that is left to run. */
const WITHOUT_END = "It runs until it exits or is stopped.";

/** Policy, risk, confirmation, in this order. Edited code starts from the top. */
export async function authorizeCall(
  given: CheckedCall,
  guards: Guards,
  record: CallRecord,
  signal: AbortSignal,
): Promise<Authorization> {
  let call = given;
  let agreed: (ConfirmationOutcome & { approved: true }) | undefined;
  for (let edits = 0; ; edits++) {
    const assessed = await assessCall(call, guards, { record, signal: eitherSignal(call.signal, signal) });
    const { verdict, plan, denial } = call.kind.type === "terminal" ? assessTerminal(assessed) : assessed;
    record.note({ risk: plan.risk });
    if (denial !== undefined) {
      record.violated(denial.violation);
      return refuse(notRun(call, "denied", denial.why));
    }
    if (verdict === "allow") return { isAuthorized: true, call, plan, confirmation: confirmationOf(agreed) };

    const askedAt = performance.now();
    const outcome = await ask(call, plan, guards, eitherSignal(call.signal, signal));
    record.waited(performance.now() - askedAt);
    if (!outcome.approved) {
      record.note({ confirmation: outcome.cause, decidedBy: outcome.by ?? "none" });
      if (outcome.cause !== "cancelled") record.violated("confirmation");
      return refuse({
        ...notRun(call, outcome.cause === "cancelled" ? "cancelled" : "rejected", outcome.reason),
        confirmation: { approved: false, edited: false, ...(outcome.by !== undefined && { by: outcome.by }) },
      });
    }
    agreed = { ...outcome, edited: outcome.edited || agreed?.edited === true };
    record.note({
      confirmation: agreed.edited ? "edited" : "approved",
      decidedBy: outcome.by ?? "unknown",
    });
    if (!outcome.edited) return { isAuthorized: true, call, plan, confirmation: confirmationOf(agreed) };
    if (edits === MAX_EDITS - 1) {
      const confirmation = { approved: false, edited: true };
      record.note({ confirmation: "rejected" });
      record.violated("confirmation");
      return refuse({ ...notRun(call, "rejected", `It was edited ${MAX_EDITS} times`), confirmation });
    }
    call = withText(call, outcome.code);
  }
}

function refuse(result: UnversionedResult): Authorization {
  return { isAuthorized: false, result };
}

function confirmationOf(
  agreed: (ConfirmationOutcome & { approved: true }) | undefined,
): UnversionedResult["confirmation"] {
  if (agreed === undefined) return undefined;
  return { approved: true, edited: agreed.edited, ...(agreed.by !== undefined && { by: agreed.by }) };
}

/** What a person edited; a command without a shell comes back as a shell's. */
function withText(call: CheckedCall, text: string): CheckedCall {
  if (call.code !== undefined) return { ...call, code: text };
  return { ...call, argv: undefined, command: text };
}

function ask(call: CheckedCall, plan: CallPlan, { confirmations }: Guards, signal: AbortSignal) {
  const { decision, risk } = plan;
  return confirmations.request(
    {
      sessionId: call.sessionId ?? "",
      agentId: call.agentId ?? "",
      orgId: call.orgId ?? "",
      role: decision?.role ?? call.role ?? "",
      tool: call.tool,
      language: languageOf(call),
      code: textOf(call),
      riskLevel: risk?.level ?? "medium",
      findings: risk?.findings ?? [],
      findingRules: risk?.detectedPatterns ?? [],
      ...(decision !== undefined && {
        rule: {
          path: decision.rule.path,
          source: decision.rule.source,
          line: decision.rule.line,
          why: decision.why,
        },
      }),
      limits: { ...plan.limits },
      // An approval for the session must not cover these because the same command was agreed to without them.
      surroundings: {
        ...describeContext(call),
        ...(call.kind.type === "terminal" && { terminal: UNKNOWN_INPUT }),
        ...(call.kind.type === "background" && { background: WITHOUT_END }),
      },
      backend: call.backend,
    },
    { signal },
  );
}

/** Aborts with the first of two; older Nodes watch the caller's own only. */
export function eitherSignal(own: AbortSignal | undefined, sink: AbortSignal): AbortSignal {
  if (own === undefined) return sink;
  return typeof AbortSignal.any === "function" ? AbortSignal.any([own, sink]) : own;
}

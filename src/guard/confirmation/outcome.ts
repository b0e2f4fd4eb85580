import type { ConfirmationAnswer, ConfirmationOutcome, RejectionCause } from "./request.js";

export type Approval = Extract<ConfirmationOutcome, { approved: true }>;
export type Rejection = Extract<ConfirmationOutcome, { approved: false }>;

export function rejection(cause: RejectionCause, reason: string): Rejection {
  return { approved: false, reason, cause };
}

/** No question was asked: an approval for the session covers it. */
export function rememberedApproval(code: string, by: string | undefined): Approval {
  return { approved: true, code, scope: "session", by, edited: false, remembered: true };
}

/** What an answer means for the code that was shown. */
export function outcomeOf(answer: ConfirmationAnswer, shown: string): ConfirmationOutcome {
  const { by } = answer;
  switch (answer.decision) {
    case "approve":
      return { approved: true, code: shown, scope: answer.scope, by, edited: false, remembered: false };
    case "edit":
      return {
        approved: true,
        code: answer.code,
        scope: "once",
        by,
        edited: answer.code !== shown,
        remembered: false,
      };
    case "reject": {
      const reason = answer.reason?.trim() || "The request was rejected without a reason";
      return { ...rejection("rejected", reason), ...(by !== undefined && { by }) };
    }
  }
}

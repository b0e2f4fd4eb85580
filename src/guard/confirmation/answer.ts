import { isTooLongToRun } from "../../kit/code-limits.js";
import type { ConfirmationAnswer } from "./request.js";

const MAX_REASON_LENGTH = 2000;
const MAX_NAME_LENGTH = 200;

/** Checks an answer that came from outside; undefined when it is none. Long reasons and names are cut. */
export function parseAnswer(input: unknown): ConfirmationAnswer | undefined {
  if (typeof input !== "object" || input === null) return undefined;
  const { decision, scope, code, reason, by } = ownFields(input);
  if (by !== undefined && typeof by !== "string") return undefined;
  const signed = by === undefined ? {} : { by: by.slice(0, MAX_NAME_LENGTH) };
  switch (decision) {
    case "approve":
      return scope === "once" || scope === "session" ? { decision, scope, ...signed } : undefined;
    case "edit":
      if (typeof code !== "string" || code.trim() === "" || isTooLongToRun(code)) return undefined;
      return { decision, code, ...signed };
    case "reject":
      if (reason !== undefined && typeof reason !== "string") return undefined;
      return {
        decision,
        ...(reason !== undefined && { reason: reason.slice(0, MAX_REASON_LENGTH) }),
        ...signed,
      };
    default:
      return undefined;
  }
}

/** Its own fields, each read once: nothing inherited, and no getter that says one thing first and another later. */
function ownFields(input: object): Readonly<Record<string, unknown>> {
  try {
    return { __proto__: null, ...input };
  } catch {
    return {};
  }
}

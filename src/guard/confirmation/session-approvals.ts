import { createHash } from "node:crypto";
import { BoundedMap } from "../../kit/bounded-map.js";
import { type RiskLevel, rankOf } from "../analysis/index.js";
import type { ConfirmationDetails } from "./request.js";

interface Approval {
  readonly rules: ReadonlySet<string>;
  readonly riskLevel: RiskLevel;
  readonly by: string | undefined;
}

const MAX_SESSIONS = 10_000;
const MAX_APPROVALS = 200;

/**
 * Remembers what was approved for a session. An approval covers the very same code with the very same surroundings,
 * for the same organisation, tool, role, language, backend and policy rule: what looks alike may do something else.
 */
export class SessionApprovals {
  /** Session → circumstances → approvals. Forgetting the oldest means that a person is asked again. */
  readonly #sessions = new BoundedMap<string, BoundedMap<string, readonly Approval[]>>(MAX_SESSIONS);

  add(details: ConfirmationDetails, by: string | undefined): void {
    const session = this.#sessions.get(details.sessionId) ?? new BoundedMap(MAX_APPROVALS);
    const key = circumstances(details);
    const approval = { rules: rulesOf(details), riskLevel: details.riskLevel, by };
    session.set(key, [...(session.get(key) ?? []), approval].slice(-MAX_APPROVALS));
    this.#sessions.set(details.sessionId, session);
  }

  /** The approval that covers it, or undefined. */
  find(details: ConfirmationDetails): { readonly by: string | undefined } | undefined {
    const approvals = this.#sessions.get(details.sessionId)?.get(circumstances(details)) ?? [];
    const rules = [...rulesOf(details)];
    return approvals.find(
      (approval) =>
        rankOf(details.riskLevel) <= rankOf(approval.riskLevel) &&
        rules.every((rule) => approval.rules.has(rule)),
    );
  }

  forget(sessionId: string): void {
    this.#sessions.delete(sessionId);
  }
}

function rulesOf({ findings, findingRules }: ConfirmationDetails): Set<string> {
  return new Set([...findings.map(({ rule }) => rule), ...(findingRules ?? [])]);
}

/** As JSON: names that hold each other's separators stay apart. */
function circumstances(details: ConfirmationDetails): string {
  const { orgId, agentId, tool, role, language, backend, rule, code, surroundings } = details;
  const content = createHash("sha256")
    .update(JSON.stringify([code, surroundings]))
    .digest("hex");
  const place = [rule?.source, rule?.path, rule?.line];
  return JSON.stringify([orgId, agentId, tool, role, language, backend, ...place, content]);
}

import type { AuditEvent, AuditLogger } from "../../guard/audit/index.js";
import type { ApprovalRecord, ExecutionRecord, SessionRecord, Store } from "../store/index.js";
import type { FencedLease } from "./fenced-lease.js";

export interface DeadServerReaperOptions {
  readonly store: Store;
  readonly lease: FencedLease;
  readonly audit?: AuditLogger | undefined;
  /** Called with the counts, if anything ended. */
  readonly onEnded: (
    counts: Readonly<Record<"servers" | "sessions" | "executions" | "approvals", number>>,
  ) => void;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Ends what dead servers had, and records it. Their sessions are never taken over: the files are
 * on a host that is gone, and an empty session of the same name would be another one.
 */
export class DeadServerReaper {
  constructor(private readonly options: DeadServerReaperOptions) {}

  /** Looks once. When several servers do so at the same time, one of them ends and records each thing. */
  async reap(): Promise<void> {
    const { store, lease, onEnded } = this.options;
    if (!lease.canDeclareDead) return;
    const { servers, sessions, executions, approvals } = await store.servers.reapDead(lease.token);
    if (servers.length === 0) return;
    onEnded({
      servers: servers.length,
      sessions: sessions.length,
      executions: executions.length,
      approvals: approvals.length,
    });
    const events = [
      ...approvals.map((each) => interruptedApproval(each)),
      ...executions.map(interruptedExecution),
      ...sessions.map(lostSession),
    ];
    await Promise.all(events.map((event) => this.#write(event)));
  }

  /** A failing record does not prevent the others. */
  async #write(event: AuditEvent): Promise<void> {
    const { audit, onFailure } = this.options;
    await audit?.log(event).catch(onFailure);
  }
}

/** An approval request whose call is gone. */
export function interruptedApproval({ id, org, session, server, request }: ApprovalRecord): AuditEvent {
  const { tool, role, agentId } = (request ?? {}) as Record<string, unknown>;
  const text = (value: unknown) => (typeof value === "string" ? value : null);
  return {
    eventType: "approval_interrupted",
    sessionId: session ?? null,
    orgId: org,
    agentId: text(agentId),
    role: text(role),
    tool: text(tool),
    result: "rejected",
    confirmation: "interrupted",
    decidedBy: "none",
    details: { approval: id, server },
  };
}

/** The attempt's own record is in the log of the server that ran it, or will be when that comes back. */
function interruptedExecution({ id, org, session, server, tool }: ExecutionRecord): AuditEvent {
  return {
    eventType: "execution_interrupted",
    sessionId: session ?? null,
    orgId: org,
    tool,
    result: "interrupted",
    details: { execution: id, server },
  };
}

function lostSession({ id, org, role, server }: SessionRecord): AuditEvent {
  return {
    eventType: "session_lost",
    sessionId: id,
    orgId: org,
    role: role ?? null,
    details: { server: server ?? null },
  };
}

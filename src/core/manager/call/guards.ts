import type { AuditLogger } from "../../../guard/audit/index.js";
import type { ConfirmationQueue } from "../../../guard/confirmation/index.js";
import type { PolicyEngine } from "../../../guard/policy/index.js";
import type { Limits } from "../../../runtime/backends/index.js";
import type { Metrics } from "../../metrics/index.js";
import type { EgressController } from "../egress/egress-controller.js";
import type { LiveSandboxes } from "../sandboxes/live-sandboxes.js";
import type { SecurityMode } from "./required-sandbox.js";

/** Everything that decides about and records a tool call; each part may be left out. */
export interface Guards {
  readonly policy: PolicyEngine | undefined;
  /** Undefined: code is not looked at. */
  readonly securityMode: SecurityMode | undefined;
  readonly confirmations: ConfirmationQueue;
  readonly audit: AuditLogger | undefined;
  readonly metrics: Metrics | undefined;
  readonly sandboxes: LiveSandboxes;
  readonly egress: EgressController;
  /** Throws when sandboxes are switched off, or the manager is closed. */
  readonly assertUsable: () => void;
  /** The session that a key stands for, by the manager's mode. */
  readonly nameOf: (sessionId: string) => string;
  /** Told of each call of a session that is over. */
  readonly onEnded: (session: string) => void;
  /** Of this call, from the caller of the library. */
  readonly limits: Limits | undefined;
}

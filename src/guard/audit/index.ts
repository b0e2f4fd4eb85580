export {
  type AuditHealth,
  AuditLogger,
  type AuditLoggerOptions,
  type PendingAttempt,
} from "./audit-logger.js";
export { type AuditTail, checkAuditTail } from "./check-tail.js";
export { LogReader } from "./log-reader.js";
export { type AuditQuery, queryAudit } from "./query.js";
export {
  AUDIT_RESULTS,
  type AuditDetails,
  type AuditEvent,
  type AuditFields,
  type AuditOutcome,
  type AuditRecord,
  type AuditResult,
} from "./record.js";
export { type AuditReport, type Counted, reportAudit } from "./report.js";
export { type AuditSink, createCallbackSink, createFileSink, createStreamSink } from "./sinks.js";
export { type TailOptions, tailAudit } from "./tail.js";
export {
  type ChainPoint,
  type Verification,
  type VerifyNote,
  type VerifyOptions,
  verifyAudit,
} from "./verify.js";

export { openStore } from "./open-store.js";
export type * from "./store.js";
export type {
  ApiKeyRecord,
  ApiKeys,
  ApprovalOutcome,
  ApprovalRecord,
  AuditEntry,
  CreatedApiKey,
  CreatedSession,
  EndedWhy,
  ExecutionRecord,
  Json,
  KeyScopes,
  LeaseToken,
  NewDecision,
  NotedExecution,
  ServerRecord,
  SessionRecord,
  SnapshotRecord,
  Store,
  StoreFigures,
} from "./store.js";

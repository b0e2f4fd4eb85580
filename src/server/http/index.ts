export type { AccessRows } from "./access.js";
export { type App, createApp } from "./app.js";
export { assertRole, isOver, roleFor, SOCKET_PROTOCOL } from "./authenticate.js";
export { disconnectSignal, streamLostSignal } from "./disconnect-signal.js";
export { orCutOff, sendStream } from "./downloads.js";
export {
  logError,
  RETRY_AFTER_SECONDS,
  RetryLater,
  serverStopping,
  toErrorBody,
  toPublicError,
} from "./error-reply.js";
export { EVENTS, EventStream, wantsEvents } from "./event-stream.js";
export type { LogStream } from "./log.js";
export { closeSocket, jsonOf, ManagedSocket, upgradeRequired } from "./managed-socket.js";
export { onKeyRevoked } from "./on-key-revoked.js";
export { documentRoutes } from "./openapi.js";
export { ANYTHING, WEB_SOCKET } from "./openapi-document.js";
export { checkAddress } from "./origin-check.js";
export { checkReplies, checkRequests, requireAccessRows } from "./request-hooks.js";
export {
  agentId,
  approval,
  context,
  cursor,
  type ExecutionReply,
  errorBody,
  execution,
  executionResult,
  executionSummary,
  fileEntry,
  moment,
  ofSession,
  pageOf,
  pageQuery,
  poolStatus,
  processLogs,
  replies,
  roleName,
  serverProcess,
  serverTerminal,
  session,
  sessionFilter,
  sessionId,
  sessionParams,
  snapshot,
  toMoment,
  toPoolReply,
  ttlMs,
} from "./schemas.js";
export { acceptStreams, bodyStream } from "./uploads.js";

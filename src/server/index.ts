export { ApprovalService } from "./approvals/approval-service.js";
export { type Access, ROUTES } from "./http/access.js";
export { createServer, type Server, type ServerOptions } from "./http/create-server.js";
export { openConfiguredStore } from "./lifecycle/configured-store.js";
export { type RunningServer, type ServeOptions, type ServerLog, serve } from "./lifecycle/serve.js";
export type { Check } from "./status/checks.js";
export type { ApiKeyRecord, KeyScopes, Store } from "./store/index.js";

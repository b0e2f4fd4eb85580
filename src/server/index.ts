export { type Access, ROUTES } from "./access.js";
export { ApprovalDesk } from "./approval-desk.js";
export { openConfiguredStore } from "./configured-store.js";
export { createServer, type Server, type ServerOptions } from "./create-server.js";
export { type RunningServer, type ServeOptions, type ServerLog, serve } from "./serve.js";
export type { Check } from "./status/checks.js";
export { ago, bytes, count } from "./status/words.js";
export type { ApiKeyRecord, KeyScopes, Store } from "./store/index.js";

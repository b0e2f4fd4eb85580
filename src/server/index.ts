export type { LogStream } from "./http/log.js";
export { openConfiguredStore } from "./lifecycle/configured-store.js";
export { type RunningServer, type ServeOptions, type ServerLog, serve } from "./lifecycle/serve.js";
export type { Check } from "./status/checks.js";
export type { ApiKeyRecord, CreatedApiKey, KeyScopes, Store } from "./store/index.js";

export type { LogStream } from "./http/index.js";
export {
  openConfiguredStore,
  type RunningServer,
  type ServeOptions,
  type ServerLog,
  serve,
} from "./lifecycle/index.js";
export type { Check } from "./status/index.js";
export type { ApiKeyRecord, CreatedApiKey, KeyScopes, Store } from "./store/index.js";

export {
  type ApiKeyRecord,
  type CreatedApiKey,
  type KeyScopes,
  type LogStream,
  type RunningServer,
  type ServeOptions,
  type ServerLog,
  serve,
} from "./server/index.js";

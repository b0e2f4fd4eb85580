export { openConfiguredStore } from "./configured-store.js";
export { type RunningServer, type ServeOptions, type ServerLog, serve } from "./serve.js";

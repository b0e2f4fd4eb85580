export { type CallerIdentity, callerIdentity } from "./caller-identity.js";
export { inSession } from "./session-calls.js";
export { sessionsOf, uidOf } from "./session-ids.js";
export { SessionService, type UsedSession } from "./session-service.js";
export { settingsOf } from "./session-settings.js";
export { TaskRegistry } from "./task-registry.js";

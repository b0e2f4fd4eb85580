export { type LogOptions, latest, withLog, writeArray } from "./audit-log.js";
export { auditDirectory, openAudit } from "./open-audit.js";
export { identityOf, loadPolicyFile, openGuardedManager, policyFileOf } from "./open-guards.js";
export { openMounts, tellLeftOut } from "./open-mounts.js";
export { createManager, openManager, openSandbox, readConfig, requireSession } from "./open-sandbox.js";
export { serversSessions } from "./running-server.js";
export { askServer } from "./server-request.js";

import { join, resolve } from "node:path";
import type { Config } from "../../core/config/index.js";
import type { AuditLogger } from "../../guard/audit/index.js";
import { expandHome } from "../../kit/expand-home.js";
import { ensureStateDirectory, stateDirectoryOf } from "../../kit/state-directory.js";
import { MIB } from "../../kit/units.js";

/** Where the configuration says that the log is. */
export function auditDirectory(config: Config): string {
  const { directory } = config.sandbox.audit;
  if (directory !== undefined) return resolve(expandHome(directory));
  return join(stateDirectoryOf(config.sandbox), "audit");
}

/** The log as configured, or undefined where it is switched off. The caller closes it. */
export async function openAudit(config: Config): Promise<AuditLogger | undefined> {
  const { enabled, fsync, includeCode, maxFileMb, keepFiles } = config.sandbox.audit;
  if (!enabled) return undefined;
  // The log closes what it makes to others; sandboxes must be able to pass through the state directory.
  ensureStateDirectory(stateDirectoryOf(config.sandbox));
  const { AuditLogger } = await import("../../guard/audit/index.js");
  return new AuditLogger({
    directory: auditDirectory(config),
    fsync,
    includeCode,
    maxFileBytes: Math.floor(maxFileMb * MIB),
    ...(keepFiles !== undefined && { keepFiles }),
  });
}

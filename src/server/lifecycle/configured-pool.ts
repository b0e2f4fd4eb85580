import type { ServerPoolConfig } from "../../core/config/index.js";
import { SandboxError, toSandboxError } from "../../kit/errors.js";
import { PoolManager } from "../../runtime/pool/index.js";
import { findLanguage } from "../../runtime/sandbox/index.js";

/** The pool that the configuration asks for; undefined: none. */
export function createConfiguredPool(config: ServerPoolConfig): PoolManager | undefined {
  const { maxInstances, minInstances, preload, ...rest } = config;
  if (maxInstances === undefined) return undefined;
  for (const language of preload) checkLanguage(language);
  return new PoolManager({
    ...rest,
    maxInstances,
    preload,
    ...(minInstances !== undefined && { minInstances }),
  });
}

function checkLanguage(language: string): void {
  try {
    findLanguage(language);
  } catch (error) {
    const { message, hint } = toSandboxError(error);
    throw new SandboxError("CONFIG_INVALID", `server.pool.preload: ${message}`, {
      ...(hint !== undefined && { hint }),
      cause: error,
    });
  }
}

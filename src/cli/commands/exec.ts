import { execute } from "../execute.js";
import type { ExecuteOptions } from "../options.js";

/** `skerry exec`: any command inside. */
export function exec(argv: readonly string[], options: ExecuteOptions): Promise<number> {
  return execute(options, true, { argv });
}

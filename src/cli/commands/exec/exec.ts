import type { ExecuteOptions } from "../../definition/options.js";
import { execute } from "../../execution/execute.js";

/** `skerry exec`: any command inside. */
export function exec(argv: readonly string[], options: ExecuteOptions): Promise<number> {
  return execute(options, true, { argv });
}

import type { ExecuteOptions } from "../../definition/index.js";
import { execute } from "../../execution/index.js";

/** `skerry exec`: any command inside. */
export function exec(argv: readonly string[], options: ExecuteOptions): Promise<number> {
  return execute(options, true, { argv });
}

import { type Config, expandHome } from "../config/index.js";
import { defaultStateDirectory } from "../workspace/state-directory.js";

/** The state directory that the configuration names. */
export function stateDirectoryOf({ sandbox }: Config): string {
  return expandHome(sandbox.stateDir ?? defaultStateDirectory());
}

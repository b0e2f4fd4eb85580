import { createPaint, type Paint } from "../../guard/confirmation/index.js";
import type { Output } from "./output.js";

export type { Paint } from "../../guard/confirmation/index.js";

/** Colours on a terminal, unless --no-color or NO_COLOR says otherwise. */
export function paintFor(
  output: Pick<Output, "isTerminal">,
  wanted: boolean,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Paint {
  return createPaint(wanted && output.isTerminal, env);
}

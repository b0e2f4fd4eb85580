import type { Output } from "./output.js";

const STYLES = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const;
export type Style = keyof typeof STYLES;
export type Paint = (style: Style, text: string) => string;

/** Colours on a terminal, unless --no-color or NO_COLOR says otherwise. */
export function paintFor(
  output: Pick<Output, "isTerminal">,
  wanted: boolean,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Paint {
  const on = wanted && output.isTerminal && (env.NO_COLOR ?? "") === "" && env.TERM !== "dumb";
  return (style, text) => {
    const [start, end] = STYLES[style];
    return on ? `\x1b[${start}m${text}\x1b[${end}m` : text;
  };
}

const STYLES = { bold: [1, 22], dim: [2, 22], red: [31, 39], yellow: [33, 39], green: [32, 39] } as const;

export type Style = keyof typeof STYLES;

/** Puts a style around a text, or leaves it as it is. */
export type Paint = (style: Style, text: string) => string;

/** Colours on a terminal, unless NO_COLOR or a dumb terminal says otherwise. */
export function createPaint(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): Paint {
  if (!isTerminal || (env.NO_COLOR ?? "") !== "" || env.TERM === "dumb") return (_, text) => text;
  return (style, text) => {
    const [start, end] = STYLES[style];
    return `\x1b[${start}m${text}\x1b[${end}m`;
  };
}

/** Texts that are made to cost as much as they can, by family; each grows to the length that it is asked for. */
export type Family = (length: number) => string;

/** As many as fit, numbered. */
export function many(make: (index: number) => string, separator = ""): Family {
  return (length) => {
    const pieces: string[] = [];
    let used = 0;
    for (let index = 0; ; index++) {
      const piece = make(index) + separator;
      if (used + piece.length > length) break;
      pieces.push(piece);
      used += piece.length;
    }
    return pieces.join("");
  };
}

/** The same piece over and over, within something. */
export function within(before: string, piece: string, after = ""): Family {
  return (length) =>
    before +
    piece.repeat(Math.max(0, Math.floor((length - before.length - after.length) / piece.length))) +
    after;
}

/** Opened and closed as often as it fits. */
export function nested(open: string, close: string, core = "x"): Family {
  return (length) => {
    const times = Math.floor((length - core.length) / (open.length + close.length));
    return open.repeat(times) + core + close.repeat(times);
  };
}

/** A fixed part, then as much of another family as fits. */
export function after(start: string, family: Family, end = ""): Family {
  return (length) => start + family(length - start.length - end.length) + end;
}

/** Half of one family, half of another. */
export function halves(first: Family, second: Family, between = ""): Family {
  return (length) => {
    const half = Math.floor((length - between.length) / 2);
    return first(half) + between + second(half);
  };
}

/** A family packed as one word for another reader. */
export function packed(
  start: string,
  family: Family,
  pack: (text: string) => string,
  end: string,
  rate: number,
): Family {
  return (length) => start + pack(family(Math.floor((length - start.length - end.length) / rate))) + end;
}

export const singleQuoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
export const base64 = (text: string) => Buffer.from(text).toString("base64");

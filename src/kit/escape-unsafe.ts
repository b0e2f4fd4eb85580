/** Characters that act on a terminal or hide: controls, formats (bidi, zero width), separators, lone surrogates. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/gu;

/** Text from outside for one line of a terminal: nothing in it acts or hides. */
export function visible(text: string): string {
  return text.replace(UNSAFE, (character) => {
    const point = character.codePointAt(0) ?? 0;
    return point <= 0xff ? `\\x${point.toString(16).padStart(2, "0")}` : `\\u{${point.toString(16)}}`;
  });
}

/** The same for text that may have several lines. */
export function visibleLines(text: string): string {
  return text.split("\n").map(visible).join("\n");
}

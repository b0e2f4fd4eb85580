const MAX_SHOWN_CHARACTERS = 200;

/**
 * Characters that move the cursor, reorder text or cannot be seen: controls, formats (bidi, zero width, tags),
 * line separators, lone surrogates, private use and unassigned.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/gu;

/** A guest's file name for an error message: nothing in it acts on a terminal or hides. */
export function visibleName(name: string): string {
  const cut = name.length > MAX_SHOWN_CHARACTERS;
  const shown = cut ? name.slice(0, MAX_SHOWN_CHARACTERS) : name;
  const escaped = shown.replace(INVISIBLE, (character) => {
    const point = character.codePointAt(0) ?? 0;
    return point <= 0xff ? `\\x${point.toString(16).padStart(2, "0")}` : `\\u{${point.toString(16)}}`;
  });
  return cut ? `${escaped}…` : escaped;
}

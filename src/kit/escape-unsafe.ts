/**
 * Characters that act on a terminal or hide: controls, formats (bidi, zero width), separators, lone surrogates, all
 * that Unicode lets a font leave out (fillers, variation selectors), spaces other than the space, the blank braille
 * pattern, and marks after the fourth on one character.
 */
const UNSAFE =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}|(?<=\p{M}{4})\p{M}/gu;

/** Untrusted text for one line of a terminal: characters that act or hide are written as escapes. */
export function escapeUnsafe(text: string): string {
  return text.replace(UNSAFE, (character) => {
    const point = character.codePointAt(0) ?? 0;
    return point <= 0xff ? `\\x${point.toString(16).padStart(2, "0")}` : `\\u{${point.toString(16)}}`;
  });
}

/** The same for text of several lines. */
export function escapeUnsafeLines(text: string): string {
  return text.split("\n").map(escapeUnsafe).join("\n");
}

const MAX_FILE_NAME_CHARACTERS = 200;

/** The same for a file name in an error message, cut after 200 characters. */
export function escapeFileName(name: string): string {
  if (name.length <= MAX_FILE_NAME_CHARACTERS) return escapeUnsafe(name);
  return `${escapeUnsafe(name.slice(0, MAX_FILE_NAME_CHARACTERS))}…`;
}

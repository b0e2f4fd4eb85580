import type { Match } from "./findings.js";

/** A picture of several characters, a keycap, a form of a Chinese character: a reader sees these. */
const VISIBLE_SEQUENCES =
  /\p{Extended_Pictographic}\p{Emoji_Modifier}?[\ufe0e\ufe0f]?(?:\u200d\p{Extended_Pictographic}\p{Emoji_Modifier}?\ufe0f?)*|[#*0-9]\ufe0f\u20e3|\p{Script=Han}[\ufe00-\ufe02\u{e0100}-\u{e01ef}]/gu;
/** Joiners inside of words whose letters change their form by them. */
const JOINED_LETTERS =
  /(?<=[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}])[\u200c\u200d]/gu;

/** What `escapeUnsafe` shows as an escape, since nobody sees it: fillers, selectors, tags; those of the direction have a rule of their own. */
const HIDDEN = /(?![\u202a-\u202e\u2066-\u2069])[\p{Default_Ignorable_Code_Point}\u2800]/u;
/** What looks like a space and is none to the language, and marks that cover what stands around them. */
const MISLEADING = /(?! )\p{Zs}|\p{M}{5}/u;

const INVISIBLE_TEXT = "invisible-text";
const HIDES: Match = {
  rule: INVISIBLE_TEXT,
  level: "high",
  why: "Has characters that nobody sees.",
};
const MISLEADS: Match = {
  rule: INVISIBLE_TEXT,
  level: "medium",
  why: "Has spaces that are none to the language, or marks that cover other text.",
};

/** The first character of each kind that a reader would not see as it is, with its offset. */
export function findInvisibleText(text: string): { readonly match: Match; readonly offset: number }[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: everything in ASCII is seen, or has a rule of its own
  if (!/[^\x00-\x7f]/.test(text)) return [];
  const blank = (seen: string) => "x".repeat(seen.length);
  const rest = text.replace(VISIBLE_SEQUENCES, blank).replace(JOINED_LETTERS, blank);
  return [
    { match: HIDES, offset: rest.search(HIDDEN) },
    { match: MISLEADS, offset: rest.search(MISLEADING) },
  ].filter(({ offset }) => offset >= 0);
}

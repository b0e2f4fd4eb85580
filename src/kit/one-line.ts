import { escapeUnsafe } from "./escape-unsafe.js";

/** What a person is told of one call. */
const MAX_SUMMARY_CHARACTERS = 300;

/** A text from anywhere as one line of so many characters at most, in which nothing acts or hides. */
export function oneLine(text: string, most = MAX_SUMMARY_CHARACTERS): string {
  // Cut first: what comes from inside may have any size.
  const start = wholeCharacters(text.slice(0, most + 1), "end").trimEnd();
  const line = escapeUnsafe(start);
  const isWhole = text.length <= most + 1 && line.length <= most;
  return isWhole ? line : `${wholeCharacters(line.slice(0, most - 1), "end")}…`;
}

/** Without half of a surrogate pair at its cut end. */
export function wholeCharacters(text: string, cut: "start" | "end"): string {
  if (cut === "end") return /[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text;
  return /^[\uDC00-\uDFFF]/.test(text) ? text.slice(1) : text;
}

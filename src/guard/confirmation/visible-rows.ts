import { escapeUnsafe } from "../../kit/escape-unsafe.js";
import type { Paint } from "./paint.js";

const MARK = /\p{M}/u;
const TAB = "→   ";
const PLAIN = /^[\x20-\x7e]*$/;
/** Marks stack on the letter before them, over the rows above and below when there are many. */
const MAX_MARKS = 2;

/**
 * A line of untrusted text in rows of at most so many columns, in which nothing acts or hides. We break lines
 * ourselves: a terminal would go on in its first column, where only we write.
 */
export function* visibleRows(line: string, columns: number, paint: Paint): Generator<string> {
  if (PLAIN.test(line)) {
    for (let at = 0; at === 0 || at < line.length; at += columns) yield line.slice(at, at + columns);
    return;
  }
  let row = "";
  let width = 0;
  let marks = 0;
  for (const character of line) {
    marks = MARK.test(character) ? marks + 1 : 0;
    const shown = showCharacter(character, marks > MAX_MARKS);
    const size = columnsOf(shown);
    if (width + size > columns) {
      yield row;
      row = "";
      width = 0;
    }
    row += shown === character ? character : paint(shown === TAB ? "dim" : "red", shown);
    width += size;
  }
  yield row;
}

/** Some characters are wide, which ones is the terminal's opinion: room for two columns is enough for all. */
function columnsOf(shown: string): number {
  return PLAIN.test(shown) ? shown.length : shown === TAB ? 5 : 2;
}

function showCharacter(character: string, isExcess: boolean): string {
  if (character === "\t") return TAB;
  const shown = escapeUnsafe(character);
  if (shown !== character || !isExcess) return shown;
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}

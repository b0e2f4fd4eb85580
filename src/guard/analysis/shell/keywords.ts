import { fillHereDocuments } from "./redirects.js";
import { isMeta, type Scanner } from "./scanner.js";
import { readWord } from "./words.js";

/** Blanks, comments and line ends; the bodies of here-documents come with the line ends. */
export function skipLines(scanner: Scanner): void {
  for (;;) {
    scanner.skipBlanks();
    if (scanner.char !== "\n") return;
    scanner.at += 1;
    fillHereDocuments(scanner);
  }
}

/** The unquoted letters at this position when a word ends after them. */
export function peekKeyword(scanner: Scanner): string {
  const { text } = scanner;
  let keyword = "";
  let at = scanner.at;
  for (; keyword.length <= 8; at++) {
    const char = text.charAt(at);
    if (char === "\\" && text[at + 1] === "\n") at += 1;
    else if (
      (char >= "a" && char <= "z") ||
      char === "!" ||
      char === "{" ||
      char === "}" ||
      char === "[" ||
      char === "]"
    ) {
      keyword += char;
    } else break;
  }
  return isMeta(text.charAt(at)) ? keyword : "";
}

/** Steps over the keyword that `peekKeyword` saw. */
export function takeKeyword(scanner: Scanner): void {
  readWord(scanner);
}

import type { Scanner, WordStyle } from "./scanner.js";
import type { Part, Word } from "./tree.js";

/** Reads the parts of a word; handed in, because words hold parameters and parameters hold words. */
type ReadParts = (scanner: Scanner, style: WordStyle) => Part[];

const NAME = /[A-Za-z_]\w*/y;
const BRACED_NAME = /[A-Za-z_]\w*|\d+|[@*#?$!-]/y;
const OPERATOR = /:?[-=+?]|##?|%%?|\/[/#%]?|\^\^?|,,?|~~?|@[A-Za-z]|@|\*|:/y;
/** With these, quotes inside of double quotes mean themselves. */
const DEFAULTS = /^:?[-=+?]$/;

/** `$name`, `$1`, `$@`, `${…}`; undefined for a dollar that means itself. */
export function readParameter(scanner: Scanner, quoted: boolean, readParts: ReadParts): Part | undefined {
  const { text, at } = scanner;
  if (text[at + 1] === "{") return scanner.nest(() => readBraced(scanner, quoted, readParts));
  const name = match(NAME, text, at + 1) ?? match(/[\d@*#?$!-]/y, text, at + 1);
  if (name === undefined) return undefined;
  scanner.at = at + 1 + name.length;
  if (scanner.startsWith("\\\n")) throw scanner.fail("a line continuation cuts a variable's name");
  return { kind: "variable", name, quoted, operator: "", operands: [] };
}

function readBraced(scanner: Scanner, quoted: boolean, readParts: ReadParts): Part {
  const { text } = scanner;
  const start = scanner.at;
  scanner.at += 2;
  let prefix = "";
  // "#" and "!" alone are parameters too: ${#} and ${!}.
  if (/[#!]/.test(scanner.char) && match(BRACED_NAME, text, scanner.at + 1) !== undefined) {
    const bare = /^[#!][}:%#/^,+=?-]/.test(text.slice(scanner.at, scanner.at + 2));
    if (!bare || text[scanner.at + 2] === "}") {
      prefix = scanner.char;
      scanner.at += 1;
    }
  }
  const name = match(BRACED_NAME, text, scanner.at);
  if (name === undefined) throw scanner.fail("an expansion's brace is not followed by a name");
  scanner.at += name.length;
  const operands: Word[] = [];
  if (scanner.char === "[") operands.push(readSubscript(scanner, quoted, readParts));
  const operator = match(OPERATOR, text, scanner.at) ?? "";
  scanner.at += operator.length;
  const place = scanner.place;
  const parts = readParts(scanner, operandStyle(operator, quoted));
  if (scanner.char !== "}") {
    scanner.at = start;
    throw scanner.fail("an expansion's brace is not closed");
  }
  scanner.at += 1;
  if (operator === "" && parts.length > 0) throw scanner.fail("an expansion holds an unknown operator");
  const subscript = operands.length > 0 ? "[]" : "";
  if (parts.length > 0) operands.push({ parts, place });
  return { kind: "variable", name, quoted, operator: prefix + subscript + operator, operands };
}

function operandStyle(operator: string, quoted: boolean): WordStyle {
  const ends = (char: string) => char === "}";
  return quoted && DEFAULTS.test(operator) ? { ends, inQuotes: true, doubleQuotes: true } : { ends };
}

function readSubscript(scanner: Scanner, quoted: boolean, readParts: ReadParts): Word {
  scanner.at += 1;
  const place = scanner.place;
  const parts = readParts(scanner, { ends: (char) => char === "]", inQuotes: quoted });
  if (scanner.char !== "]") throw scanner.fail('a subscript\'s "[" has no "]"');
  scanner.at += 1;
  return { parts, place };
}

function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

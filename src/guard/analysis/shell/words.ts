import { unescapeAnsiC } from "./ansi-c.js";
import { readParameter } from "./parameters.js";
import { isMeta, type Scanner, type WordStyle } from "./scanner.js";
import type { Part, Word } from "./tree.js";

const ARRAY_START = /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=$/;
/** How far we look for the `))` that tells arithmetic from a subshell. */
const MAX_LOOK_AHEAD = 65_536;

const PLAIN: WordStyle = { ends: isMeta };

/** Gathers parts, joining neighbouring text. */
class Parts {
  readonly list: Part[] = [];
  private text = "";
  private quoted = false;

  add(text: string, quoted: boolean): void {
    if (this.quoted !== quoted) this.flush();
    this.quoted = quoted;
    this.text += text;
  }

  /** Quotes with nothing in them still make a word. */
  addQuoted(text: string): void {
    if (text !== "") this.add(text, true);
    else this.push({ kind: "text", text: "", quoted: true });
  }

  push(part: Part): void {
    this.flush();
    this.list.push(part);
  }

  /** The unquoted text from the start, if there is nothing else yet. */
  get soleText(): string {
    return this.list.length === 0 && !this.quoted ? this.text : "";
  }

  flush(): Part[] {
    if (this.text !== "") this.list.push({ kind: "text", text: this.text, quoted: this.quoted });
    this.text = "";
    return this.list;
  }
}

/** The word at this position; undefined where there is none. */
export function readWord(scanner: Scanner, style: WordStyle = PLAIN): Word | undefined {
  const { at, place } = scanner;
  const parts = readParts(scanner, style);
  return scanner.at === at ? undefined : { parts, place };
}

/** The parts up to the style's end, or to the end of the text. */
export function readParts(scanner: Scanner, style: WordStyle): Part[] {
  return scanner.nest(() => readEach(scanner, style));
}

function readEach(scanner: Scanner, style: WordStyle): Part[] {
  const { inQuotes = false } = style;
  const parts = new Parts();
  let parentheses = 0;
  while (!scanner.done) {
    const char = scanner.char;
    if (char === "\\") {
      readBackslash(scanner, parts, inQuotes, style);
    } else if (char === "$") {
      readDollar(scanner, parts, inQuotes);
    } else if (char === "`") {
      parts.push({ kind: "command", script: readBackquotes(scanner, inQuotes), quoted: inQuotes });
    } else if (parentheses === 0 && style.ends(char) && !startsPart(scanner, style)) {
      if (char !== "(" || inQuotes) break;
      if (!readParenthesis(scanner, parts)) break;
    } else if (char === '"' && (!inQuotes || style.doubleQuotes === true)) {
      readDoubleQuotes(scanner, parts);
    } else if (inQuotes) {
      parts.add(char, true);
      scanner.at += 1;
    } else if (char === "'") {
      parts.addQuoted(readSingleQuotes(scanner));
    } else if ((char === "<" || char === ">") && scanner.text[scanner.at + 1] === "(") {
      scanner.at += 2;
      parts.push({ kind: "process", direction: char, script: readSubstitution(scanner) });
    } else {
      if (style.expression === true && char === "(") parentheses += 1;
      if (style.expression === true && char === ")") parentheses -= 1;
      parts.add(char, false);
      scanner.at += 1;
    }
  }
  return parts.flush();
}

/** `<(` and `>(` begin a part although `<` and `>` end words. */
function startsPart(scanner: Scanner, { inQuotes = false, expression = false }: WordStyle): boolean {
  const char = scanner.char;
  if (expression && char === "(") return true;
  return !inQuotes && (char === "<" || char === ">") && scanner.text[scanner.at + 1] === "(";
}

/** `name=(…)` and `@(a|b)` go on after the parenthesis; any other ends the word. */
function readParenthesis(scanner: Scanner, parts: Parts): boolean {
  const before = parts.soleText;
  if (ARRAY_START.test(before)) {
    scanner.at += 1;
    parts.push({ kind: "array", words: readArray(scanner) });
    return true;
  }
  const previous = scanner.text[scanner.at - 1] ?? "";
  // At the start of a command "!(" is a negated subshell.
  if (!"?*+@!".includes(previous) || previous === "" || before === "!") return false;
  const last = parts.flush().at(-1);
  if (last?.kind !== "text" || last.quoted) return false;
  scanner.at += 1;
  const inner = readParts(scanner, { ends: (char) => char === ")", expression: true });
  if (scanner.char !== ")") throw scanner.fail('a pattern\'s "(" has no ")"');
  scanner.at += 1;
  parts.push({ kind: "pattern", parts: inner });
  return true;
}

function readArray(scanner: Scanner): Word[] {
  const words: Word[] = [];
  for (;;) {
    scanner.skipBlanks();
    if (scanner.char === "\n") scanner.at += 1;
    else if (scanner.char === ")") break;
    else {
      const word = readWord(scanner);
      if (word === undefined) throw scanner.fail('a list\'s "(" has no ")"');
      words.push(word);
    }
  }
  scanner.at += 1;
  return words;
}

function readBackslash(scanner: Scanner, parts: Parts, inQuotes: boolean, style: WordStyle): void {
  const next = scanner.text[scanner.at + 1];
  scanner.at += 2;
  if (next === undefined) parts.add("\\", true);
  else if (next === "\n") return;
  else if (!inQuotes || "$`\\".includes(next) || (next === '"' && style.doubleQuotes === true)) {
    parts.add(next, true);
  } else parts.add(`\\${next}`, true);
}

function readSingleQuotes(scanner: Scanner): string {
  const end = scanner.text.indexOf("'", scanner.at + 1);
  if (end === -1) throw scanner.fail("a single quote is not closed");
  const text = scanner.text.slice(scanner.at + 1, end);
  scanner.at = end + 1;
  return text;
}

const IN_DOUBLE_QUOTES: WordStyle = { ends: (char) => char === '"', inQuotes: true, doubleQuotes: true };

function readDoubleQuotes(scanner: Scanner, parts: Parts): void {
  const start = scanner.at;
  scanner.at += 1;
  const inner = readParts(scanner, IN_DOUBLE_QUOTES);
  if (scanner.char !== '"') {
    scanner.at = start;
    throw scanner.fail("a double quote is not closed");
  }
  scanner.at += 1;
  if (inner.length === 0) parts.addQuoted("");
  for (const part of inner) {
    if (part.kind === "text") parts.addQuoted(part.text);
    else parts.push(part);
  }
}

function readDollar(scanner: Scanner, parts: Parts, inQuotes: boolean): void {
  const { text, at } = scanner;
  const next = text[at + 1] ?? "";
  if (next === "\\" && text[at + 2] === "\n") throw scanner.fail('a line continuation follows "$"');
  if (next === "(") {
    if (text[at + 2] === "(" && isArithmetic(scanner, at + 3)) {
      scanner.at += 3;
      parts.push(readArithmetic(scanner, "))"));
    } else {
      scanner.at += 2;
      parts.push({ kind: "command", script: readSubstitution(scanner), quoted: inQuotes });
    }
  } else if (next === "[") {
    scanner.at += 2;
    parts.push(readArithmetic(scanner, "]"));
  } else if (next === "'" && !inQuotes) {
    scanner.at += 1;
    parts.addQuoted(readAnsiC(scanner));
  } else if (next === '"' && !inQuotes) {
    scanner.at += 1;
    readDoubleQuotes(scanner, parts);
  } else {
    const part = readParameter(scanner, inQuotes, readParts);
    if (part === undefined) {
      parts.add("$", inQuotes);
      scanner.at += 1;
    } else {
      parts.push(part);
    }
  }
}

function readAnsiC(scanner: Scanner): string {
  const start = scanner.at + 1;
  let at = start;
  while (at < scanner.text.length && scanner.text[at] !== "'") at += scanner.text[at] === "\\" ? 2 : 1;
  if (at >= scanner.text.length) throw scanner.fail("a single quote is not closed");
  scanner.at = at + 1;
  return unescapeAnsiC(scanner.text.slice(start, at));
}

/** The commands up to the parenthesis that closes `$(` or `<(`. */
function readSubstitution(scanner: Scanner) {
  return scanner.nest(() => {
    const outer = scanner.hereDocuments;
    scanner.hereDocuments = [];
    const script = scanner.read.script(scanner, ")");
    if (scanner.hereDocuments.length > 0) throw scanner.fail("a here-document has no body");
    if (scanner.char !== ")") throw scanner.fail('a "(" has no ")"');
    scanner.at += 1;
    scanner.hereDocuments = outer;
    return script;
  });
}

/** Backquotes hold a text in which some backslashes are gone; what is left is read as a text of its own. */
function readBackquotes(scanner: Scanner, inQuotes: boolean) {
  const start = scanner.at + 1;
  let body = "";
  let at = start;
  for (; at < scanner.text.length && scanner.text[at] !== "`"; at++) {
    const next = scanner.text[at + 1] ?? "";
    if (scanner.text[at] === "\\" && next !== "" && ("$`\\".includes(next) || (inQuotes && next === '"')))
      at++;
    body += scanner.text[at];
  }
  if (at >= scanner.text.length) throw scanner.fail("a backquote is not closed");
  const exact = body.length === at - start;
  const place = scanner.place;
  scanner.at = at + 1;
  const { locate } = scanner;
  return scanner.nest(() => {
    const inner = scanner.within(body, exact ? (offset) => locate(start + offset) : () => place);
    return inner.read.script(inner, "");
  });
}

/** Parts of an expression up to its end; what is not an expansion does not matter. */
export function readArithmetic(
  scanner: Scanner,
  end: "))" | "]" | ";",
): Extract<Part, { kind: "arithmetic" }> {
  const close = end.charAt(0);
  const open = end === "]" ? "[" : "(";
  let depth = 0;
  const parts: Part[] = [];
  for (;;) {
    const style: WordStyle = {
      ends: (char) => char === open || char === ")" || char === close,
      inQuotes: true,
    };
    parts.push(...readParts(scanner, style));
    if (scanner.done) throw scanner.fail("an arithmetic expression is not closed");
    const char = scanner.char;
    if (depth === 0 && scanner.startsWith(end)) break;
    if (end === ";" && depth === 0 && char === ")") break;
    if (char === open) depth += 1;
    else if (char === (end === ";" ? ")" : close)) depth -= 1;
    if (depth < 0) throw scanner.fail("an arithmetic expression is not closed");
    scanner.at += 1;
  }
  if (end !== ";") scanner.at += end.length;
  return { kind: "arithmetic", parts };
}

/** Whether what follows `((` ends with `))`: then it is an expression, otherwise a subshell in another one. */
export function isArithmetic(scanner: Scanner, from: number): boolean {
  const { text } = scanner;
  const limit = Math.min(text.length, from + MAX_LOOK_AHEAD);
  let depth = 0;
  for (let at = from; at < limit; at++) {
    const char = text[at];
    if (char === "\\") at += 1;
    else if (char === "'" || char === '"') {
      at = closingQuote(text, at, limit);
    } else if (char === "(") depth += 1;
    else if (char === ")" && depth-- === 0) return text[at + 1] === ")";
  }
  return false;
}

function closingQuote(text: string, from: number, limit: number): number {
  const quote = text[from];
  for (let at = from + 1; at < limit; at++) {
    if (text[at] === quote) return at;
    if (quote === '"' && text[at] === "\\") at += 1;
  }
  return limit;
}

import type { Scanner } from "./scanner.js";
import type { Redirect, Word } from "./tree.js";
import { readParts, readWord } from "./words.js";

const DESCRIPTOR = /(?:\d+|\{[A-Za-z_]\w*\})(?=[<>])/y;
const OPERATOR = /&>>|&>|<<<|<<-|<<|<>|<&|>>|>\||>&|<|>/y;

/** The redirection at this position, or undefined. */
export function readRedirect(scanner: Scanner): Redirect | undefined {
  const { text, at } = scanner;
  DESCRIPTOR.lastIndex = at;
  const descriptor = DESCRIPTOR.exec(text)?.[0] ?? "";
  OPERATOR.lastIndex = at + descriptor.length;
  const operator = OPERATOR.exec(text)?.[0];
  if (operator === undefined) return undefined;
  // A plain sh reads "&" and then ">file command"; bash under that name does not.
  if (scanner.posix && operator.startsWith("&>")) throw scanner.fail('"&>" is read differently by each sh');
  const after = at + descriptor.length + operator.length;
  // "<(" begins a word; so does "2<(": dropping its digits loses nothing.
  if ((operator === "<" || operator === ">") && text[after] === "(") return undefined;
  scanner.at = after;
  if (operator === "<<" || operator === "<<-") return readHereDocument(scanner, operator, descriptor);
  scanner.skipBlanks();
  const target = readWord(scanner);
  if (target === undefined) throw scanner.fail(`"${operator}" has no target`);
  return { operator: descriptor + operator, target };
}

function readHereDocument(scanner: Scanner, operator: "<<" | "<<-", descriptor: string): Redirect {
  scanner.skipBlanks();
  const start = scanner.at;
  const target = readWord(scanner);
  if (target === undefined) throw scanner.fail(`"${operator}" has no delimiter`);
  const source = scanner.text.slice(start, scanner.at);
  const delimiter = target.parts.map((part) => (part.kind === "text" ? part.text : "\0")).join("");
  // Shells take a delimiter with an expansion literally; no ordinary script has one.
  if (delimiter.includes("\0")) throw scanner.fail("a here-document's delimiter is not constant");
  const redirect: Redirect = { operator: descriptor + operator, target };
  const quoted = /['"\\]/.test(source.replaceAll("\\\n", ""));
  scanner.hereDocuments.push({ redirect, delimiter, quoted, stripTabs: operator === "<<-" });
  return redirect;
}

/** Reads the bodies that were announced on the line that has just ended. */
export function fillHereDocuments(scanner: Scanner): void {
  const pending = scanner.hereDocuments;
  scanner.hereDocuments = [];
  for (const each of pending) {
    const start = scanner.at;
    const lines: string[] = [];
    while (!scanner.done) {
      const end = scanner.text.indexOf("\n", scanner.at);
      const raw = scanner.text.slice(scanner.at, end === -1 ? undefined : end);
      scanner.at = end === -1 ? scanner.text.length : end + 1;
      const line = each.stripTabs ? raw.replace(/^\t+/, "") : raw;
      if (line === each.delimiter) break;
      lines.push(`${line}${end === -1 ? "" : "\n"}`);
    }
    each.redirect.body = readBody(scanner, lines.join(""), start, each.quoted, each.stripTabs);
  }
}

function readBody(scanner: Scanner, text: string, start: number, quoted: boolean, shifted: boolean): Word {
  const { locate } = scanner;
  const place = locate(start);
  if (quoted) return { place, parts: [{ kind: "text", text, quoted: true }] };
  const inner = scanner.within(text, shifted ? () => place : (at) => locate(start + at));
  return { place, parts: readParts(inner, { ends: () => false, inQuotes: true }) };
}

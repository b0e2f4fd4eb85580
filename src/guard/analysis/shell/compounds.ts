import { peekKeyword, skipLines, takeKeyword } from "./keywords.js";
import { readRedirect } from "./redirects.js";
import type { Scanner } from "./scanner.js";
import type { Command, Part, Redirect, Script, Word } from "./tree.js";
import { isArithmetic, readArithmetic, readWord } from "./words.js";

/** The compound command at this position, or undefined where a simple one stands. */
export function readCompound(scanner: Scanner, keyword: string): Command | undefined {
  const { place } = scanner;
  const read = scanner.char === "(" ? readParentheses : READERS.get(keyword);
  if (read === undefined) return undefined;
  const body = scanner.nest(() => read(scanner));
  if (body === undefined) return undefined;
  if (body.kind === "function" || body.kind === "coproc") return { ...body, redirects: [], place };
  return { ...body, redirects: readRedirects(scanner), place };
}

type Bare = Command extends infer C ? (C extends Command ? Omit<C, "redirects" | "place"> : never) : never;
type Reader = (scanner: Scanner) => Bare | undefined;

const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ["if", readIf],
  ["while", readWhile],
  ["until", readWhile],
  ["for", readFor],
  ["select", readFor],
  ["case", readCase],
  ["{", readBraces],
  ["[[", readCondition],
  ["function", readFunctionKeyword],
  ["coproc", readCoproc],
]);

/** Two operands without an operator between them. */
const TWO_WORDS = /[\w.'"][ \t\n]+[\w./'"]/;

function readRedirects(scanner: Scanner): Redirect[] {
  const redirects: Redirect[] = [];
  for (;;) {
    scanner.skipBlanks();
    const redirect = readRedirect(scanner);
    if (redirect === undefined) return redirects;
    redirects.push(redirect);
  }
}

function expect(scanner: Scanner, keyword: string): void {
  if (peekKeyword(scanner) !== keyword) throw scanner.fail(`"${keyword}" was expected`);
  takeKeyword(scanner);
}

/** Commands between here and one of the keywords, which is stepped over and told. */
function readPart(scanner: Scanner, keywords: readonly string[]): { script: Script; end: string } {
  const script = scanner.read.until(scanner, keywords);
  const end = peekKeyword(scanner);
  if (!keywords.includes(end)) throw scanner.fail(`"${keywords.at(-1)}" was expected`);
  if (script.items.length === 0) throw scanner.fail(`a command was expected before "${end}"`);
  takeKeyword(scanner);
  return { script, end };
}

function readIf(scanner: Scanner): Bare {
  takeKeyword(scanner);
  const branches: { condition: Script; body: Script }[] = [];
  for (;;) {
    const condition = readPart(scanner, ["then"]).script;
    const { script: body, end } = readPart(scanner, ["elif", "else", "fi"]);
    branches.push({ condition, body });
    if (end === "fi") return { kind: "if", branches, otherwise: undefined };
    if (end === "else") return { kind: "if", branches, otherwise: readPart(scanner, ["fi"]).script };
  }
}

function readWhile(scanner: Scanner): Bare {
  takeKeyword(scanner);
  const condition = readPart(scanner, ["do"]).script;
  return { kind: "while", condition, body: readPart(scanner, ["done"]).script };
}

function readFor(scanner: Scanner): Bare {
  takeKeyword(scanner);
  scanner.skipBlanks();
  if (scanner.startsWith("((")) return readArithmeticFor(scanner);
  const name = readWord(scanner)?.parts[0];
  if (name?.kind !== "text" || name.quoted || !/^[A-Za-z_]\w*$/.test(name.text)) {
    throw scanner.fail("a variable's name was expected");
  }
  skipLines(scanner);
  let values: Word[] | undefined;
  if (peekKeyword(scanner) === "in") {
    takeKeyword(scanner);
    values = readWords(scanner);
  }
  scanner.skipBlanks();
  if (scanner.char === ";") scanner.at += 1;
  return { kind: "for", variable: name.text, values, body: readDo(scanner) };
}

function readWords(scanner: Scanner): Word[] {
  const words: Word[] = [];
  for (;;) {
    scanner.skipBlanks();
    const word = readWord(scanner);
    if (word === undefined) return words;
    words.push(word);
  }
}

function readArithmeticFor(scanner: Scanner): Bare {
  const { place } = scanner;
  scanner.at += 2;
  const words: Word[] = [];
  do {
    words.push({ place, parts: [readArithmetic(scanner, ";")] });
  } while (scanner.take(";"));
  if (!scanner.take("))") || words.length !== 3) throw scanner.fail('"for ((" has no "))"');
  scanner.skipBlanks();
  scanner.take(";");
  return { kind: "evaluate", words, body: readDo(scanner) };
}

/** `do … done`, or the braces that bash takes instead. */
function readDo(scanner: Scanner): Script {
  skipLines(scanner);
  const opening = peekKeyword(scanner);
  if (opening !== "{") expect(scanner, "do");
  else takeKeyword(scanner);
  return readPart(scanner, [opening === "{" ? "}" : "done"]).script;
}

function readBraces(scanner: Scanner): Bare {
  takeKeyword(scanner);
  return { kind: "group", subshell: false, body: readPart(scanner, ["}"]).script };
}

function readParentheses(scanner: Scanner): Bare {
  const { place } = scanner;
  if (!scanner.posix && scanner.startsWith("((") && isArithmetic(scanner, scanner.at + 2)) {
    scanner.at += 2;
    const expression = readArithmetic(scanner, "))");
    const text = expression.parts.map((part) => (part.kind === "text" ? part.text : "$")).join("");
    // A plain sh runs this as a command in two subshells; bash refuses it.
    if (TWO_WORDS.test(text)) throw scanner.fail('"((…))" is no arithmetic');
    return { kind: "evaluate", words: [{ place, parts: [expression] }], body: undefined };
  }
  scanner.at += 1;
  const body = scanner.read.script(scanner, ")");
  if (scanner.char !== ")") throw scanner.fail('a "(" has no ")"');
  if (body.items.length === 0) throw scanner.fail('a command was expected before ")"');
  scanner.at += 1;
  return { kind: "group", subshell: true, body };
}

function readCase(scanner: Scanner): Bare {
  takeKeyword(scanner);
  scanner.skipBlanks();
  const subject = readWord(scanner);
  if (subject === undefined) throw scanner.fail('a word was expected after "case"');
  skipLines(scanner);
  expect(scanner, "in");
  const branches: { patterns: Word[]; body: Script }[] = [];
  for (;;) {
    skipLines(scanner);
    if (peekKeyword(scanner) === "esac") break;
    const patterns = readPatterns(scanner);
    const body = scanner.read.until(scanner, ["esac", ";;"]);
    branches.push({ patterns, body });
    const end = /;;&|;;|;&/y;
    end.lastIndex = scanner.at;
    const separator = end.exec(scanner.text)?.[0];
    if (separator !== undefined) scanner.at += separator.length;
    else if (peekKeyword(scanner) !== "esac") throw scanner.fail('"esac" was expected');
  }
  takeKeyword(scanner);
  return { kind: "case", subject, branches };
}

function readPatterns(scanner: Scanner): Word[] {
  if (scanner.char === "(") scanner.at += 1;
  const patterns: Word[] = [];
  for (;;) {
    scanner.skipBlanks();
    const word = readWord(scanner);
    if (word === undefined) throw scanner.fail("a pattern was expected");
    patterns.push(word);
    scanner.skipBlanks();
    const next = scanner.char;
    if (next !== "|" && next !== ")") throw scanner.fail('")" was expected after a pattern');
    scanner.at += 1;
    if (next === ")") return patterns;
  }
}

/** `[[ … ]]`: the operators do not matter, what its words run does. */
function readCondition(scanner: Scanner): Bare {
  takeKeyword(scanner);
  const words: Word[] = [];
  let expression = false;
  for (;;) {
    skipLines(scanner);
    if (scanner.done) throw scanner.fail('"[[" has no "]]"');
    if (peekKeyword(scanner) === "]]") break;
    const operator = /&&|\|\||[()<>](?!\()/y;
    operator.lastIndex = scanner.at;
    const found = expression ? undefined : operator.exec(scanner.text)?.[0];
    if (found !== undefined) {
      // To a plain sh "[[" is a command's name, and the operator ends it.
      if (scanner.posix) throw scanner.fail(`"${found}" in "[[ … ]]" is read differently by each sh`);
      scanner.at += found.length;
      continue;
    }
    const word: Word | undefined = expression
      ? readWord(scanner, { ends: (char) => char === " " || char === "\t" || char === "\n", expression })
      : (readWord(scanner) ?? skipOperator(scanner));
    if (word !== undefined) words.push(word);
    const only: Part | undefined = word?.parts.length === 1 ? word.parts[0] : undefined;
    expression = only?.kind === "text" && !only.quoted && only.text === "=~";
  }
  takeKeyword(scanner);
  return { kind: "evaluate", words, body: undefined };
}

function skipOperator(scanner: Scanner): undefined {
  if (scanner.char !== "(" && scanner.char !== ")")
    throw scanner.fail(`"${scanner.char}" stands in "[[ … ]]"`);
  scanner.at += 1;
}

function readFunctionKeyword(scanner: Scanner): Bare {
  const { place } = scanner;
  takeKeyword(scanner);
  scanner.skipBlanks();
  const word = readWord(scanner);
  const name = word?.parts.map((part) => (part.kind === "text" ? part.text : "\0")).join("");
  if (name === undefined || name.includes("\0")) throw scanner.fail("a function's name was expected");
  scanner.skipBlanks();
  if (scanner.char === "(" && /^\([ \t]*\)/.test(scanner.text.slice(scanner.at, scanner.at + 64))) {
    scanner.at = scanner.text.indexOf(")", scanner.at) + 1;
  }
  return readFunctionBody(scanner, name, place);
}

/** `coproc command` or `coproc NAME { … }`. */
function readCoproc(scanner: Scanner): Bare {
  takeKeyword(scanner);
  scanner.skipBlanks();
  const start = scanner.at;
  const name = readWord(scanner)?.parts[0];
  scanner.skipBlanks();
  const named =
    name?.kind === "text" && !name.quoted && /^[A-Za-z_]\w*$/.test(name.text) && !READERS.has(name.text);
  const compound = named && (scanner.char === "(" || READERS.has(peekKeyword(scanner)));
  if (!compound) scanner.at = start;
  return { kind: "coproc", body: scanner.read.command(scanner) };
}

/** What follows a function's name and parentheses. */
export function readFunctionBody(scanner: Scanner, name: string, place: number): Command {
  skipLines(scanner);
  const body = readCompound(scanner, peekKeyword(scanner));
  if (body === undefined) throw scanner.fail("a function's body was expected");
  return { kind: "function", name, body, redirects: [], place };
}

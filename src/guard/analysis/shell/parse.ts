import { readCompound, readFunctionBody } from "./compounds.js";
import { peekKeyword, skipLines, takeKeyword } from "./keywords.js";
import { readRedirect } from "./redirects.js";
import { type CommandReaders, isMeta, type Locate, Scanner } from "./scanner.js";
import {
  type Assignment,
  type Command,
  type Item,
  type Redirect,
  type Script,
  ShellSyntaxError,
  type Word,
} from "./tree.js";
import { readParts, readWord } from "./words.js";

const MAX_PROBLEMS = 20;
const ASSIGNMENT = /^([A-Za-z_]\w*)(\+?=)([\s\S]*)$/;
const SUBSCRIPT_ASSIGNMENT = /^([A-Za-z_]\w*)\[/;
/** A word that only a compound command may begin or end with. */
const CLOSERS = new Set(["then", "else", "elif", "fi", "do", "done", "esac", "}", "]]"]);

const READERS: CommandReaders = { script: readScript, until: readUntil, command: readCommand };

export interface ParsedShell {
  readonly script: Script;
  readonly problems: readonly ShellSyntaxError[];
}

/** Reads a shell text. After a mistake it goes on with the next line, as a shell has run the lines before it. */
export function parseShell(text: string, locate: Locate = (at) => at, posix = false): ParsedShell {
  const scanner = new Scanner(text, locate, READERS, posix);
  const items: Item[] = [];
  const problems: ShellSyntaxError[] = [];
  while (!scanner.done && problems.length < MAX_PROBLEMS) {
    const start = scanner.at;
    try {
      readItems(scanner, items, () => false);
      if (!scanner.done) throw scanner.fail(`"${scanner.char}" stands where a command was expected`);
    } catch (error) {
      if (!(error instanceof ShellSyntaxError)) throw error;
      problems.push(error);
      scanner.hereDocuments = [];
      const next = text.indexOf("\n", Math.max(scanner.at, start));
      scanner.at = next === -1 ? text.length : next + 1;
    }
  }
  return { script: { items }, problems };
}

/** The parts of a text that a shell expands as if it stood in double quotes: a here-document, a prompt. */
export function parseExpansions(text: string, locate: Locate): Word {
  const scanner = new Scanner(text, locate, READERS, false);
  return { place: locate(0), parts: readParts(scanner, { ends: () => false, inQuotes: true }) };
}

/** Commands up to the end that was asked for, which is left for the caller. */
function readScript(scanner: Scanner, end: ")" | ""): Script {
  const items: Item[] = [];
  readItems(scanner, items, () => end === ")" && scanner.char === ")");
  if (end === "" && !scanner.done)
    throw scanner.fail(`"${scanner.char}" stands where a command was expected`);
  return { items };
}

/** Commands up to one of the keywords, which is left for the caller. */
function readUntil(scanner: Scanner, keywords: readonly string[]): Script {
  return scanner.nest(() => {
    const items: Item[] = [];
    readItems(
      scanner,
      items,
      () => keywords.includes(peekKeyword(scanner)) || (keywords.includes(";;") && endsCase(scanner)),
    );
    return { items };
  });
}

function endsCase(scanner: Scanner): boolean {
  return scanner.startsWith(";;") || scanner.startsWith(";&");
}

function readItems(scanner: Scanner, items: Item[], ended: () => boolean): void {
  let join: Item["join"] = ";";
  let listStart = items.length;
  for (;;) {
    skipLines(scanner);
    if (scanner.done || ended()) {
      if (join !== ";") throw scanner.fail(`"${join}" is followed by nothing`);
      return;
    }
    items.push({ join, stages: readPipeline(scanner), background: false });
    scanner.skipBlanks();
    join = ";";
    if (scanner.startsWith("&&") || scanner.startsWith("||")) {
      join = scanner.startsWith("&&") ? "&&" : "||";
      scanner.at += 2;
      continue;
    }
    if (scanner.done || ended()) return;
    if (scanner.char === "&") {
      for (const item of items.slice(listStart)) item.background = true;
      scanner.at += 1;
    } else if (scanner.char === ";" && !endsCase(scanner)) {
      scanner.at += 1;
    } else if (scanner.char !== "\n") {
      return;
    }
    listStart = items.length;
  }
}

function readPipeline(scanner: Scanner): Command[] {
  return scanner.nest(() => {
    skipNegation(scanner);
    const stages = [readCommand(scanner)];
    for (;;) {
      scanner.skipBlanks();
      if (scanner.char !== "|" || scanner.startsWith("||")) return stages;
      scanner.at += scanner.startsWith("|&") ? 2 : 1;
      skipLines(scanner);
      skipNegation(scanner);
      stages.push(readCommand(scanner));
    }
  });
}

/** `!` and `time` in front of a pipeline. */
function skipNegation(scanner: Scanner): void {
  for (;;) {
    const keyword = peekKeyword(scanner);
    if (keyword !== "!" && keyword !== "time") return;
    const start = scanner.at;
    takeKeyword(scanner);
    scanner.skipBlanks();
    if (keyword === "!") continue;
    if (/^-p(?=[ \t])/.test(scanner.text.slice(scanner.at, scanner.at + 3))) scanner.at += 2;
    scanner.skipBlanks();
    // "time -f %e cmd" is the program of that name.
    if (scanner.char === "-" || isMeta(scanner.char)) {
      if (scanner.char === "(") return;
      scanner.at = start;
      return;
    }
  }
}

/** One command with its redirections. */
function readCommand(scanner: Scanner): Command {
  if (!scanner.countCommand()) {
    scanner.at = scanner.text.length;
    throw scanner.fail("more commands than are looked into");
  }
  scanner.skipBlanks();
  const keyword = peekKeyword(scanner);
  if (CLOSERS.has(keyword)) throw scanner.fail(`"${keyword}" stands where a command was expected`);
  return readCompound(scanner, keyword) ?? readSimple(scanner);
}

function readSimple(scanner: Scanner): Command {
  const { place } = scanner;
  const assignments: Assignment[] = [];
  const words: Word[] = [];
  const redirects: Redirect[] = [];
  let afterName = scanner.at;
  for (;;) {
    scanner.skipBlanks();
    const redirect = readRedirect(scanner);
    if (redirect !== undefined) {
      redirects.push(redirect);
      continue;
    }
    const word = readWord(scanner);
    if (word === undefined) break;
    const assignment = words.length === 0 ? asAssignment(word) : undefined;
    if (assignment !== undefined) assignments.push(assignment);
    else words.push(word);
    if (words.length === 1 && assignment === undefined) {
      afterName = scanner.at;
      scanner.skipBlanks();
      if (scanner.char === "(") {
        if (assignments.length + redirects.length > 0) throw scanner.fail('"(" stands after a command');
        return readFunction(scanner, word);
      }
    }
  }
  if (words.length + assignments.length + redirects.length === 0) {
    throw scanner.fail(
      scanner.done ? "a command was expected" : `"${scanner.char}" stands where a command was expected`,
    );
  }
  if (scanner.char === "(") throw scanner.fail('"(" stands after a command');
  return {
    kind: "simple",
    assignments,
    words,
    redirects,
    place,
    tail: scanner.text.slice(afterName, scanner.at),
  };
}

function readFunction(scanner: Scanner, word: Word): Command {
  scanner.at += 1;
  scanner.skipBlanks();
  if (scanner.char !== ")") throw scanner.fail('"(" stands after a command');
  scanner.at += 1;
  const name = word.parts.map((part) => (part.kind === "text" ? part.text : "\0")).join("");
  if (name.includes("\0")) throw scanner.fail("a function's name is not constant");
  return readFunctionBody(scanner, name, word.place);
}

/** A word as an assignment, when it is one in front of a command. */
function asAssignment(word: Word): Assignment | undefined {
  const first = word.parts[0];
  if (first?.kind !== "text" || first.quoted) return undefined;
  const { place } = word;
  const plain = ASSIGNMENT.exec(first.text);
  if (plain !== null) {
    const rest = word.parts.slice(1);
    const head: Word["parts"] = plain[3] === "" ? [] : [{ kind: "text", text: plain[3]!, quoted: false }];
    const value = { parts: [...head, ...rest], place };
    const isArray = rest.some((part) => part.kind === "array");
    return { name: plain[1]!, plain: plain[2] === "=" && !isArray, words: [value] };
  }
  const subscript = SUBSCRIPT_ASSIGNMENT.exec(first.text);
  const isElement = word.parts.some(
    (part) => part.kind === "text" && !part.quoted && /\]\+?=/.test(part.text),
  );
  return subscript !== null && isElement ? { name: subscript[1]!, plain: false, words: [word] } : undefined;
}

import type { ProcessStart, ProcessStarts } from "../program/process-start.js";

/** Where a sed script starts commands: `e command`, `e` alone, and `s///e`. */
export function findSedStarts(script: string): ProcessStarts {
  const found: ProcessStart[] = [];
  const reader = new Reader(script);
  while (!reader.done) {
    const problem = readCommand(reader, found);
    if (problem !== undefined) return { found, problem: { at: reader.at, what: problem } };
  }
  return { found, problem: undefined };
}

class Reader {
  at = 0;

  constructor(private readonly text: string) {}

  get done(): boolean {
    return this.at >= this.text.length;
  }

  get char(): string {
    return this.text.charAt(this.at);
  }

  skip(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const matched = pattern.exec(this.text)?.[0] ?? "";
    this.at += matched.length;
    return matched;
  }

  /** Up to a delimiter that no backslash precedes; undefined when it does not come. */
  until(delimiter: string): string | undefined {
    const start = this.at;
    while (!this.done) {
      if (this.char === "\\") this.at += 2;
      else if (this.char === delimiter) {
        this.at += 1;
        return this.text.slice(start, this.at - 1);
      } else this.at += 1;
    }
    return undefined;
  }
}

/** One command with its addresses; resolves to what is wrong with it. */
function readCommand(reader: Reader, found: ProcessStart[]): string | undefined {
  reader.skip(/[\s;{}]*/y);
  if (reader.done) return undefined;
  if (!skipAddresses(reader)) return "a sed address that does not end";
  const at = reader.at;
  const command = reader.char;
  reader.at += 1;
  switch (command) {
    case "e": {
      const text = reader.skip(/[^\n]*/y).trim();
      // Alone it runs what it reads.
      found.push({ at, via: "sed e", kind: "text", text: text === "" ? undefined : text });
      return undefined;
    }
    case "{":
      return undefined;
    case "s":
      return readSubstitution(reader, found, at);
    case "y": {
      const delimiter = reader.char;
      reader.at += 1;
      if (reader.until(delimiter) === undefined || reader.until(delimiter) === undefined)
        return 'a sed "y" that does not end';
      return undefined;
    }
    case "a":
    case "i":
    case "c":
      reader.skip(/(?:[^\n\\]|\\[\s\S])*/y);
      return undefined;
    case "r":
    case "R":
    case "w":
    case "W":
    case "#":
      reader.skip(/[^\n]*/y);
      return undefined;
    default:
      // Labels, numbers, and commands without any argument.
      reader.skip(/[^\n;}]*/y);
      return undefined;
  }
}

function readSubstitution(reader: Reader, found: ProcessStart[], at: number): string | undefined {
  const delimiter = reader.char;
  reader.at += 1;
  const pattern = reader.until(delimiter);
  const replacement = pattern === undefined ? undefined : reader.until(delimiter);
  if (replacement === undefined) return 'a sed "s" that does not end';
  const flags = reader.skip(/[A-Za-z0-9]*/y);
  const file = /w/.test(flags);
  if (file) reader.skip(/[^\n]*/y);
  if (!/e/.test(flags.replace(/w.*$/, ""))) return undefined;
  const constant = !/[&\\]/.test(replacement) && (pattern === ".*" || pattern === "^.*$");
  found.push({ at, via: "sed s///e", kind: "text", text: constant ? replacement : undefined });
  return undefined;
}

function skipAddresses(reader: Reader): boolean {
  for (;;) {
    reader.skip(/[\s\d$,~+!]*/y);
    let delimiter = reader.char;
    if (delimiter === "\\") {
      reader.at += 1;
      delimiter = reader.char;
    } else if (delimiter !== "/") return true;
    reader.at += 1;
    if (reader.until(delimiter) === undefined) return false;
    reader.skip(/[IM]*/y);
  }
}

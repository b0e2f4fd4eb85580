import { MAX_ANALYZED_CODE_CHARACTERS, MAX_ANALYZED_SHELL_CHARACTERS } from "../../kit/code-limits.js";
import { TooMuchWork, WorkBudget } from "../../kit/parser/index.js";
import { runInlineCode } from "./inline-code.js";
import { Environment } from "./shell/environment.js";
import { plain } from "./shell/fields.js";
import type { Position } from "./shell/findings.js";
import type { InlineProgram, ShellCommand, ShellProgram } from "./shell/shell-program.js";
import { ShellWalk } from "./shell/walk.js";
import type { Call } from "./shell/walker.js";

export type CodeLanguage = "python" | "javascript" | "typescript" | "bash";

/** Work for one text, in all of the texts and programs that it holds. */
const MAX_TEXT_WORK = 4_000_000;
/** The same for a program: others run between its parser's work and ours. */
const MAX_CODE_WORK = 12_000_000;

/** Everything a shell text would run, as far as can be known before it runs. Never rejects. */
export async function findCommands(text: string): Promise<ShellProgram> {
  return look(text, MAX_ANALYZED_SHELL_CHARACTERS, MAX_TEXT_WORK, walkAll);
}

/** The same as a part of other work. Rejects with TooMuchWork, and with nothing else. */
export async function findCommandsWithin(work: WorkBudget, text: string): Promise<ShellProgram> {
  if (text.length > MAX_ANALYZED_SHELL_CHARACTERS) return tooLong(MAX_ANALYZED_SHELL_CHARACTERS);
  return work
    .within(MAX_TEXT_WORK, (part) => lookInto(text, part, walkAll))
    .catch((error) => {
      if (error instanceof TooMuchWork) throw error;
      return unread(NOT_LOOKED_INTO);
    });
}

function walkAll(walk: ShellWalk, clean: string): void {
  walk.start(clean, firstCall(0));
}

/** The same for a command that is already split into words and that no shell reads. */
export async function findCommandsOfArgv(argv: readonly string[]): Promise<ShellProgram> {
  return look(argv.join(" "), MAX_ANALYZED_CODE_CHARACTERS, MAX_TEXT_WORK, (walk) =>
    walk.runFields(firstCall(1), argv.map(plain), {}),
  );
}

/** Everything that the constant shell-outs of a program would run. Never rejects. */
export async function findCommandsOfCode(code: string, language: CodeLanguage): Promise<ShellProgram> {
  if (language === "bash") return findCommands(code);
  return look(code, MAX_ANALYZED_CODE_CHARACTERS, MAX_CODE_WORK, (walk, clean) =>
    walk.code.push({ language, code: clean, call: firstCall(1), whole: true }),
  );
}

async function look(
  text: string,
  longest: number,
  mostWork: number,
  start: (walk: ShellWalk, clean: string) => void,
): Promise<ShellProgram> {
  if (text.length > longest) return tooLong(longest);
  try {
    return await lookInto(text, new WorkBudget(mostWork), start);
  } catch (error) {
    if (error instanceof TooMuchWork) return unread(error.message);
    return unread(NOT_LOOKED_INTO);
  }
}

async function lookInto(
  text: string,
  work: WorkBudget,
  start: (walk: ShellWalk, clean: string) => void,
): Promise<ShellProgram> {
  const positionOf = positionsOf(text);
  const walk = new ShellWalk(positionOf, work);
  const programs: InlineProgram[] = [];
  // Shells leave NUL bytes out, so what they split is looked at in one piece.
  if (text.includes("\0")) walk.problem(text.indexOf("\0"), "a NUL byte");
  start(walk, text.replaceAll("\0", ""));
  for (let next = walk.code.shift(); next !== undefined; next = walk.code.shift()) {
    await work.pause();
    const language = next.language === "typescript" ? "javascript" : next.language;
    if (!next.whole && next.call.byProgram !== true && (language === "python" || language === "javascript"))
      programs.push({ language, code: next.code, ...positionOf(next.call.place) });
    await runInlineCode(walk, next.language, next.code, next.call, next.whole);
    walk.finish();
  }
  return {
    commands: inOrder(walk.commands),
    problems: walk.problems,
    bombs: walk.bombs,
    ...(programs.length > 0 && { programs }),
  };
}

/** A parser whose stack or string grew too large has not read the text. */
const NOT_LOOKED_INTO = "cannot be looked into";

function tooLong(longest: number): ShellProgram {
  return unread(`longer than ${longest / 1024} KiB, which is not looked into`);
}

function unread(what: string): ShellProgram {
  return { commands: [], problems: [{ line: 1, column: 1, what }], bombs: [] };
}

function firstCall(depth: number): Call {
  return {
    environment: new Environment(),
    via: [],
    stdin: { kind: "inherited" },
    redirects: [],
    reads: [],
    depth,
    fields: [],
    place: 0,
    assignments: [],
    made: [],
    inShell: false,
  };
}

function inOrder(commands: readonly ShellCommand[]): readonly ShellCommand[] {
  return [...commands].sort((a, b) => a.line - b.line || a.column - b.column);
}

/** Finds the line of an offset by bisection. */
function positionsOf(text: string): Position {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (place) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle]! <= place) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: place - starts[low]! + 1 };
  };
}

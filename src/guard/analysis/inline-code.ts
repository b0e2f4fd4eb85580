import type { WorkBudget } from "../../kit/parser/index.js";
import type { ProcessStart, ProcessStarts } from "./program/process-start.js";
import { readProgram } from "./program/read-program.js";
import { findAwkStarts } from "./scanned/awk.js";
import { findScriptStarts } from "./scanned/scripts.js";
import { findSedStarts } from "./scanned/sed.js";
import { Environment } from "./shell/environment.js";
import { isKnown, plain, UNKNOWN } from "./shell/fields.js";
import type { ShellWalk } from "./shell/walk.js";
import type { Call, InlineLanguage, Stdin } from "./shell/walker.js";

const MAX_DEPTH = 12;

/** Walks what a program in another language runs. A program that was given first has its own places. */
export async function runInlineCode(
  walk: ShellWalk,
  language: InlineLanguage,
  code: string,
  call: Call,
  whole = false,
): Promise<void> {
  if (call.depth > MAX_DEPTH) {
    walk.problem(call.place, `code is nested deeper than ${MAX_DEPTH} levels`);
    return;
  }
  const { found, problem, written = [], loads = [] } = await findStarts(language, code, walk.work);
  // A program with unknown places has counted as unknown already.
  if (problem !== undefined && isKnown(code)) {
    const place = whole ? problem.at : call.place;
    walk.problem(place, whole ? problem.what : `in ${call.via.join(", ")}: ${problem.what}`);
  }
  for (const { path, text, copyOf, appends } of written)
    if (copyOf === undefined) walk.files.write(path, text, appends);
    else walk.files.copy(copyOf, path);
  for (const path of loads) walk.runFile(call, path, language);
  for (const each of found) runStart(walk, language, each, whole ? { ...call, place: each.at } : call);
}

const UNSEEN: Stdin = { kind: "content", via: "pipe", content: { text: undefined, from: [] } };

function runStart(walk: ShellWalk, language: InlineLanguage, found: ProcessStart, outer: Call): void {
  const call: Call = { ...outer, byProgram: true, ...(found.reads === true && { stdin: UNSEEN }) };
  switch (found.kind) {
    case "text":
      if (found.text === undefined) walk.emitUnknown(call, found.via);
      else walk.runText({ ...call, posix: true }, found.text, new Environment(), found.via);
      break;
    case "argv": {
      const fields = found.argv.map((word) => plain(word ?? UNKNOWN));
      if (fields.length === 0) walk.emitUnknown(call, found.via);
      else walk.runFields(call, fields, {}, found.via);
      break;
    }
    case "code":
      if (found.code === undefined) walk.emitUnknown(call, found.via);
      else walk.runCode(call, language, found.code, found.via);
      break;
  }
}

async function findStarts(language: InlineLanguage, code: string, work: WorkBudget): Promise<ProcessStarts> {
  switch (language) {
    case "python":
    case "javascript":
    case "typescript":
      return startsOfProgram(language, code, work);
    case "awk":
      work.spend(scanning(code));
      return findAwkStarts(code, work);
    case "sed":
      work.spend(scanning(code));
      return findSedStarts(code);
    default:
      work.spend(scanning(code));
      return findScriptStarts(language, code);
  }
}

/** A scan looks for the end of everything that begins, so it may take the square of the length. */
function scanning({ length }: string): number {
  return 300 + 10 * length + (length * length) / 32;
}

async function startsOfProgram(
  language: "python" | "javascript" | "typescript",
  code: string,
  work: WorkBudget,
): Promise<ProcessStarts> {
  const { starts, errorAt, incomplete, imports, calls, written } = await readProgram(language, code, work);
  const texts = calls.flatMap(({ known, args }) =>
    /^dynamic-/.test(known.rule) ? args.flatMap((arg) => arg.texts) : [],
  );
  const loads = [...imports.flatMap(({ module }) => filesOf(module, language)), ...texts];
  const parts = { found: starts, written, loads };
  if (errorAt !== undefined)
    return { ...parts, problem: { at: errorAt, what: `${language} that does not parse` } };
  return {
    ...parts,
    problem: incomplete && { at: 0, what: `${language} that is ${incomplete.replace("-", " ")}` },
  };
}

/** The files that an import may mean. */
function filesOf(module: string, language: string): string[] {
  if (language === "python") return [`${module.replaceAll(".", "/")}.py`, `${module.split(".")[0]}.py`];
  return /^[./]/.test(module) ? ["", ".js", ".mjs", ".cjs", ".ts"].map((end) => module + end) : [];
}

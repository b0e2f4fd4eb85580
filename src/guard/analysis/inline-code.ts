import type { WorkBudget } from "../../kit/parser/index.js";
import { loadGrammar } from "../../kit/parser/index.js";
import { findJavaScriptShellOuts } from "./code/javascript.js";
import { findPythonShellOuts } from "./code/python.js";
import { findAwkShellOuts } from "./scanned/awk.js";
import { findScriptShellOuts } from "./scanned/scripts.js";
import { findSedShellOuts } from "./scanned/sed.js";
import { Environment } from "./shell/environment.js";
import { isKnown, plain, UNKNOWN } from "./shell/fields.js";
import type { ShellWalk } from "./shell/walk.js";
import type { Call, InlineLanguage, Stdin } from "./shell/walker.js";
import type { ShellOut, ShellOuts } from "./shell-out.js";

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
  const { found, problem } = await findShellOuts(language, code, walk.work);
  // A program with unknown places has counted as unknown already.
  if (problem !== undefined && isKnown(code)) {
    const place = whole ? problem.at : call.place;
    walk.problem(place, whole ? problem.what : `in ${call.via.join(", ")}: ${problem.what}`);
  }
  for (const each of found) runShellOut(walk, language, each, whole ? { ...call, place: each.at } : call);
}

const UNSEEN: Stdin = { kind: "content", via: "pipe", content: { text: undefined, from: [] } };

function runShellOut(walk: ShellWalk, language: InlineLanguage, found: ShellOut, outer: Call): void {
  const call: Call = found.reads === true ? { ...outer, stdin: UNSEEN } : outer;
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

async function findShellOuts(language: InlineLanguage, code: string, work: WorkBudget): Promise<ShellOuts> {
  switch (language) {
    case "python":
      return withTree("python", code, findPythonShellOuts, work);
    case "javascript":
    case "typescript":
      return withTree(language, code, findJavaScriptShellOuts, work);
    case "awk":
      work.spend(scanning(code));
      return findAwkShellOuts(code, work);
    case "sed":
      work.spend(scanning(code));
      return findSedShellOuts(code);
    default:
      work.spend(scanning(code));
      return findScriptShellOuts(language, code);
  }
}

/** A scan looks for the end of everything that begins, so it may take the square of the length. */
function scanning({ length }: string): number {
  return 300 + 10 * length + (length * length) / 32;
}

type Root = ReturnType<Awaited<ReturnType<typeof loadGrammar>>["parse"]>["rootNode"];

async function withTree(
  language: "python" | "javascript" | "typescript",
  code: string,
  find: (root: Root, work: WorkBudget) => readonly ShellOut[],
  work: WorkBudget,
): Promise<ShellOuts> {
  const grammar = await loadGrammar(language);
  const tree = grammar.parse(code, work);
  try {
    await work.pause();
    const found = work.during(grammar.meter, () => find(tree.rootNode, work));
    const wrong = tree.rootNode.hasError ? firstError(tree.rootNode) : undefined;
    return {
      found,
      problem: wrong === undefined ? undefined : { at: wrong, what: `${language} that does not parse` },
    };
  } finally {
    tree.delete();
  }
}

/** The place of the first mistake. */
function firstError(root: Root): number {
  let node = root;
  for (;;) {
    const next = node.children.find((child) => child?.hasError === true || child?.isMissing === true);
    if (next === undefined || next === null || next.isError) return next?.startIndex ?? node.startIndex;
    node = next;
  }
}

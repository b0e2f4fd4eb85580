import { type Grammar, loadGrammar, type WorkBudget } from "../../../kit/parser/index.js";
import type { ProgramFacts } from "./facts.js";
import { flatten } from "./flat-tree.js";
import { readJavaScript } from "./javascript/read.js";
import { readPython } from "./python/read.js";

const NODE_WORK = 60;

/** Parses a program and collects its facts. Rejects with TooMuchWork, and with nothing else. */
export async function readProgram(
  language: Exclude<Grammar, "bash">,
  code: string,
  work: WorkBudget,
): Promise<ProgramFacts> {
  const text = withPlainLines(code);
  const tree = (await loadGrammar(language)).parse(text, work);
  try {
    await work.pause();
    const flat = flatten(tree, text);
    work.spend(NODE_WORK * flat.size);
    await work.pause();
    return language === "python" ? readPython(flat, work) : readJavaScript(flat, work);
  } finally {
    tree.delete();
  }
}

/** Interpreters end a line, and so a comment, where the parser does not: the text after it would be overlooked. */
function withPlainLines(text: string): string {
  return text.replace(/\r(?!\n)|[\u2028\u2029]/g, "\n");
}

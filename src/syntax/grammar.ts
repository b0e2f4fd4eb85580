import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Parser, Tree } from "@vscode/tree-sitter-wasm";
import { SandboxError } from "../errors.js";

export const GRAMMARS = ["python", "javascript", "typescript", "tsx", "bash"] as const;
export type Grammar = (typeof GRAMMARS)[number];

/** Parses one language. The caller deletes the tree: it lives outside of JavaScript's memory. */
export interface Grammarian {
  parse(text: string): Tree;
}

type Library = typeof import("@vscode/tree-sitter-wasm");

const require = createRequire(import.meta.url);
const loaded = new Map<Grammar, Promise<Grammarian>>();
let library: Promise<Library> | undefined;

/** The parser of a language; loaded once, when it is first needed. */
export function loadGrammar(name: Grammar): Promise<Grammarian> {
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const loading = load(name);
  loaded.set(name, loading);
  // A failure is not remembered.
  loading.catch(() => loaded.delete(name));
  return loading;
}

async function load(name: Grammar): Promise<Grammarian> {
  library ??= start();
  const { Parser, Language } = await library;
  const bytes = await readFile(join(grammarDirectory(), `tree-sitter-${name}.wasm`));
  const parser: Parser = new Parser();
  parser.setLanguage(await Language.load(bytes));
  return {
    parse(text) {
      const tree = parser.parse(text);
      if (tree === null) throw new SandboxError("INTERNAL", `The ${name} parser gave up`);
      return tree;
    },
  };
}

async function start(): Promise<Library> {
  // CommonJS: the command's bundle requires it, and so does everybody else.
  const module = require("@vscode/tree-sitter-wasm") as Library;
  await module.Parser.init();
  return module;
}

function grammarDirectory(): string {
  return dirname(require.resolve("@vscode/tree-sitter-wasm"));
}

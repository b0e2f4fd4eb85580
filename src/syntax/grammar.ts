import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Parser, Tree } from "@vscode/tree-sitter-wasm";
import { withMeter } from "./metering.js";
import { TooMuchWork, type Work } from "./work.js";

export const GRAMMARS = ["python", "javascript", "typescript", "tsx", "bash"] as const;
export type Grammar = (typeof GRAMMARS)[number];

/** Parses one language. The caller deletes the tree: it lives outside of JavaScript's memory. */
export interface Grammarian {
  /** Throws TooMuchWork for a text that is made to keep the parser busy. */
  parse(text: string, work: Work): Tree;
  /** The parser's own count of work, which goes up also while its trees are asked. */
  meter(): number;
}

/** What one text may cost the parser: some 4,000 ordinary lines, or a twentieth of a second of recovering from errors. */
const MAX_PARSER_WORK = 5_000_000;
/** The lexer is in another module, which is not metered: it is given the text piece by piece. */
const PIECE_LENGTH = 512;
const PIECE_WORK = 1000;

type Library = typeof import("@vscode/tree-sitter-wasm");

const require = createRequire(import.meta.url);
const loaded = new Map<Grammar, Promise<Grammarian>>();
let library: Promise<Library> | undefined;
let meter = (): number => 0;

const METER = "skerry_work";
type Receive = (instance: Instance, module: object) => void;
interface Instance {
  readonly exports: Readonly<Record<string, unknown>>;
}
/** Its types come with a browser's only. */
const { WebAssembly: wasm } = globalThis as unknown as {
  WebAssembly: {
    instantiate(binary: Uint8Array, imports: object): Promise<{ instance: Instance; module: object }>;
  };
};

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
  return { parse: (text, work) => parse(parser, text, work), meter };
}

function parse(parser: Parser, text: string, work: Work): Tree {
  const limit = Math.min(work.left, MAX_PARSER_WORK);
  const start = meter();
  let pieces = 0;
  const spent = () => ((meter() - start) >>> 0) + pieces * PIECE_WORK;
  let parsing = true;
  let over = false;
  const read = (from: number) => {
    if (!parsing) return text.slice(from);
    pieces += 1;
    over ||= spent() > limit;
    // The lexer may be going through the text again and again within one step, and stops at an end only.
    return over ? "" : text.slice(from, from + PIECE_LENGTH);
  };
  const progressCallback = () => {
    over ||= spent() > limit;
    return over;
  };
  const tree = parser.parse(read, null, { progressCallback });
  parsing = false;
  if (tree === null) parser.reset();
  else if (over) tree.delete();
  work.spend(Math.min(spent(), Math.max(0, work.left)));
  if (tree === null || over) throw new TooMuchWork();
  return tree;
}

async function start(): Promise<Library> {
  // CommonJS: the command's bundle requires it, and so does everybody else.
  const module = require("@vscode/tree-sitter-wasm") as Library;
  const binary = withMeter(await readFile(join(grammarDirectory(), "tree-sitter.wasm")), METER);
  await new Promise<void>((resolve, reject) => {
    const instantiateWasm = (imports: object, receive: Receive) => {
      wasm.instantiate(binary, imports).then(({ instance, module }) => {
        const { [METER]: counter, ...exports } = instance.exports;
        meter = () => (counter as { readonly value: number }).value;
        receive({ exports }, module);
      }, reject);
      return {};
    };
    type Options = Parameters<typeof module.Parser.init>[0];
    module.Parser.init({ instantiateWasm } as unknown as Options).then(resolve, reject);
  });
  return module;
}

function grammarDirectory(): string {
  return dirname(require.resolve("@vscode/tree-sitter-wasm"));
}

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Parser, Tree } from "@vscode/tree-sitter-wasm";
import { PACKAGE_ROOT } from "../package-root.js";
import { METERING_VERSION, withMeter } from "./metering.js";
import { TooMuchWork, type WorkBudget } from "./work-budget.js";

const GRAMMARS = ["python", "javascript", "typescript", "tsx", "bash"] as const;
export type Grammar = (typeof GRAMMARS)[number];

/** Parses one language. The caller deletes the tree: it lives outside of JavaScript's memory. */
export interface LanguageParser {
  /** Throws TooMuchWork for a text that is made to keep the parser busy. */
  parse(text: string, work: WorkBudget): Tree;
  /** The parser's own count of work, which goes up also while its trees are asked. */
  meter(): number;
}

/**
 * What one text may cost the parser, by its own count: more ordinary lines than are looked into, or a twentieth of a second of
 * recovering from errors. After a bracket that is never closed each line is recovered from: some 400 lines of Python.
 */
const MAX_COUNTED = {
  python: 12_000_000,
  bash: 8_000_000,
  javascript: 8_000_000,
  typescript: 8_000_000,
  tsx: 8_000_000,
};
/** The parser counts smaller steps than others do. */
const COUNTED_PER_UNIT = 4;
/** Between two of its questions whether to go on, the parser may go through all that is open. */
const MAX_OPEN = 1000;
/** The lexer is in another module, which is not metered: it is given the text piece by piece. */
const PIECE_LENGTH = 512;
const PIECE_COUNTED = 4000;

type Library = typeof import("@vscode/tree-sitter-wasm");

const require = createRequire(import.meta.url);
const loaded = new Map<Grammar, Promise<LanguageParser>>();
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
export function loadGrammar(name: Grammar): Promise<LanguageParser> {
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const loading = load(name);
  loaded.set(name, loading);
  // A failure is not remembered.
  loading.catch(() => loaded.delete(name));
  return loading;
}

async function load(name: Grammar): Promise<LanguageParser> {
  library ??= start();
  const { Parser, Language } = await library;
  const bytes = await readFile(join(grammarDirectory(), `tree-sitter-${name}.wasm`));
  const parser: Parser = new Parser();
  parser.setLanguage(await Language.load(bytes));
  return { parse: (text, work) => parse(parser, text, work, MAX_COUNTED[name]), meter };
}

function parse(parser: Parser, text: string, work: WorkBudget, most: number): Tree {
  if (isDeep(text)) throw new TooMuchWork();
  const limit = Math.min(work.left * COUNTED_PER_UNIT, most);
  const start = meter();
  let pieces = 0;
  const spent = () => ((meter() - start) >>> 0) + pieces * PIECE_COUNTED;
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
  work.spend(Math.min(spent() / COUNTED_PER_UNIT, Math.max(0, work.left)));
  if (tree === null || over) throw new TooMuchWork();
  return tree;
}

/** More open brackets than ordinary code has, counting those in strings and comments. */
function isDeep(text: string): boolean {
  let open = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x28 || code === 0x5b || code === 0x7b) {
      open += 1;
      if (open > MAX_OPEN) return true;
    } else if ((code === 0x29 || code === 0x5d || code === 0x7d) && open > 0) open -= 1;
  }
  return false;
}

async function start(): Promise<Library> {
  // CommonJS: the command's bundle requires it, and so does everybody else.
  const module = require("@vscode/tree-sitter-wasm") as Library;
  const binary = await meteredBinary();
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

/** The parser with its counter: as the build has left it, if it is the same parser, since adding it takes a while. */
async function meteredBinary(): Promise<Uint8Array> {
  const binary = await readFile(join(grammarDirectory(), "tree-sitter.wasm"));
  try {
    return await readFile(join(PACKAGE_ROOT, "dist/wasm", meteredName(binary)));
  } catch {
    return withMeter(binary, METER);
  }
}

/** For the build: the name and content of that file. */
export async function createMeteredBinary(): Promise<{
  readonly name: string;
  readonly content: Uint8Array;
}> {
  const binary = await readFile(join(grammarDirectory(), "tree-sitter.wasm"));
  return { name: meteredName(binary), content: withMeter(binary, METER) };
}

/** Of this parser and of this way of counting. */
function meteredName(binary: Uint8Array): string {
  const digest = createHash("sha256").update(binary).update(`metering ${METERING_VERSION}`).digest("hex");
  return `tree-sitter-${digest.slice(0, 16)}.wasm`;
}

function grammarDirectory(): string {
  return dirname(require.resolve("@vscode/tree-sitter-wasm"));
}

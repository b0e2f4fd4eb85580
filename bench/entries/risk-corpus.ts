import { join } from "node:path";
import { assess } from "skerry/policy";
import { type Grammar, type LanguageParser, loadGrammar } from "../../src/kit/parser/grammar.js";
import { WorkBudget } from "../../src/kit/parser/work-budget.js";
import { isDangerous, loadSnippets, type Snippet, scoreOf } from "../../test/risk-corpus/snippets.js";
import type { BenchContext } from "../bench-context.js";
import type { Benchmark } from "../benchmark.js";
import { interleave, median, timeMs } from "../measure.js";

const LINES = 100;
const LANGUAGES = ["python", "javascript", "typescript"] as const satisfies readonly Grammar[];
const ROUNDS = 600;
/** More than the parser does for one text, so that its own limit counts. */
const PARSER_WORK = 100_000_000;
const SMALLEST = "print(40 + 2)";

interface Program {
  readonly language: (typeof LANGUAGES)[number];
  readonly code: string;
}

export const riskCorpus: Benchmark = {
  name: "risk-corpus",
  what: `the risk of a program of ${LINES} lines, and how many of the labelled snippets are told apart`,
  baseline: "parsing it alone",
  unit: "ms",
  better: "lower",
  goal: 5,
  async measure(bench) {
    const snippets = loadSnippets(join(bench.repository, "test", "risk-corpus"));
    const programs = LANGUAGES.flatMap((language) => programsOf(snippets, language));
    const parsers = new Map<string, LanguageParser>();
    for (const language of LANGUAGES) parsers.set(language, await loadGrammar(language));
    // Each side goes through the programs in the same order.
    const inTurn = (take: (program: Program) => Promise<void>) => {
      let next = 0;
      return () => timeMs(() => take(programs[next++ % programs.length]!));
    };
    const samples = await interleave(
      bench,
      { rounds: bench.rounds(ROUNDS), warmUp: 4 * programs.length },
      inTurn(async ({ code, language }) => {
        await assess(code, language);
      }),
      inTurn(async ({ code, language }) =>
        parsers.get(language)!.parse(code, new WorkBudget(PARSER_WORK)).delete(),
      ),
    );
    const { recall, specificity, dangerous, benign } = await scoreAll(bench, snippets);
    return {
      ...samples,
      checks: [
        { what: `dangerous snippets found, of ${dangerous}`, value: recall, unit: "", atLeast: 0.95 },
        { what: `benign snippets let pass, of ${benign}`, value: specificity, unit: "", atLeast: 0.95 },
        { what: `${LINES} lines, p50`, value: median(samples.ours), unit: "ms", atMost: 5 },
        { what: `${SMALLEST}, p50`, value: await timeSmallest(bench), unit: "ms", atMost: 0.5 },
      ],
    };
  },
};

/** Benign snippets of a language one behind the other, until there are enough lines; then the next program. */
function programsOf(snippets: readonly Snippet[], language: Program["language"]): Program[] {
  const programs: Program[] = [];
  let code = "";
  for (const snippet of snippets) {
    if (snippet.language !== language || isDangerous(snippet.label)) continue;
    code += snippet.code;
    if (code.split("\n").length <= LINES) continue;
    programs.push({ language, code });
    code = "";
  }
  return programs;
}

async function scoreAll(bench: BenchContext, snippets: readonly Snippet[]) {
  const pairs: { label: string; level: string }[] = [];
  for (const { label, code, language } of snippets) {
    bench.signal.throwIfAborted();
    pairs.push({ label, level: (await assess(code, language)).level });
  }
  return scoreOf(pairs);
}

async function timeSmallest(bench: BenchContext): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < bench.rounds(ROUNDS); round++)
    times.push(await timeMs(() => assess(SMALLEST, "python")));
  return median(times);
}

import { MAX_ANALYZED_CODE_CHARACTERS } from "../../../kit/code-limits.js";
import { TooMuchWork, WorkBudget } from "../../../kit/parser/index.js";
import { readProgram } from "../program/read-program.js";
import {
  type Collector,
  createCollector,
  createPlaces,
  type Finding,
  type Match,
  type Report,
} from "../rules/findings.js";
import { findInvisibleText } from "../rules/invisible-text.js";
import type { RiskLevel } from "../rules/levels.js";
import { COMBINATIONS } from "./combinations.js";
import { judgeProgram } from "./judge-program.js";
import { readShell } from "./shell/read.js";

/** What code would reach for. Advice for a person and for routing; never the boundary. */
export interface RiskAssessment {
  readonly level: RiskLevel;
  /** Sorted by line, column and rule; the worst ones when there are too many. */
  readonly findings: readonly Finding[];
  /** The language it was read as; the caller's own word when it is not known. */
  readonly language: string;
  /** False: it could not be read, or not to its end. */
  readonly parsed: boolean;
  /** Names of all rules that matched, sorted. */
  readonly detectedPatterns: readonly string[];
}

/** Work for one text and all that it holds. */
const MAX_WORK = 16_000_000;
const NESTED_WORK = 300;
const LETTER_WORK = 30;
const MAX_NESTED = 256;
const MAX_NESTING = 5;
const MAX_NESTED_CHARACTERS = 512 * 1024;

type Language = "python" | "javascript" | "typescript" | "tsx" | "bash";

const LANGUAGES: ReadonlyMap<string, Language> = new Map([
  ...["python", "py", "python3", "ipython"].map((name) => [name, "python"] as const),
  ...["javascript", "js", "node", "nodejs", "mjs", "cjs", "jsx"].map((name) => [name, "javascript"] as const),
  ...["typescript", "ts", "mts", "cts"].map((name) => [name, "typescript"] as const),
  ["tsx", "tsx"],
  ...["bash", "sh", "shell", "zsh", "dash"].map((name) => [name, "bash"] as const),
]);

interface Task {
  readonly language: Language;
  readonly text: string;
  readonly depth: number;
  /** Where the outermost text runs it; undefined: it is that text. */
  readonly at: { readonly line: number; readonly column: number } | undefined;
}

/** Says what code would access, without running it. Never throws for any code or language. */
export async function assess(code: string, language: string): Promise<RiskAssessment> {
  const collector = createCollector();
  const known = LANGUAGES.get(language.toLowerCase());
  const obstacle = known === undefined ? UNKNOWN_LANGUAGE : obstacleOf(code);
  let parsed = obstacle === undefined;
  if (obstacle !== undefined) collector.add(obstacle, 1, 1, createPlaces(code.slice(0, 1024)).at(0).excerpt);
  // No interpreter minds a byte order mark.
  else {
    const text = code.replace(/^\ufeff/, "");
    parsed = await readAll(
      { language: known!, text, depth: 0, at: undefined },
      collector,
      new WorkBudget(MAX_WORK),
    );
  }
  combine(collector);
  return {
    level: collector.level,
    findings: collector.findings(),
    language: known === "tsx" ? "typescript" : (known ?? language),
    parsed,
    detectedPatterns: collector.rules(),
  };
}

const UNKNOWN_LANGUAGE: Match = {
  rule: "unknown-language",
  level: "medium",
  why: "There are no rules for this language.",
};

const TOO_LONG: Match = { rule: "too-long", level: "high", why: "More code than is looked into." };

function obstacleOf(code: string): Match | undefined {
  if (code.length > MAX_ANALYZED_CODE_CHARACTERS) {
    return TOO_LONG;
  }
  if (code.includes("\0")) {
    return {
      rule: "binary",
      level: "high",
      why: "Has a NUL character, so readers disagree on where it ends.",
    };
  }
  return undefined;
}

/** Reads a text and whatever it would run; resolves to whether the outermost text is a sentence of its language. */
async function readAll(outermost: Task, collector: Collector, work: WorkBudget): Promise<boolean> {
  const tasks = [outermost];
  const seen = new Set<string>();
  let parsed = true;
  let characters = 0;
  for (let index = 0; index < tasks.length; index++) {
    const task = tasks[index]!;
    const places = createPlaces(task.text);
    const add = (match: Match, offset: number) => {
      const place = places.at(offset);
      collector.add(match, task.at?.line ?? place.line, task.at?.column ?? place.column, place.excerpt);
    };
    const report: Report = {
      add,
      nest({ language, text, offset }) {
        // It was put together for this call, also if it is the same as for another one.
        work.spend(NESTED_WORK + LETTER_WORK * text.length);
        const key = `${language} ${text}`;
        if (text.trim() === "" || seen.has(key)) return;
        seen.add(key);
        characters += text.length;
        if (tasks.length > MAX_NESTED || task.depth >= MAX_NESTING || characters > MAX_NESTED_CHARACTERS) {
          add(TOO_MUCH_NESTED, offset);
          return;
        }
        const { line, column } = task.at ?? places.at(offset);
        tasks.push({ language, text, depth: task.depth + 1, at: { line, column } });
      },
    };
    try {
      await work.pause();
      const whole = await read(task, report, work);
      if (index === 0) parsed = whole;
    } catch (error) {
      if (!(error instanceof TooMuchWork)) throw error;
      add(TOO_MUCH_WORK, 0);
      if (index === 0) parsed = false;
      if (work.left <= 0) break;
    }
  }
  return parsed;
}

const TOO_MUCH_NESTED: Match = {
  rule: "too-complex",
  level: "high",
  why: "Runs more texts inside of texts than are looked into.",
};

const TOO_MUCH_WORK: Match = {
  rule: "too-complex",
  level: "high",
  why: "Takes more work to read than is done for one text.",
};

const UNPARSABLE: Match = {
  rule: "unparsable",
  level: "medium",
  why: "Is not understood as this language, so something may be overlooked.",
};

async function read(task: Task, report: Report, work: WorkBudget): Promise<boolean> {
  if (BIDI.test(task.text)) report.add(DISORDERED, task.text.search(BIDI));
  for (const { match, offset } of findInvisibleText(task.text)) report.add(match, offset);
  if (task.language === "bash") return readShell(task.text, report, work);
  if (task.language === "python") readCodingCookie(task.text, report);
  const facts = await readProgram(task.language, task.text, work);
  await work.pause();
  if (facts.incomplete === "too-long") report.add(TOO_LONG, 0);
  if (facts.errorAt !== undefined && task.depth === 0) report.add(UNPARSABLE, facts.errorAt);
  judgeProgram(facts, report);
  return facts.errorAt === undefined && facts.incomplete !== "too-long";
}

const BIDI = /[\u202a-\u202e\u2066-\u2069]/;
const DISORDERED: Match = {
  rule: "disordered-text",
  level: "high",
  why: "Has characters that show the code in another order than it runs.",
};

/** Python decodes a file by the encoding that its first lines name; the code is then not what is written there. */
function readCodingCookie(text: string, report: Report): void {
  const start = text.slice(0, 1024).split(/\r\n?|\n/, 2);
  for (const line of start) {
    const name = /^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)/.exec(line)?.[1];
    if (
      name !== undefined &&
      !/^(?:utf-?8|ascii|us-ascii|latin-?1|iso-8859-\d+|cp125\d|windows-125\d)/i.test(
        name.replaceAll("_", "-"),
      )
    ) {
      report.add(
        { rule: "source-encoding", level: "high", why: "Is decoded in a way that changes the code." },
        0,
      );
    }
  }
}

function combine(collector: Collector): void {
  const rules = new Set(collector.rules());
  for (const combination of COMBINATIONS) {
    const parts = combination.all.map((names) => names.find((name) => rules.has(name)));
    if (parts.includes(undefined)) continue;
    const place = collector
      .findings()
      .findLast(({ rule }) => combination.all.some((names) => names.includes(rule)));
    if (place !== undefined) collector.add(combination, place.line, place.column, place.excerpt);
  }
}

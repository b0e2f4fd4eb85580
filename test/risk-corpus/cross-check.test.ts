import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { assess } from "../../src/guard/analysis/index.js";
import { readProgram } from "../../src/guard/analysis/program/read-program.js";
import { PolicyEngine, parsePolicy } from "../../src/guard/policy/index.js";
import { WorkBudget } from "../../src/kit/parser/index.js";
import { humanEvalTasks } from "../setup/human-eval.js";
import { testSeed } from "../setup/test-seed.js";
import { loadSnippets } from "./snippets.js";
import { generateSpellings, ONCE_OVERLOOKED } from "./spellings.js";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const ROOT = join(HERE, "../..");

function engine(rules: string): PolicyEngine {
  return new PolicyEngine(parsePolicy(`policies:\n  tools:\n    run_code: ${rules}\n`, "policy.yaml"));
}

const allowsNothing = engine("{allowed_commands: []}");

interface Program {
  readonly from: string;
  readonly language: string;
  readonly code: string;
}

async function verdictOf(policy: PolicyEngine, { code, language }: Pick<Program, "code" | "language">) {
  return (await policy.decide({ tool: "run_code", code, language })).verdict;
}

/** Every name that risk has for a process that is started, and for a command or a text that a shell runs. */
const STARTS =
  /^(?:process|interactive-shell|program|script|unknown-command|hidden-(?:command|program)|reverse-shell|remote-command)$/;

/** Those of them that a finding has in the line of a command; the others may stand in the line of a connection. */
const AT_COMMAND = /^(?:program|script|interactive-shell|unknown-command|hidden-program)$/;

/** Risk says that it starts a process. */
async function startsProcess({ code, language }: Pick<Program, "code" | "language">): Promise<boolean> {
  const { detectedPatterns } = await assess(code, language);
  return detectedPatterns.some((rule) => STARTS.test(rule));
}

/** The line of each single start that risk reads; what a text runs that is code is among the others. */
async function linesOfStarts({ code, language }: Pick<Program, "code" | "language">): Promise<number[]> {
  if (language === "bash") {
    const { findings } = await assess(code, language);
    return findings.filter(({ rule }) => AT_COMMAND.test(rule)).map(({ line }) => line);
  }
  const known = language === "python" || language === "typescript" ? language : "javascript";
  const { starts } = await readProgram(known, code, new WorkBudget(100_000_000));
  return starts
    .filter((start) => start.kind !== "code" || start.code === undefined)
    .map(({ at }) => code.slice(0, at).split("\n").length);
}

/** The lines in which something starts that a policy does not deny there. */
async function slippedLines(policy: PolicyEngine, program: Pick<Program, "code" | "language">) {
  const { considered } = await policy.decide({ tool: "run_code", ...program });
  const denied = considered.filter(({ verdict }) => verdict === "deny").map(({ why }) => why);
  const lines = new Set(denied.map((why) => Number(/\bline (\d+)/.exec(why)?.[1])));
  return (await linesOfStarts(program)).filter((line) => !lines.has(line));
}

function corpora(): Program[] {
  const programs: Program[] = loadSnippets(HERE).map(({ file, title, language, code }) => ({
    from: `${file}: ${title}`,
    language,
    code,
  }));
  const folder = join(ROOT, "test/corpus/programs");
  for (const language of readdirSync(folder))
    for (const name of readdirSync(join(folder, language), { recursive: true, encoding: "utf8" }))
      if (/\.(?:py|js|mjs|cjs|ts)$/.test(name))
        programs.push({ from: name, language, code: readFileSync(join(folder, language, name), "utf8") });
  for (const { task_id, prompt, canonical_solution, test } of humanEvalTasks())
    programs.push({ from: task_id, language: "python", code: `${prompt}${canonical_solution}\n${test}` });
  // The attacks keep their programs in template strings, in Python, JavaScript and shell.
  const attacks = join(ROOT, "test/attacks");
  for (const name of readdirSync(attacks).filter((each) => each.endsWith(".ts")))
    for (const [, code] of readFileSync(join(attacks, name), "utf8").matchAll(/`((?:[^`\\]|\\[\s\S])*)`/g))
      for (const language of ["python", "javascript", "bash"])
        programs.push({ from: name, language, code: code! });
  const { "run curl": tricks } = JSON.parse(
    readFileSync(join(ROOT, "src/guard/analysis/testdata/tricks.json"), "utf8"),
  ) as { "run curl": Record<string, string[]> };
  for (const code of Object.values(tricks).flat()) programs.push({ from: "tricks", language: "bash", code });
  return programs;
}

describe("what risk calls a started process, a policy without allowed commands denies", () => {
  it("in every corpus of the repository", async () => {
    const programs = corpora();
    expect(programs.length).toBeGreaterThan(1000);
    const slipped: string[] = [];
    let started = 0;
    for (const program of programs) {
      if (!(await startsProcess(program))) continue;
      started += 1;
      if ((await verdictOf(allowsNothing, program)) !== "deny")
        slipped.push(`${program.from}\n${program.code}`);
    }
    expect(started).toBeGreaterThan(800);
    expect(slipped).toEqual([]);
  });

  it("start by start: each is denied in its own line, in every corpus and in 10,000 spellings", async () => {
    const slipped: string[] = [];
    let starts = 0;
    for (const { from, code, language } of [
      ...corpora().filter((program) => program.from !== "tricks"),
      ...generateSpellings(10_000, testSeed).map((one) => ({ ...one, from: "spelling" })),
    ]) {
      const lines = await slippedLines(allowsNothing, { code, language });
      starts += (await linesOfStarts({ code, language })).length;
      if (lines.length > 0) slipped.push(`${from}, lines ${lines}\n${code}`);
    }
    expect(starts).toBeGreaterThan(10_000);
    expect(slipped).toEqual([]);
  });

  it("in 10,000 generated spellings, whether it allows no command or denies this one by its name", async () => {
    const policy = engine("{allowed_commands: [], denied_commands: [curl, wget, id, nc]}");
    const slipped: string[] = [];
    for (const { language, code } of [...ONCE_OVERLOOKED, ...generateSpellings(10_000, testSeed)]) {
      const { considered } = await policy.decide({ tool: "run_code", code, language });
      const denied = considered.filter(({ verdict }) => verdict === "deny");
      const byName = denied.some(
        ({ rule, why }) => rule.path.includes("denied_commands") || /only known when it runs/.test(why),
      );
      if (!byName || !denied.some(({ rule }) => rule.path.includes("allowed_commands"))) slipped.push(code);
    }
    expect(slipped).toEqual([]);
  });

  it("and risk sees the process in each of them", async () => {
    const unseen: string[] = [];
    for (const spelling of generateSpellings(1000, testSeed))
      if (!(await startsProcess(spelling))) unseen.push(spelling.code);
    expect(unseen).toEqual([]);
  });
});

describe("what an attacker once ran past a policy that denies curl", () => {
  const policy = engine("{denied_commands: [curl]}");
  const overlooked = loadSnippets(join(HERE, "overlooked"));

  it("is denied, but for what stands in open.md", async () => {
    const wrong: string[] = [];
    expect(overlooked.length).toBeGreaterThan(200);
    for (const { file, title, language, code } of overlooked) {
      const denied = (await verdictOf(policy, { language, code })) === "deny";
      if (denied !== (file === "denied.md")) wrong.push(`${file}: ${title}`);
    }
    expect(wrong).toEqual([]);
  });
});

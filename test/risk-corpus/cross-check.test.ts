import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { assess } from "../../src/guard/analysis/index.js";
import { PolicyEngine, parsePolicy } from "../../src/guard/policy/index.js";
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

/** Risk says that it starts a process. */
async function startsProcess({ code, language }: Pick<Program, "code" | "language">): Promise<boolean> {
  const { detectedPatterns } = await assess(code, language);
  return detectedPatterns.some((rule) => STARTS.test(rule));
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
    expect(started).toBeGreaterThan(50);
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

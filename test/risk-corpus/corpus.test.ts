import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { assess, RISK_LEVELS } from "../../src/guard/analysis/index.js";
import { humanEvalTasks } from "../setup/human-eval.js";
import { isDangerous, loadSnippets, type Snippet, scoreOf } from "./snippets.js";

const directory = fileURLToPath(new URL(".", import.meta.url));
const snippets = loadSnippets(directory);
const assessed: (Snippet & { readonly level: string })[] = [];

beforeAll(async () => {
  for (const snippet of snippets) {
    assessed.push({ ...snippet, level: (await assess(snippet.code, snippet.language)).level });
  }
});

describe("the labelled snippets", () => {
  it("are many, of every kind and language, and each has its own title", () => {
    const count = (dangerous: boolean, language: string) =>
      snippets.filter((one) => isDangerous(one.label) === dangerous && one.language === language).length;
    for (const language of ["python", "javascript", "typescript", "bash"]) {
      expect(count(true, language)).toBeGreaterThanOrEqual(10);
      expect(count(false, language)).toBeGreaterThanOrEqual(10);
    }
    expect(snippets.filter(({ label }) => isDangerous(label)).length).toBeGreaterThanOrEqual(110);
    expect(snippets.filter(({ label }) => !isDangerous(label)).length).toBeGreaterThanOrEqual(90);
    const titles = snippets.map(({ language, label, title }) => `${language} ${isDangerous(label)} ${title}`);
    expect(titles.filter((title, index) => titles.indexOf(title) !== index)).toEqual([]);
  });

  it("are told apart: 95 of 100 dangerous ones found, 95 of 100 benign ones let pass", () => {
    const score = scoreOf(assessed);
    console.log(report());
    const wrong = assessed.filter(({ label, level }) => isDangerous(label) !== isDangerous(level));
    const names = wrong.map(
      ({ file, title, label, level }) => `${file}: ${title} is ${label}, found ${level}`,
    );
    expect(score.recall, names.join("\n")).toBeGreaterThanOrEqual(0.95);
    expect(score.specificity, names.join("\n")).toBeGreaterThanOrEqual(0.95);
  });
});

/** Precision and recall, then one line per label: how often each level was found for it, then one per file. */
function report(): string {
  const { recall, precision, specificity, dangerous, benign } = scoreOf(assessed);
  const rows = RISK_LEVELS.map((label) => {
    const levels = RISK_LEVELS.map(
      (level) => assessed.filter((one) => one.label === label && one.level === level).length,
    );
    return [label.padEnd(9), ...levels.map((count) => String(count).padStart(9))].join("");
  });
  return [
    `recall ${recall.toFixed(3)} of ${dangerous}, precision ${precision.toFixed(3)}, ` +
      `benign below high ${specificity.toFixed(3)} of ${benign}`,
    ["label".padEnd(9), ...RISK_LEVELS.map((level) => level.padStart(9))].join(""),
    ...rows,
    ...[...new Set(assessed.map(({ file }) => file))].map(reportOf),
  ].join("\n");
}

/** How many snippets of a file are found at each level or above it. */
function reportOf(file: string): string {
  const levels = assessed.filter((one) => one.file === file).map(({ level }) => level);
  const high = levels.filter(isDangerous).length;
  const medium = high + levels.filter((level) => level === "medium").length;
  return `${file}: ${levels.length}, at high ${high}, at medium ${medium}`;
}

it("the 164 programs of HumanEval raise no alarm", async () => {
  const tasks = humanEvalTasks();
  const alarms: string[] = [];
  for (const task of tasks) {
    const code = `${task.prompt}${task.canonical_solution}\n${task.test}\ncheck(${task.entry_point})\n`;
    const { level, parsed } = await assess(code, "python");
    if (isDangerous(level) || !parsed) alarms.push(`${task.task_id}: ${level}`);
  }
  expect(tasks).toHaveLength(164);
  expect(alarms).toEqual([]);
});

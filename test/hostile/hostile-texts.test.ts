import { describe, expect, it } from "vitest";
import {
  assess,
  findCommands,
  findCommandsOfArgv,
  findCommandsOfCode,
} from "../../src/guard/analysis/index.js";
import { MAX_ANALYZED_CODE_CHARACTERS, MAX_ANALYZED_SHELL_CHARACTERS } from "../../src/kit/code-limits.js";
import { ARGV } from "./families/argv.js";
import { JAVASCRIPT } from "./families/javascript.js";
import { PYTHON } from "./families/python.js";
import { SHELL } from "./families/shell.js";

/** Far above what is measured; without limits these take ten seconds and more. */
const GENEROUS_MS = 5000;
const TOO_MUCH = "takes more work than is done for one text";

type Run = (text: string) => Promise<unknown>;

/** Each family goes through one of the functions: all through all takes minutes. */
function inTurn(runs: readonly Run[], turn: number): Run {
  return runs[turn % runs.length]!;
}

/** Of the processor: other work on the machine does not count. */
function spentMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Families that take longer than they may, by name. */
async function slowOf<T>(
  families: Readonly<Record<string, T>>,
  run: (family: T, turn: number) => Promise<unknown>,
): Promise<readonly string[]> {
  const slow: string[] = [];
  for (const [turn, [name, family]] of Object.entries(families).entries()) {
    const start = spentMs();
    await run(family, turn);
    const took = spentMs() - start;
    if (took > GENEROUS_MS) slow.push(`${name}: ${Math.round(took)} ms`);
  }
  return slow;
}

describe("no family of hostile texts blocks others", () => {
  it("of a shell", async () => {
    const runs: Run[] = [
      (text) => findCommands(text),
      (text) => assess(text.slice(0, MAX_ANALYZED_SHELL_CHARACTERS - 20), "bash"),
    ];
    expect(
      await slowOf(SHELL, (make, turn) => inTurn(runs, turn)(make(MAX_ANALYZED_SHELL_CHARACTERS))),
    ).toEqual([]);
  });

  it("of words", async () => {
    expect(
      await slowOf(ARGV, (make) => findCommandsOfArgv(make(MAX_ANALYZED_CODE_CHARACTERS - 100))),
    ).toEqual([]);
  });

  it("of python", async () => {
    const runs: Run[] = [(text) => findCommandsOfCode(text, "python"), (text) => assess(text, "python")];
    expect(
      await slowOf(PYTHON, (make, turn) => inTurn(runs, turn)(make(MAX_ANALYZED_CODE_CHARACTERS))),
    ).toEqual([]);
  });

  it("of javascript", async () => {
    const runs: Run[] = [
      (text) => findCommandsOfCode(text, "javascript"),
      (text) => assess(text, "typescript"),
      (text) => findCommandsOfCode(text, "typescript"),
      (text) => assess(text, "javascript"),
    ];
    expect(
      await slowOf(JAVASCRIPT, (make, turn) => inTurn(runs, turn)(make(MAX_ANALYZED_CODE_CHARACTERS))),
    ).toEqual([]);
  });
});

it.each(['broken "."', 'broken "}{"', 'broken "\\\\\\n"', 'broken "def a("', 'broken "a?"'])(
  "python that keeps the parser busy is given up after so much work: %s",
  async (name) => {
    const program = await findCommandsOfCode(PYTHON[name]!(MAX_ANALYZED_CODE_CHARACTERS), "python");
    expect(program).toEqual({ commands: [], problems: [{ line: 1, column: 1, what: TOO_MUCH }], bombs: [] });
    const risk = await assess(PYTHON[name]!(MAX_ANALYZED_CODE_CHARACTERS), "python");
    expect(risk).toMatchObject({ level: "high", parsed: false, detectedPatterns: ["too-complex"] });
  },
);

it.each(['broken "a{"', 'broken "(a="', "arrow or parenthesis, deep"])(
  "javascript that keeps the parser busy is given up after so much work: %s",
  async (name) => {
    const program = await findCommandsOfCode(JAVASCRIPT[name]!(MAX_ANALYZED_CODE_CHARACTERS), "javascript");
    expect(program.problems).toEqual([{ line: 1, column: 1, what: TOO_MUCH }]);
    const risk = await assess(JAVASCRIPT[name]!(MAX_ANALYZED_CODE_CHARACTERS), "typescript");
    expect(risk).toMatchObject({ level: "high", parsed: false, detectedPatterns: ["too-complex"] });
  },
);

it.each([
  "case of many",
  "nested for within the limit",
  "pipeline into sh",
  "for for over much",
  "doubling words, one command",
  "brace sequences",
])("a shell text that keeps the walk busy is given up after so much work: %s", async (name) => {
  const program = await findCommands(SHELL[name]!(MAX_ANALYZED_SHELL_CHARACTERS));
  expect(program).toEqual({ commands: [], problems: [{ line: 1, column: 1, what: TOO_MUCH }], bombs: [] });
  const risk = await assess(SHELL[name]!(MAX_ANALYZED_SHELL_CHARACTERS - 20), "bash");
  expect(risk).toMatchObject({ level: "high", parsed: false });
  expect(risk.detectedPatterns).toContain("too-complex");
});

it.each(["python", "javascript"])(
  "texts inside of %s have one budget together, not one each",
  async (language) => {
    // Each takes about as much as one text may, in two hundred letters.
    const shell = (i: number) => `a='a;'\n${'a="$a$a"\n'.repeat(12)}sh -c "$a"\nsh -c "$a;$a"\n: ${i}`;
    const call = language === "python" ? "os.system" : "require('child_process').exec";
    const runs = Array.from({ length: 250 }, (_, i) => `${call}(${JSON.stringify(shell(i))})\n`).join("");
    const start = spentMs();
    const risk = await assess(language === "python" ? `import os\n${runs}` : runs, language);
    expect(spentMs() - start).toBeLessThan(GENEROUS_MS);
    expect(risk.level).toBe("high");
    expect(risk.detectedPatterns).toContain("too-complex");
  },
);

it("long lists of words that a program runs again and again count each time", async () => {
  const start = spentMs();
  const risk = await assess(PYTHON["doubling words"]!(MAX_ANALYZED_CODE_CHARACTERS), "python");
  expect(spentMs() - start).toBeLessThan(GENEROUS_MS);
  expect(risk).toMatchObject({ level: "high", parsed: false });
});

function ordinaryLines(count: number): string {
  const four = (i: number) => `def f${i}(a, b=1):\n    """Adds."""\n    return [a + b for _ in range(3)]\n\n`;
  return Array.from({ length: count / 4 }, (_, i) => four(i)).join("");
}

it("two thousand ordinary lines are read to their end", async () => {
  const text = `${ordinaryLines(2000)}import os\nos.system("rm -rf /")\n`;
  const risk = await assess(text, "python");
  expect(risk).toMatchObject({ level: "critical", parsed: true });
  const { commands, problems } = await findCommandsOfCode(text, "python");
  expect(problems).toEqual([]);
  expect(commands.map(({ name }) => name)).toEqual(["rm"]);
});

it("three hundred lines behind a bracket that is never closed are read all the same", async () => {
  const text = `import os\nx = (1, 2\n${ordinaryLines(300)}os.system("rm -rf /")\n`;
  const risk = await assess(text, "python");
  expect(risk).toMatchObject({ level: "critical", parsed: false });
  expect(risk.detectedPatterns).toEqual(["process", "system-module", "unparsable", "whole-tree"]);
});

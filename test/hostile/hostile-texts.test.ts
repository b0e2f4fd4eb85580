import { expect, it } from "vitest";
import { assess, MAX_CODE_LENGTH as MAX_RISK_LENGTH } from "../../src/risk/index.js";
import {
  findCommands,
  findCommandsOfCode,
  MAX_CODE_LENGTH,
  MAX_TEXT_LENGTH,
} from "../../src/syntax/index.js";
import { JAVASCRIPT, PYTHON, SHELL } from "./families.js";

/** Far above what is measured, so that a busy machine does not matter; without limits these take ten seconds and more. */
const GENEROUS_MS = 5000;
const TOO_MUCH = "takes more work than is done for one text";

async function within<T>(run: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await run();
  expect(performance.now() - start).toBeLessThan(GENEROUS_MS);
  return result;
}

it.each(['broken "."', 'broken "}{"', 'broken "\\\\\\n"', 'broken "def a("', 'broken "a?"'])(
  "python that keeps the parser busy is given up after so much work: %s",
  { timeout: 30_000 },
  async (name) => {
    const program = await within(() => findCommandsOfCode(PYTHON[name]!(MAX_CODE_LENGTH), "python"));
    expect(program).toEqual({ commands: [], problems: [{ line: 1, column: 1, what: TOO_MUCH }] });
    const risk = await within(() => assess(PYTHON[name]!(MAX_RISK_LENGTH), "python"));
    expect(risk).toMatchObject({ level: "high", parsed: false, detectedPatterns: ["too-complex"] });
  },
);

it.each(['broken "\'"', 'broken "a{"', 'broken ")("', "arrow or parenthesis, deep"])(
  "javascript that keeps the parser busy is given up after so much work: %s",
  { timeout: 30_000 },
  async (name) => {
    const program = await within(() => findCommandsOfCode(JAVASCRIPT[name]!(MAX_CODE_LENGTH), "javascript"));
    expect(program.problems).toEqual([{ line: 1, column: 1, what: TOO_MUCH }]);
    const risk = await within(() => assess(JAVASCRIPT[name]!(MAX_RISK_LENGTH), "typescript"));
    expect(risk).toMatchObject({ level: "high", parsed: false, detectedPatterns: ["too-complex"] });
  },
);

it.each(["case of many", "nested for within the limit", "pipeline into sh", "for for over much"])(
  "a shell text that keeps the walk busy is given up after so much work: %s",
  { timeout: 30_000 },
  async (name) => {
    const program = await within(() => findCommands(SHELL[name]!(MAX_TEXT_LENGTH)));
    expect(program).toEqual({ commands: [], problems: [{ line: 1, column: 1, what: TOO_MUCH }] });
  },
);

it("two thousand ordinary lines are read to their end", { timeout: 30_000 }, async () => {
  const lines = (i: number) =>
    `def f${i}(a, b=1):\n    """Adds."""\n    return [a + b for _ in range(3)]\n\n`;
  const text = `${Array.from({ length: 500 }, (_, i) => lines(i)).join("")}import os\nos.system("rm -rf /")\n`;
  const risk = await assess(text, "python");
  expect(risk).toMatchObject({ level: "critical", parsed: true });
  const { commands, problems } = await findCommandsOfCode(text, "python");
  expect(problems).toEqual([]);
  expect(commands.map(({ name }) => name)).toEqual(["rm"]);
});

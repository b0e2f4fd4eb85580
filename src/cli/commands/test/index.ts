import type { Command } from "commander";
import { languagesWith } from "../../../runtime/sandbox/index.js";
import {
  addCellOptions,
  addCommand,
  addGuardOptions,
  addLanguageOption,
  parseInput,
  parseTimeoutMs,
  setAction,
  type Transfer,
} from "../../definition/index.js";

const EXAMPLES = `
  skerry test solution.py --tests test_solution.py
  skerry test solution.js --tests solution.test.js --json
  skerry test solution.py --cases cases.json --timeout 30s`;

/** `test`. */
export function defineTest(program: Command): void {
  const test = addCommand(program, "test", "test a program where it cannot fake the verdict", EXAMPLES)
    .argument("<solution>", "the program that is tested")
    .option("--tests <file>", "a file of tests: pytest, unittest or node:test")
    .option("--cases <file>", "or cases: a JSON list of calls and what they have to come to")
    .option("--together", "tests and solution in one process; the solution can then fake the verdict");
  addLanguageOption(test, languagesWith("tests"), "of both; default: from the solution's name")
    .option("--timeout <duration>", "of everything; default: 60s", parseTimeoutMs)
    .option<Transfer[]>(
      "--input <file[:path]>",
      "a file that both find in their workspace; repeatable",
      (value, previous) => parseInput(value, previous),
    )
    .option("--json", "print the report as one JSON object");
  setAction(test, async (command) => (await import("./test.js")).test(command.args, command.opts()));
  addGuardOptions(addCellOptions(test, "for the audit log: of which session; its files are not touched"));
}

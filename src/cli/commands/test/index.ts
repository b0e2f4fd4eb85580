import type { Command } from "commander";
import { listBackends } from "../../../runtime/backends/index.js";
import { languagesWith } from "../../../runtime/sandbox/index.js";
import {
  addCommand,
  addGuardOptions,
  parseCpus,
  parseEnv,
  parseInput,
  parseMemoryMb,
  parsePids,
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
    .option("--together", "tests and solution in one process; the solution can then fake the verdict")
    .option(
      "-l, --language <name>",
      `${languagesWith("tests").join(", ")}; default: from the solution's name`,
    )
    .option("-s, --session <name>", "for the audit log: of which session; its files are not touched")
    .option(
      "--backend <name>",
      `what isolates: ${listBackends().join(", ")}; default: the best this host has`,
    )
    .option("--timeout <duration>", "of everything; default: 60s", parseTimeoutMs)
    .option("--memory <size>", "512mb, 1gb", parseMemoryMb)
    .option("--cpus <number>", "0.5, 2", parseCpus)
    .option("--pids <number>", "how many processes", parsePids)
    .option<Record<string, string>>("-e, --env <name=value>", "a variable; repeatable", (value, previous) =>
      parseEnv(value, previous),
    )
    .option<Transfer[]>(
      "--input <file[:path]>",
      "a file that both find in their workspace; repeatable",
      (value, previous) => parseInput(value, previous),
    )
    .option("--json", "print the report as one JSON object");
  setAction(test, async (command) => (await import("./test.js")).test(command.args, command.opts()));
  addGuardOptions(test);
}

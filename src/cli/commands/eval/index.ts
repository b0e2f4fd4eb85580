import type { Command } from "commander";
import {
  addCommand,
  addGuardOptions,
  parseMemoryMb,
  parseNumberOf,
  parseTimeoutMs,
  setAction,
} from "../../definition/index.js";

const EXAMPLES = `
  skerry eval HumanEval.jsonl.gz                                 its own solutions: all of them should pass
  skerry eval HumanEval.jsonl --samples samples.jsonl            results go to samples.jsonl_results.jsonl
  skerry eval HumanEval.jsonl --samples samples.jsonl --workers 4 --timeout 5s --json`;

/** `eval`. */
export function defineEval(program: Command): void {
  const evaluation = addCommand(
    program,
    "eval",
    "run generated programs with their tests, each where it can do no harm, and say how many pass",
    EXAMPLES,
  )
    .argument("<problems>", "HumanEval's file of problems, plain or gzipped")
    .option("--samples <file>", "the answers to be tested; default: the problems' own solutions")
    .option("--output <file>", "where the results go; default: beside the samples")
    .option("--restart", "start over; default: continue an interrupted evaluation")
    .option(
      "--workers <number>",
      "how many run at once; default: one per core",
      parseNumberOf("--workers", 64),
    )
    .option("--timeout <duration>", "of each sample; default 3s", parseTimeoutMs)
    .option("--memory <size>", "of each sample; default 512mb", parseMemoryMb)
    .option(
      "--failures <number>",
      "how many failed samples are listed; default 20",
      parseNumberOf("--failures", 1_000_000),
    )
    .option("--json", "print one JSON object");
  addGuardOptions(
    setAction(evaluation, async (command) =>
      (await import("./eval.js")).evaluateFile(command.args, command.opts()),
    ),
  );
}

import type { Command } from "commander";
import { addCommand, addLanguageOption, addRunOptions, setAction } from "../../definition/index.js";

const EXAMPLES = `
  skerry run hello.py
  skerry run --mount .. main.py
  skerry run --language python --code 'print(40+2)' --json
  cat prog.js | skerry run --language javascript -
  skerry run plot.py --input data.csv --output plot.png --timeout 30s --memory 512mb
  skerry run report.py -- --verbose 2024
  skerry run fetch.py --allow-domain api.example.com --secret API_TOKEN@api.example.com
  skerry run --policy policy.yaml --role code_assistant --security-mode strict prog.py`;

/** `run`. */
export function defineRun(program: Command): void {
  const run = addCommand(program, "run", "run a program in a sandbox", EXAMPLES)
    .argument("[file]", "the program; - reads it from standard input")
    .argument("[args...]", "the program's own arguments, after --");
  addLanguageOption(run)
    .option("-c, --code <text>", "the program itself instead of a file")
    .option("--alone", "without the files beside it");
  setAction(run, async (command) => (await import("./run.js")).run(command.args, command.opts()));
  addRunOptions(run);
}

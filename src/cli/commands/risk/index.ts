import type { Command } from "commander";
import { RISK_LEVELS } from "../../../guard/analysis/index.js";
import { addCommand, addLanguageOption, createChoice, setAction } from "../../definition/index.js";

const EXAMPLES = `
  skerry risk assess prog.py
  skerry risk assess prog.py --fail-on high
  skerry risk assess --language bash --code 'curl http://x | sh' --json
  cat prog.js | skerry risk assess --language javascript -`;

/** `risk …`. */
export function defineRisk(program: Command): void {
  const group = addCommand(program, "risk", "what code would access, without running it", EXAMPLES);
  const assess = addCommand(
    group,
    "assess",
    "the level of a program, and what was found in it",
    EXAMPLES,
  ).argument("[file]", "the program; - reads it from standard input");
  addLanguageOption(assess)
    .option("-c, --code <text>", "the program itself instead of a file")
    .addOption(
      createChoice(
        "--fail-on <level>",
        "end with status 1 when the level is this or worse",
        RISK_LEVELS.slice(1),
      ),
    )
    .option("--json", "print one JSON object");
  setAction(assess, async (command) =>
    (await import("./risk.js")).assessProgram(command.args, command.opts()),
  );
}

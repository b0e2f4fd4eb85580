import type { Command } from "commander";
import { type Action, addBackendOption, addCommand, setAction } from "../../definition/index.js";

const EXAMPLES = `
  skerry files ls --session work
  skerry files put --session work data.csv in/data.csv
  skerry files get --session work out/plot.png
  skerry files cat --session work notes.txt
  skerry files rm --session work -r out`;

/** `files …`. */
export function defineFiles(program: Command): void {
  const group = addCommand(program, "files", "a session's files", EXAMPLES);
  const load = () => import("./files.js");
  const add = (command: Command, action: Action) =>
    addBackendOption(setAction(command, action).requiredOption("-s, --session <name>", "whose files"));
  add(
    group
      .command("ls")
      .description("list files")
      .argument("[paths...]", "default: the workspace")
      .option("-r, --recursive", "also what is below")
      .option("--json", "print a JSON array"),
    async (command) => (await load()).list(command.args, command.opts()),
  );
  add(group.command("cat").description("print files").argument("<paths...>"), async (command) =>
    (await load()).print(command.args, command.opts()),
  );
  add(
    group
      .command("put")
      .description("copy a file or a directory of this machine into the session")
      .argument("<file>", "- reads standard input")
      .argument("[path]", "default: the file's name"),
    async (command) => (await load()).put(command.args, command.opts()),
  );
  add(
    group
      .command("get")
      .description("copy a file or a directory of the session to this machine")
      .argument("<path>")
      .argument("[file]", "default: the same name here; - writes to standard output"),
    async (command) => (await load()).get(command.args, command.opts()),
  );
  add(
    group
      .command("rm")
      .description("remove files")
      .argument("<paths...>")
      .option("-r, --recursive", "also directories"),
    async (command) => (await load()).remove(command.args, command.opts()),
  );
}

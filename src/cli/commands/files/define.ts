import type { Command } from "commander";
import { type Action, examples, leaf } from "../../definition/define-command.js";

const EXAMPLES = {
  files: `
  skerry files ls --session work
  skerry files put --session work data.csv in/data.csv
  skerry files get --session work out/plot.png
  skerry files cat --session work notes.txt
  skerry files rm --session work -r out`,
  sessions: `
  skerry sessions
  skerry sessions ls --json
  skerry sessions rm work`,
} as const;

/** `files …`. */
export function defineFiles(program: Command): void {
  const group = examples(program.command("files").description("a session's files"), EXAMPLES.files);
  const load = () => import("./files.js");
  const add = (command: Command, action: Action) =>
    leaf(command, action)
      .requiredOption("-s, --session <name>", "whose files")
      .option("--backend <name>", "what isolates; default: the best this host has");
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
      .description("copy a file of this machine into the session")
      .argument("<file>", "- reads standard input")
      .argument("[path]", "default: the file's name"),
    async (command) => (await load()).put(command.args, command.opts()),
  );
  add(
    group
      .command("get")
      .description("copy a file of the session to this machine")
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

/** `sessions …`. */
export function defineSessions(program: Command): void {
  const group = examples(
    program.command("sessions").description("the sessions whose files are kept"),
    EXAMPLES.sessions,
  );
  leaf(
    group.command("ls", { isDefault: true }).description("list them").option("--json", "print a JSON array"),
    async (command) => (await import("../sessions/sessions.js")).list(command.opts()),
  );
  leaf(
    group
      .command("rm")
      .description("stop sessions and remove their files; not those of a running server")
      .argument("<names...>")
      .option("--json", "print a JSON array of their names"),
    async (command) => (await import("../sessions/sessions.js")).remove(command.args, command.opts()),
  );
}

import type { Command } from "commander";
import { type Action, addBackendOption, addCommand, addExamples, setAction } from "../../definition/index.js";

const EXAMPLES = {
  snapshots: `
  skerry snapshots create --session work --name "before the update"
  skerry snapshots ls --session work
  skerry snapshots restore --session work snap-0123456789abcdef`,
  create: `
  skerry snapshots create --session work
  skerry snapshots create --session work --name clean --json`,
  ls: `
  skerry snapshots ls --session work
  skerry snapshots ls --session work --json`,
  restore: `
  skerry snapshots restore --session work snap-0123456789abcdef`,
  rm: `
  skerry snapshots rm --session work snap-0123456789abcdef`,
  export: `
  skerry snapshots export --session work snap-0123456789abcdef work.tar
  skerry snapshots export --session work snap-0123456789abcdef - | gzip > work.tar.gz`,
  import: `
  skerry snapshots import --session work work.tar
  gunzip -c work.tar.gz | skerry snapshots import --session work -`,
  fork: `
  skerry snapshots fork --session work
  skerry snapshots fork --session work other --snapshot snap-0123456789abcdef`,
} as const;

/** `snapshots …`. */
export function defineSnapshots(program: Command): void {
  const group = addCommand(program, "snapshots", "a session's files as they were", EXAMPLES.snapshots);
  const load = () => import("./snapshots.js");
  const add = (name: Exclude<keyof typeof EXAMPLES, "snapshots">, what: string, action: Action): Command => {
    const command = setAction(group.command(name).description(what), action)
      .requiredOption("-s, --session <name>", "whose snapshots")
      .option("--json", "print JSON");
    return addExamples(command, EXAMPLES[name]);
  };
  addBackendOption(
    add("create", "keep the session's files as they are now", async (command) =>
      (await load()).create(command.opts()),
    ),
  ).option("--name <text>", "what to call it");
  add("ls", "list them, the newest first", async (command) => (await load()).list(command.opts()));
  addBackendOption(
    add("restore", "make the session's files what they were", async (command) =>
      (await load()).restore(command.args, command.opts()),
    ),
  ).argument("<snapshot>");
  add("rm", "delete snapshots", async (command) =>
    (await load()).remove(command.args, command.opts()),
  ).argument("<snapshots...>");
  add("export", "write one to a tar archive of this machine", async (command) =>
    (await load()).exportArchive(command.args, command.opts()),
  )
    .argument("<snapshot>")
    .argument("[file]", "default: its id and .tar; - writes to standard output");
  add("import", "make one of a tar archive of this machine", async (command) =>
    (await load()).importArchive(command.args, command.opts()),
  )
    .argument("<file>", "not compressed; - reads standard input")
    .option("--name <text>", "what to call it");
  addBackendOption(
    add("fork", "make a new session with the files of now, or of a snapshot", async (command) =>
      (await load()).fork(command.args, command.opts()),
    ),
  )
    .argument("[name]", "of the new session; default: one of its own")
    .option("--snapshot <id>", "whose files");
}

import { Command, CommanderError } from "commander";
import { SandboxError } from "../kit/errors.js";
import { packageVersion } from "../kit/package-root.js";
import { COMMANDS } from "./commands/index.js";
import { addExamples, addGlobalOptions, OUTCOME, type Outcome } from "./definition/index.js";
import { reportError, stdout } from "./output/index.js";

const EXAMPLES = `
  skerry run hello.py                              run a program where it can do no harm
  skerry exec -- sh -c 'id; ls -la /'              run a command
  skerry shell --session work                      look around inside
  skerry policy explain --policy policy.yaml --command 'curl http://x | sh'
  skerry audit tail                                what ran, and what came of it
  skerry serve                                     sandboxes over HTTP, for many callers
  claude mcp add skerry -- skerry mcp              sandboxes as tools of Claude Code
  skerry doctor                                    what this host can enforce`;

/** The command line. Each command's own code loads only when it is chosen. */
export function createProgram(): Command {
  const program = new Command("skerry")
    .description("Runs an agent's code where it can do no harm, and tells you what it did.")
    .version(packageVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .enablePositionalOptions()
    .exitOverride()
    // We print errors ourselves: in our own form, or as JSON.
    .configureOutput({ outputError: () => undefined, writeOut: (text) => void stdout.write(text) });
  addGlobalOptions(program);
  addExamples(program, EXAMPLES);

  for (const define of COMMANDS) define(program);
  return program;
}

/** Runs one command line to its exit status. Never throws. */
export async function runProgram(program: Command, argv: readonly string[]): Promise<number> {
  const outcome: Outcome = { status: 0, json: wantsJson(argv) };
  program.setOptionValue(OUTCOME, outcome);
  try {
    await program.parseAsync([...argv], { from: "user" });
    return outcome.status;
  } catch (error) {
    if (!(error instanceof CommanderError)) return reportError(error, outcome.json);
    if (error.exitCode === 0) return 0;
    if (error.code === "commander.help") return 64;
    return reportError(usageError(error, program, argv), outcome.json);
  }
}

function usageError(error: CommanderError, program: Command, argv: readonly string[]): SandboxError {
  const [first, ...more] = error.message.replace(/^error: /, "").split("\n");
  const suggestion = more
    .join(" ")
    .trim()
    .replace(/^\(|\)$/g, "");
  const help = `Run: ${["skerry", ...commandNames(program, argv)].join(" ")} --help`;
  return new SandboxError("INVALID_ARGUMENT", first!, { hint: suggestion === "" ? help : suggestion });
}

/** The command that the words name, as far as they do. */
function commandNames(program: Command, argv: readonly string[]): string[] {
  const names: string[] = [];
  let current = program;
  for (const word of argv) {
    const next = current.commands.find((command) => command.name() === word);
    if (next === undefined) continue;
    names.push(word);
    current = next;
  }
  return names;
}

/** Also for a command line that is too broken to be parsed. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return argv.slice(0, end === -1 ? undefined : end).includes("--json");
}

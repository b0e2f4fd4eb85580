import { Command, CommanderError, Option } from "commander";
import { closestWord } from "../kit/closest-word.js";
import { SandboxError } from "../kit/errors.js";
import { packageVersion } from "../kit/package-root.js";
import { COMMANDS } from "./commands/index.js";
import {
  addExamples,
  addGlobalOptions,
  EVERYWHERE,
  inHelpOrder,
  OUTCOME,
  type Outcome,
} from "./definition/index.js";
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
    .addHelpOption(new Option("-h, --help", "print this help").helpGroup(EVERYWHERE))
    .configureHelp(inHelpOrder)
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
    await program.parseAsync(expandHelp(program, argv), { from: "user" });
    return outcome.status;
  } catch (error) {
    if (!(error instanceof CommanderError)) return reportError(error, outcome.json);
    if (error.exitCode === 0) return 0;
    if (error.code === "commander.help") return 64;
    return reportError(usageError(error, program, argv), outcome.json);
  }
}

/** Makes `help audit tail` the same as `audit tail --help`: commander itself reads one word of it, and takes any. */
function expandHelp(program: Command, argv: readonly string[]): string[] {
  const [first, ...topic] = argv;
  if (first !== "help" || topic.length === 0) return [...argv];
  const { names, command, rest } = commandOf(program, topic);
  const [word] = rest;
  if (word !== undefined && command.commands.length > 0) throw unknownCommand(command, names, word);
  return [...names, "--help"];
}

function usageError(error: CommanderError, program: Command, argv: readonly string[]): SandboxError {
  const { names, command, rest } = commandOf(program, argv);
  const [word] = rest.filter((each) => !each.startsWith("-"));
  // The command that a group has by default takes what comes behind the group for its arguments.
  if (error.code === "commander.excessArguments" && command.commands.length > 0 && word !== undefined)
    return unknownCommand(command, names, word);
  const [first, ...more] = error.message.replace(/^error: /, "").split("\n");
  const suggestion = more
    .join(" ")
    .trim()
    .replace(/^\(|\)$/g, "");
  const hint = DOCKER_TERMINAL.test(first!) ? TERMINAL_HINT : suggestion === "" ? helpOf(names) : suggestion;
  return new SandboxError("INVALID_ARGUMENT", first!, { hint });
}

/** What opens a terminal with `docker exec`. */
const DOCKER_TERMINAL = /^unknown option '(?:-it?|-ti?|--interactive|--tty)'$/;
const TERMINAL_HINT = "A terminal is opened by: skerry shell, or skerry shell -- COMMAND";

function unknownCommand(group: Command, names: readonly string[], word: string): SandboxError {
  const meant = closestWord(
    word,
    group.commands.map((command) => command.name()),
  );
  return new SandboxError("INVALID_ARGUMENT", `unknown command '${word}'`, {
    hint: meant === undefined ? helpOf(names) : `Did you mean ${meant}?`,
  });
}

function helpOf(names: readonly string[]): string {
  return `Run: ${["skerry", ...names].join(" ")} --help`;
}

/** The command that the words name, as far as they do, and what is said behind it. */
function commandOf(program: Command, argv: readonly string[]) {
  const names: string[] = [];
  let [command, end] = [program, 0];
  for (const [index, word] of argv.entries()) {
    const next = command.commands.find((each) => each.name() === word);
    if (next === undefined) continue;
    names.push(word);
    [command, end] = [next, index + 1];
  }
  return { names, command, rest: argv.slice(end) };
}

/** Also for a command line that is too broken to be parsed. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return argv.slice(0, end === -1 ? undefined : end).includes("--json");
}

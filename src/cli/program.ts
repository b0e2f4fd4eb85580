import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Command, CommanderError } from "commander";
import { PACKAGE_ROOT } from "../config/package-root.js";
import { SandboxError } from "../errors.js";
import {
  parseCpus,
  parseEnv,
  parseInput,
  parseMemoryMb,
  parseOutput,
  parsePids,
  parseTimeoutMs,
  type Transfer,
} from "./arguments.js";
import { stdout } from "./output.js";
import { reportError } from "./report-error.js";

/** Options that every command has. */
export interface GlobalOptions {
  readonly config?: string;
  readonly color: boolean;
}

/** Which sandbox, and with which limits. */
export interface SandboxOptions extends GlobalOptions {
  readonly backend?: string;
  readonly session?: string;
  readonly memory?: number;
  readonly cpus?: number;
  readonly pids?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Options of `run` and `exec`. */
export interface ExecuteOptions extends SandboxOptions {
  readonly json?: boolean;
  readonly timeout?: number;
  readonly input?: readonly Transfer[];
  readonly output?: readonly Transfer[];
}

type Action = (command: Command) => Promise<number>;

/** What a command leaves for whoever runs the program; kept on the root command. */
interface Outcome {
  status: number;
  /** Whether errors are JSON too. */
  json: boolean;
}
const OUTCOME = "outcome";

const EXAMPLES = {
  program: `
  skerry run hello.py                              run a program where it can do no harm
  skerry exec -- sh -c 'id; ls -la /'              run a command
  skerry shell --session work                      look around inside
  skerry doctor                                    what this host can enforce`,
  run: `
  skerry run hello.py
  skerry run --language python --code 'print(40+2)' --json
  cat prog.js | skerry run --language javascript -
  skerry run plot.py --input data.csv --output plot.png --timeout 30s --memory 512mb
  skerry run report.py -- --verbose 2024`,
  exec: `
  skerry exec -- sh -c 'ls -la; id'
  skerry exec --session work -- make test
  echo hello | skerry exec -- tr a-z A-Z`,
  shell: `
  skerry shell
  skerry shell --session work
  skerry shell --session work -- python3`,
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
  doctor: `
  skerry doctor
  skerry doctor --fix
  skerry doctor --json`,
  bench: `
  skerry bench
  skerry bench exec-python create-true --json`,
} as const;

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
  globals(program);
  examples(program, "program");

  execution(
    program
      .command("run")
      .description("run a program in a sandbox")
      .argument("[file]", "the program; - reads it from standard input")
      .argument("[args...]", "the program's own arguments, after --")
      .option("-l, --language <name>", "python, javascript, typescript, bash; default: from the file's name")
      .option("-c, --code <text>", "the program itself instead of a file"),
    "run",
    async (command) => (await import("./commands/run.js")).run(command.args, command.opts()),
  );

  execution(
    program
      .command("exec")
      .description("run a command in a sandbox")
      .argument("<command>", "the command")
      .argument("[args...]", "its arguments")
      .passThroughOptions(),
    "exec",
    async (command) => (await import("./commands/exec.js")).exec(command.args, command.opts()),
  );

  sandbox(
    leaf(
      program
        .command("shell")
        .description("open a terminal in a sandbox")
        .argument("[command...]", "what to run in it; default: a shell")
        .passThroughOptions(),
      async (command) => (await import("./commands/shell.js")).shell(command.args, command.opts()),
    ),
  );
  examples(program.commands.at(-1)!, "shell");

  files(program);
  sessions(program);

  leaf(
    program
      .command("doctor")
      .description("say what this host can enforce, what is missing and how to get it")
      .option("--json", "print one JSON object")
      .option("--fix", "install what is missing (needs root or sudo)"),
    async (command) => (await import("./commands/doctor.js")).doctor(command.opts()),
  );
  examples(program.commands.at(-1)!, "doctor");

  leaf(
    program
      .command("bench")
      .description("measure the figures we claim on this machine")
      .argument("[names...]", "which; default: all")
      .option("--json", "print a JSON array"),
    async (command) => (await import("./commands/bench.js")).bench(command.args, command.opts()),
  );
  examples(program.commands.at(-1)!, "bench");
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
  const name = argv.find((word) => program.commands.some((command) => command.name() === word));
  const help = `Run: skerry ${name === undefined ? "" : `${name} `}--help`;
  return new SandboxError("INVALID_ARGUMENT", first!, { hint: suggestion === "" ? help : suggestion });
}

/** Also for a command line that is too broken to be parsed. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return argv.slice(0, end === -1 ? undefined : end).includes("--json");
}

function globals(command: Command): Command {
  return command
    .option("--config <file>", "configuration instead of ~/.skerry/config.json or .yaml")
    .option("--no-color", "no colours; NO_COLOR does the same");
}

/** A command that does something: has the global options, and its status becomes ours. */
function leaf(command: Command, action: Action): Command {
  return globals(command).action(async () => {
    let root = command;
    while (root.parent !== null) {
      // An option before the command counts as much as one after it.
      for (const name of ["config", "color"]) {
        const { parent } = root;
        if (command.getOptionValueSource(name) !== "cli" && parent.getOptionValueSource(name) === "cli") {
          command.setOptionValueWithSource(name, parent.getOptionValue(name), "cli");
        }
      }
      root = root.parent;
    }
    const outcome = root.getOptionValue(OUTCOME) as Outcome;
    outcome.json = command.getOptionValue("json") === true;
    outcome.status = await action(command);
  });
}

function sandbox(command: Command): Command {
  return command
    .option("-s, --session <name>", "keep the files under this name; default: thrown away afterwards")
    .option("--backend <name>", "what isolates; default: the best this host has")
    .option("--memory <size>", "512mb, 1gb", parseMemoryMb)
    .option("--cpus <number>", "0.5, 2", parseCpus)
    .option("--pids <number>", "how many processes", parsePids)
    .option<Record<string, string>>("-e, --env <name=value>", "a variable; repeatable", (value, previous) =>
      parseEnv(value, previous),
    )
    .option("--cwd <path>", "where to start, relative to the workspace");
}

function execution(command: Command, name: "run" | "exec", action: Action): Command {
  sandbox(leaf(command, action))
    .option("--timeout <duration>", "250ms, 30s, 5m", parseTimeoutMs)
    .option<Transfer[]>(
      "--input <file[:path]>",
      "put a file into the workspace first; repeatable",
      (value, previous) => parseInput(value, previous),
    )
    .option<Transfer[]>("--output <path[:file]>", "fetch a file afterwards; repeatable", (value, previous) =>
      parseOutput(value, previous),
    )
    .option("--json", "print one JSON object instead of the output");
  return examples(command, name);
}

function files(program: Command): void {
  const group = examples(program.command("files").description("a session's files"), "files");
  const load = () => import("./commands/files.js");
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

function sessions(program: Command): void {
  const group = examples(
    program.command("sessions").description("the sessions whose files are kept"),
    "sessions",
  );
  leaf(
    group.command("ls", { isDefault: true }).description("list them").option("--json", "print a JSON array"),
    async (command) => (await import("./commands/sessions.js")).list(command.opts()),
  );
  leaf(
    group.command("rm").description("stop sessions and remove their files").argument("<names...>"),
    async (command) => (await import("./commands/sessions.js")).remove(command.args, command.opts()),
  );
}

function examples(command: Command, name: keyof typeof EXAMPLES): Command {
  return command.addHelpText("after", `\nExamples:${EXAMPLES[name]}`);
}

function packageVersion(): string {
  const text = readFileSync(join(PACKAGE_ROOT, "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

import { type Command, Option } from "commander";
import { SECURITY_MODES } from "../../../core/manager/index.js";
import { listBackends } from "../../../runtime/backends/index.js";
import {
  parseCpus,
  parseEnv,
  parseInput,
  parseMemoryMb,
  parseOutput,
  parsePids,
  parseTimeoutMs,
  type Transfer,
} from "../../definition/arguments.js";
import { type Action, examples, leaf } from "../../definition/define-command.js";
import { CONFIRM_CHOICES } from "../../definition/options.js";

const EXAMPLES = {
  run: `
  skerry run hello.py
  skerry run --language python --code 'print(40+2)' --json
  cat prog.js | skerry run --language javascript -
  skerry run plot.py --input data.csv --output plot.png --timeout 30s --memory 512mb
  skerry run report.py -- --verbose 2024
  skerry run fetch.py --allow-domain api.example.com --secret API_TOKEN@api.example.com
  skerry run --policy policy.yaml --role code_assistant --security-mode strict prog.py`,
  exec: `
  skerry exec -- sh -c 'ls -la; id'
  skerry exec --session work -- make test
  skerry exec --policy policy.yaml --role code_assistant -- ls -la
  echo hello | skerry exec -- tr a-z A-Z`,
  shell: `
  skerry shell
  skerry shell --session work
  skerry shell --session work -- python3`,
} as const;

/** `run`, `exec` and `shell`. */
export function defineExecution(program: Command): void {
  execution(
    program
      .command("run")
      .description("run a program in a sandbox")
      .argument("[file]", "the program; - reads it from standard input")
      .argument("[args...]", "the program's own arguments, after --")
      .option("-l, --language <name>", "python, javascript, typescript, bash; default: from the file's name")
      .option("-c, --code <text>", "the program itself instead of a file"),
    "run",
    async (command) => (await import("./run.js")).run(command.args, command.opts()),
  );

  execution(
    program
      .command("exec")
      .description("run a command in a sandbox")
      .argument("<command>", "the command")
      .argument("[args...]", "its arguments")
      .passThroughOptions(),
    "exec",
    async (command) => (await import("../exec/exec.js")).exec(command.args, command.opts()),
  );

  const shell = program
    .command("shell")
    .description("open a terminal in a sandbox")
    .argument("[command...]", "what to run in it; default: a shell")
    .passThroughOptions();
  guards(
    sandbox(
      leaf(shell, async (command) => (await import("../shell/shell.js")).shell(command.args, command.opts())),
    ),
  );
  examples(shell, EXAMPLES.shell);
}

/** Which sandbox, what it may use and reach, and how a command starts in it. */
export function sandbox(command: Command): Command {
  return reach(
    walls(command)
      .option<Record<string, string>>("-e, --env <name=value>", "a variable; repeatable", (value, previous) =>
        parseEnv(value, previous),
      )
      .option("--cwd <path>", "where to start, relative to the workspace"),
  );
}

/** Which sandbox, and what it may use. */
export function walls(command: Command): Command {
  return command
    .option("-s, --session <name>", "keep the files under this name; default: thrown away afterwards")
    .option(
      "--backend <name>",
      `what isolates: ${listBackends().join(", ")}; default: the best this host has`,
    )
    .option("--memory <size>", "512mb, 1gb", parseMemoryMb)
    .option("--cpus <number>", "0.5, 2", parseCpus)
    .option("--pids <number>", "how many processes", parsePids);
}

/** What it may reach. */
export function reach(command: Command): Command {
  return command
    .option<string[]>(
      "--allow-domain <name>",
      "let it reach api.example.com, or *.example.com for all below; repeatable",
      (value, previous = []) => [...previous, value],
    )
    .option<string[]>(
      "--secret <name@host>",
      "the variable NAME is a placeholder inside, and put in on the way to HOST; repeatable",
      (value, previous = []) => [...previous, value],
    );
}

/** What is decided, asked and remembered. */
export function guards(command: Command, asked = "the person at the terminal"): Command {
  const mode = new Option("--security-mode <mode>", "look at the code first; default with a policy: strict");
  const confirm = new Option(
    "--confirm <who>",
    `ask ${asked} about what is dangerous, or reject it; default: ask`,
  );
  return command
    .option("--policy <file>", "what may run; skerry policy init prints one to start from")
    .option("--role <name>", "a role of the policy")
    .addOption(mode.choices(SECURITY_MODES))
    .addOption(confirm.choices(CONFIRM_CHOICES))
    .option("--dangerously-approve-all", "say yes to everything that a person would be asked about")
    .option("--agent <id>", "for the audit log: which agent")
    .option("--org <id>", "for the audit log: whose agent")
    .option("--no-audit", "leave no record in the audit log");
}

function execution(command: Command, name: "run" | "exec", action: Action): void {
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
  guards(command);
  examples(command, EXAMPLES[name]);
}

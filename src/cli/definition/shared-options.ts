import type { Command } from "commander";
import { SECURITY_MODES } from "../../core/manager/index.js";
import { listBackends } from "../../runtime/backends/index.js";
import { languageNames } from "../../runtime/sandbox/index.js";
import {
  type Mount,
  parseCpus,
  parseEnv,
  parseInput,
  parseMemoryMb,
  parseMount,
  parseOutput,
  parsePids,
  parseTimeoutMs,
  type Transfer,
} from "./arguments.js";
import { createChoice, createNamed } from "./choices.js";
import { inGroup } from "./define-command.js";
import { CONFIRM_CHOICES } from "./options.js";

const SANDBOX = "Sandbox:";

/** Options of a sandbox, its limits and its network, and of how a command starts in it. */
export function addSandboxOptions(command: Command): Command {
  return addNetworkOptions(
    inGroup(addSessionOptions(command), SANDBOX, (each) =>
      addMountOption(addEnvOption(addResourceOptions(each))).option(
        "--cwd <path>",
        "where to start, relative to the workspace",
      ),
    ),
  );
}

/** Options of a sandbox and its limits. */
export function addLimitOptions(command: Command): Command {
  return inGroup(addSessionOptions(command), SANDBOX, addResourceOptions);
}

/** The same of one that no session has; `session` says what a name would be for. */
export function addCellOptions(command: Command, session: string): Command {
  return inGroup(command, SANDBOX, (each) =>
    addEnvOption(addResourceOptions(addBackendOption(each.option("-s, --session <name>", session)))),
  );
}

function addSessionOptions(command: Command): Command {
  return inGroup(command, SANDBOX, (each) =>
    addBackendOption(
      each.option("-s, --session <name>", "keep the files under this name; default: thrown away afterwards"),
    ),
  );
}

function addResourceOptions(command: Command): Command {
  return command
    .option("--memory <size>", "512mb, 1gb", parseMemoryMb)
    .option("--cpus <number>", "0.5, 2", parseCpus)
    .option("--pids <number>", "how many processes", parsePids);
}

function addEnvOption(command: Command): Command {
  return command.option<Record<string, string>>(
    "-e, --env <name=value>",
    "a variable; repeatable",
    (value, previous) => parseEnv(value, previous),
  );
}

/** What of this machine is in it. */
function addMountOption(command: Command): Command {
  return command.option<Mount[]>(
    "--mount <dir[:path]>",
    "copy a directory into the workspace; skerry diff and apply bring changes back; repeatable",
    (value, previous) => parseMount(value, previous),
  );
}

/** Where it runs. */
export function addBackendOption(
  command: Command,
  description = "what isolates; default: the best this host has",
): Command {
  return command.addOption(createNamed("--backend <name>", description, listBackends()));
}

/** What a program is written in. */
export function addLanguageOption(
  command: Command,
  names: readonly string[] = languageNames,
  description = "of the program; default: from the file's name",
): Command {
  return command.addOption(createNamed("-l, --language <name>", description, names));
}

/** Options of the network. */
export function addNetworkOptions(command: Command): Command {
  return inGroup(command, "Network:", (each) =>
    each
      .option<string[]>(
        "--allow-domain <name>",
        "allow connections to api.example.com, *.example.com for all names below, or host.skerry.internal:8080, a port of this host; repeatable",
        (value, previous = []) => [...previous, value],
      )
      .option<string[]>(
        "--allow <client,…>",
        "allow what the configuration of pip, npm, git, cargo or go on this machine names; repeatable",
        (value, previous = []) => [...previous, ...value.split(",")],
      )
      .option("--allow-internet", "allow every public host; private addresses stay closed")
      .option<string[]>(
        "--secret <name@host>",
        "inside, NAME holds a placeholder; requests to HOST get the value; repeatable",
        (value, previous = []) => [...previous, value],
      ),
  );
}

/** Options of policy, confirmation and audit log. */
export function addGuardOptions(command: Command, asked = "the person at the terminal"): Command {
  return inGroup(command, "Policy and record:", (each) =>
    each
      .option("--policy <file>", "what may run; skerry policy init prints one to start from")
      .option("--role <name>", "a role of the policy")
      .addOption(
        createChoice(
          "--security-mode <mode>",
          "assess the code first; default with a policy: strict",
          SECURITY_MODES,
        ),
      )
      .addOption(
        createChoice(
          "--confirm <who>",
          `ask ${asked} about what is dangerous, or reject it; default: ask`,
          CONFIRM_CHOICES,
        ),
      )
      .option("--dangerously-approve-all", "approve everything that a person would be asked about")
      .option("--agent <id>", "for the audit log: which agent")
      .option("--org <id>", "for the audit log: whose agent")
      .option("--no-audit", "leave no record in the audit log"),
  );
}

/** The options of `run` and `exec`. */
export function addRunOptions(command: Command): Command {
  command
    .option("--timeout <duration>", "250ms, 30s, 5m", parseTimeoutMs)
    .option<Transfer[]>(
      "--input <file[:path]>",
      "copy a file into the workspace first; repeatable",
      (value, previous) => parseInput(value, previous),
    )
    .option<Transfer[]>(
      "--output <path[:file]>",
      "copy a file out afterwards; repeatable",
      (value, previous) => parseOutput(value, previous),
    )
    .option("--json", "print one JSON object instead of the output");
  return addGuardOptions(addSandboxOptions(command));
}

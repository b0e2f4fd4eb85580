import { escapeUnsafe } from "../../kit/escape-unsafe.js";
import { LOADER_VARIABLES, type ShellCommand, type ShellProgram } from "../analysis/index.js";
import { checkCommandPaths } from "./check-paths.js";
import {
  commandPattern,
  HARMLESS_BUILTINS,
  isReachedThrough,
  matchCommand,
  runsAsWord,
} from "./command-patterns.js";
import type { Consideration, PolicyRequest } from "./decision.js";
import { allowLists, denyItems, type Layers } from "./effective-settings.js";
import type { Items, RuleReference } from "./policy.js";
import { languageName } from "./tools.js";

/** No program takes one: what comes behind it would be lost, or joined with what stands before it. */
const NUL_BYTE: RuleReference = { path: "built in", source: "skerry", line: 1, column: 1 };

/** True when any rule is about commands. */
export function hasCommandRules(layers: Layers): boolean {
  return (
    allowLists(layers, "allowed_commands").length > 0 ||
    denyItems(layers, "denied_commands").length > 0 ||
    denyItems(layers, "confirm_commands").length > 0
  );
}

/** What the rules say about every command that a call would run. Nothing is parsed when no rule asks. */
export async function checkCommands(request: PolicyRequest, layers: Layers): Promise<Consideration[]> {
  const { command, argv = [] } = request;
  const hasNul = [command, ...argv].some((text) => text?.includes("\0") === true);
  const found = hasNul ? [deny(NUL_BYTE, "a command cannot hold a NUL byte")] : [];
  const rules: Rules = {
    denied: denyItems(layers, "denied_commands"),
    asking: denyItems(layers, "confirm_commands"),
    allowed: allowLists(layers, "allowed_commands"),
  };
  // Whatever is not understood falls under the first rule there is.
  const first = (rules.allowed[0] ?? rules.denied[0] ?? rules.asking[0])?.rule;
  const deniedPaths = denyItems(layers, "denied_paths");
  if (first === undefined && deniedPaths.length === 0) return found;
  for (const { commands, problems } of await programsOf(request)) {
    if (first !== undefined) {
      for (const { line, what } of problems) {
        found.push(deny(first, `line ${line} cannot be looked into: ${escapeUnsafe(what)}`));
      }
      found.push(...commands.flatMap((each) => checkCommand(each, rules, first)));
    }
    found.push(...checkCommandPaths(commands, deniedPaths));
  }
  return found;
}

/** Everything that a request runs: it may name a command, words and code at once. */
async function programsOf({
  command,
  argv,
  code,
  language = "",
  scripts = [],
}: PolicyRequest): Promise<ShellProgram[]> {
  const { findCommands, findCommandsOfArgv } = await import("../analysis/index.js");
  const programs: ShellProgram[] = [];
  if (command !== undefined) programs.push(await findCommands(command));
  if (argv !== undefined) programs.push(await findCommandsOfArgv(argv));
  if (code !== undefined) programs.push(await commandsOfCode(code, language));
  for (const script of scripts) programs.push(await commandsOfCode(script.code, script.language));
  return programs;
}

async function commandsOfCode(code: string, language: string): Promise<ShellProgram> {
  const { findCommandsOfCode } = await import("../analysis/index.js");
  const known = languageName(language);
  if (known !== undefined) return findCommandsOfCode(code, known);
  const what = `there is no parser for ${JSON.stringify(language.slice(0, 40))}`;
  return { commands: [], problems: [{ line: 1, column: 1, what }], bombs: [] };
}

interface Rules {
  readonly denied: Items;
  readonly asking: Items;
  readonly allowed: readonly { readonly value: Items; readonly rule: RuleReference }[];
}

function checkCommand(
  command: ShellCommand,
  { denied, asking, allowed }: Rules,
  first: RuleReference,
): Consideration[] {
  const where = `line ${command.line}${command.via.length > 0 ? `, by ${escapeUnsafe(command.via.join(", "))}` : ""}`;
  if (command.name === undefined)
    return [deny(first, `which command runs on ${where} is only known when it runs`)];
  const found: Consideration[] = [];
  const asDenied = withHiddenFlags(command);
  for (const { value, rule } of denied) {
    const pattern = commandPattern(value);
    const match = matchCommand(pattern, asDenied, "deny");
    if (match === "yes" || runsAsWord(pattern, command) || isReachedThrough(pattern, command))
      found.push(deny(rule, `${value} is not allowed (${where})`));
    else if (match === "maybe")
      found.push(deny(rule, `it may be ${value}, by an argument that is only known when it runs (${where})`));
  }
  for (const list of allowed) {
    const why = complaint(command, list.value);
    if (why !== undefined) found.push(deny(list.rule, `${why} (${where})`));
  }
  const asks = asking.find(({ value }) => {
    const pattern = commandPattern(value);
    return (
      matchCommand(pattern, asDenied, "deny") !== "no" ||
      runsAsWord(pattern, command) ||
      isReachedThrough(pattern, command)
    );
  });
  if (asks !== undefined) {
    const why = `${asks.value} needs a confirmation (${where})`;
    found.push({ verdict: "confirm", rule: asks.rule, why, reason: "command" });
  }
  return found;
}

/** The command with what may be flags: a file in a pattern's place may be named "-rf", and `rm` has -f by another name. */
function withHiddenFlags(command: ShellCommand): ShellCommand {
  const args = command.args.map((arg, index) =>
    arg !== undefined && /^[*?[]/.test(arg) && command.patterns.includes(index) ? undefined : arg,
  );
  const forces = command.name === "rm" && args.some((arg) => /^--i[a-z]*=n/.test(arg ?? ""));
  return { ...command, args: forces ? ["-f", ...args] : args };
}

/** Why a list does not let a command through; undefined when it does. */
function complaint(command: ShellCommand, list: Items): string | undefined {
  const changed = command.assignments.find(({ name }) => LOADER_VARIABLES.has(name))?.name;
  if (changed !== undefined) return `setting ${changed} changes which programs the allowed names mean`;
  if (list.some(({ value }) => matchCommand(commandPattern(value), command, "allow") === "yes"))
    return undefined;
  const { name = "", path } = command;
  // A list that allows nothing lets no program start a process, be it only to echo something.
  const started = command.byProgram === true && list.length === 0;
  if (HARMLESS_BUILTINS.has(name) && path === name && !started) return undefined;
  const shown = escapeUnsafe((path ?? name).slice(0, 80));
  return `${shown} is not in the list of allowed commands`;
}

function deny(rule: RuleReference, why: string): Consideration {
  return { verdict: "deny", rule, why, reason: "command" };
}

import type { CodeLanguage, ShellCommand, ShellProgram } from "../syntax/index.js";
import { HARMLESS_BUILTINS, matchesCommand, parseCommandPattern } from "./command-patterns.js";
import type { Consideration, PolicyRequest } from "./decision.js";
import { allowLists, denyItems, type Layers } from "./effective-settings.js";
import { matchingPath, matchingPattern, resolvePath } from "./paths.js";
import type { Items, RuleReference } from "./policy.js";

const LANGUAGES: Readonly<Record<string, CodeLanguage>> = {
  python: "python",
  py: "python",
  python3: "python",
  javascript: "javascript",
  js: "javascript",
  node: "javascript",
  typescript: "typescript",
  ts: "typescript",
  bash: "bash",
  sh: "bash",
  shell: "bash",
};

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
  const denied = denyItems(layers, "denied_commands");
  const asking = denyItems(layers, "confirm_commands");
  const allowed = allowLists(layers, "allowed_commands");
  const deniedPaths = denyItems(layers, "denied_paths");
  const hasRules = hasCommandRules(layers);
  if (!hasRules && deniedPaths.length === 0) return [];
  const program = await commandsOf(request);
  if (program === undefined) return [];
  // Whatever is not understood falls under the first rule there is.
  const first = (allowed[0] ?? denied[0] ?? asking[0] ?? deniedPaths[0])!.rule;
  return [
    ...(hasRules
      ? program.problems.map((problem) =>
          deny(first, `line ${problem.line} cannot be looked into: ${problem.what}`),
        )
      : []),
    ...program.commands.flatMap((command) => [
      ...(hasRules ? checkCommand(command, { denied, asking, allowed, first }) : []),
      ...checkArguments(command, deniedPaths),
    ]),
  ];
}

async function commandsOf({
  command,
  argv,
  code,
  language,
}: PolicyRequest): Promise<ShellProgram | undefined> {
  const { findCommands, findCommandsOfArgv, findCommandsOfCode } = await import("../syntax/index.js");
  if (command !== undefined) return findCommands(command);
  if (argv !== undefined) return findCommandsOfArgv(argv);
  if (code === undefined) return undefined;
  const known = LANGUAGES[(language ?? "").toLowerCase()];
  if (known === undefined) {
    return {
      commands: [],
      problems: [{ line: 1, column: 1, what: `no parser for ${language ?? "this language"}` }],
    };
  }
  return findCommandsOfCode(code, known);
}

interface Rules {
  readonly denied: Items;
  readonly asking: Items;
  readonly allowed: readonly { readonly value: Items; readonly rule: RuleReference }[];
  readonly first: RuleReference;
}

function checkCommand(command: ShellCommand, { denied, asking, allowed, first }: Rules): Consideration[] {
  const where = `line ${command.line}${command.via.length > 0 ? `, by ${command.via.join(", ")}` : ""}`;
  if (command.name === undefined)
    return [deny(first, `which command runs on ${where} is only known when it runs`)];
  const found: Consideration[] = [];
  const refusing = denied.find(({ value }) => matchesCommand(parseCommandPattern(value), command, true));
  if (refusing !== undefined) found.push(deny(refusing.rule, `${refusing.value} is not allowed (${where})`));
  for (const list of allowed) {
    const name = command.name;
    const isListed = list.value.some(({ value }) =>
      matchesCommand(parseCommandPattern(value), command, false),
    );
    const isHarmless = HARMLESS_BUILTINS.has(name) && command.path === name;
    if (!isListed && !isHarmless)
      found.push(deny(list.rule, `${name} is not in the list of allowed commands (${where})`));
  }
  const asks = asking.find(({ value }) => matchesCommand(parseCommandPattern(value), command, true));
  if (asks !== undefined) {
    found.push({
      verdict: "confirm",
      rule: asks.rule,
      why: `${asks.value} needs a confirmation (${where})`,
      reason: "command",
    });
  }
  return found;
}

/** Files that a command names. What it opens by itself is the sandbox's business. */
function checkArguments(command: ShellCommand, deniedPaths: Items): Consideration[] {
  if (deniedPaths.length === 0) return [];
  const words = command.args.map((word, index) => ({ word, isPattern: command.patterns.includes(index) }));
  const targets = command.redirects.map(({ target }) => ({ word: target, isPattern: false }));
  return [...words, ...targets].flatMap(({ word, isPattern }) => {
    if (word === undefined || word === "") return [];
    const candidates = [word, word.slice(word.indexOf("=") + 1)];
    for (const candidate of candidates) {
      const rule = isPattern
        ? matchingPattern(deniedPaths, candidate)
        : matchingPath(deniedPaths, resolvePath(candidate));
      if (rule === undefined) continue;
      return [
        {
          ...deny(rule.rule, `${candidate} is a denied path (line ${command.line})`),
          reason: "path" as const,
        },
      ];
    }
    return [];
  });
}

function deny(rule: RuleReference, why: string): Consideration {
  return { verdict: "deny", rule, why, reason: "command" };
}

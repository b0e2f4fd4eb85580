import type { Argument, Command, Option } from "commander";

/** What can stand somewhere: one of these words, or something of this machine. */
export type Candidates = readonly string[] | "files" | "sessions" | "programs" | "anything";

interface ListedOption {
  /** `-l` and `--language`. */
  readonly names: readonly string[];
  readonly description: string;
  /** Left out: it takes no value. */
  readonly value?: Candidates;
}

export interface ListedCommand {
  /** " audit tail": every name with a blank before it; "" is the program itself. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly ListedOption[];
  readonly argument: Candidates;
}

/** Every command of the program, itself first. */
export function readCommands(command: Command, path = ""): ListedCommand[] {
  const { commands, registeredArguments } = command;
  return [
    {
      path,
      commands: commands.map((each) => ({ name: each.name(), description: each.description() })),
      options: command.createHelp().visibleOptions(command).map(listOption),
      argument: candidatesOfArguments(registeredArguments, path),
    },
    ...commands.flatMap((each) => readCommands(each, `${path} ${each.name()}`)),
  ];
}

function listOption(option: Option): ListedOption {
  const { short, long, description, required } = option;
  return {
    names: [short, long].filter((name) => name !== undefined),
    description,
    ...(required && { value: candidatesOfOption(option) }),
  };
}

function candidatesOfOption({ argChoices, long, flags }: Option): Candidates {
  if (argChoices !== undefined) return argChoices;
  if (long === "--session") return "sessions";
  return long === "--directory" || /<file/.test(flags) ? "files" : "anything";
}

/** Of all arguments together: the shell is not told how many there are already. */
function candidatesOfArguments(all: readonly Argument[], path: string): Candidates {
  const named = (pattern: RegExp) => all.some((each) => pattern.test(each.name()));
  const choices = all.find(({ argChoices }) => argChoices !== undefined)?.argChoices;
  if (choices !== undefined) return choices;
  if (path === " sessions rm") return "sessions";
  if (named(/^command$/)) return "programs";
  return named(/^(?:files?|problems|solution)$/) ? "files" : "anything";
}

/** One kind of value, and where it can stand: `*:--language`, or ` eval:--output` where other commands have another. */
export interface ValuePlace {
  readonly value: Candidates;
  readonly places: readonly string[];
}

/** Which value follows which option, as patterns of `PATH:OPTION`. */
export function valuePlaces(commands: readonly ListedCommand[]): ValuePlace[] {
  const uses = commands.flatMap(({ path, options }) =>
    options.flatMap(({ names, value }) => names.map((name) => ({ path, name, value, key: String(value) }))),
  );
  const places = new Map<string, { value: Candidates; places: Set<string> }>();
  for (const { path, name, value, key } of uses) {
    if (value === undefined) continue;
    const isSame = uses.every((other) => other.name !== name || other.key === key);
    const found = places.get(key) ?? { value, places: new Set() };
    found.places.add(isSame ? `*:${name}` : `'${path}':${name}`);
    places.set(key, found);
  }
  return [...places.values()].map((each) => ({ value: each.value, places: [...each.places] }));
}

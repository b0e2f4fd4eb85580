import type { Command, Help } from "commander";

/** What a command does; resolves to its exit status. */
export type Action = (command: Command) => Promise<number>;

/** The result of a command; kept on the root command. */
export interface Outcome {
  status: number;
  /** Whether errors are JSON too. */
  json: boolean;
}
export const OUTCOME = "outcome";

/** The heading of what every command has; it is the last one of a help. */
export const EVERYWHERE = "Options of every command:";

/** Adds options below a heading of their own in the help. */
export function inGroup(command: Command, heading: string, add: (command: Command) => unknown): Command {
  add(command.optionsGroup(heading));
  return command.optionsGroup("");
}

/** Has a command's own options first, and last those that every command has. */
export const inHelpOrder: Pick<Help, "groupItems"> = {
  groupItems(_, visible, getGroup) {
    const groups = new Map<string, typeof visible>();
    for (const item of visible) groups.set(getGroup(item), [...(groups.get(getGroup(item)) ?? []), item]);
    const rank = (heading: string) => (heading === "Options:" ? 0 : heading === EVERYWHERE ? 2 : 1);
    return new Map([...groups].sort(([one], [other]) => rank(one) - rank(other)));
  },
};

/** The options that every command has. */
export function addGlobalOptions(command: Command): Command {
  return inGroup(command, EVERYWHERE, (each) =>
    each
      .option("--config <file>", "configuration instead of ~/.skerry/config.json or .yaml")
      .option("--no-color", "no colours; NO_COLOR does the same"),
  );
}

/** A command that does something: has the global options, and its status becomes ours. */
export function setAction(command: Command, action: Action): Command {
  return addGlobalOptions(command).action(async () => {
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

/** A command with examples below its help. */
export function addCommand(parent: Command, name: string, description: string, examples: string): Command {
  return addExamples(parent.command(name).description(description), examples);
}

/** Puts examples below a command's help: lines of `command` and, apart from it, what it does. */
export function addExamples(command: Command, text: string): Command {
  return command.addHelpText("after", `\nExamples:${text}`);
}

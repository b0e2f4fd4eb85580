import type { Command } from "commander";
import { type Action, addBackendOption, addCommand, setAction } from "../../definition/index.js";

const EXAMPLES = {
  diff: `
  skerry exec --session work --mount . -- make
  skerry diff --session work
  skerry diff --session work --stat
  skerry diff --session work > changes.patch`,
  apply: `
  skerry apply --session work
  skerry apply --session work --yes`,
  discard: `
  skerry discard --session work
  skerry discard --session work --yes`,
} as const;

const load = () => import("./project.js");

/** `diff`: what changed in a directory that was copied in. */
export function defineDiff(program: Command): void {
  define(program, "diff", "show what changed in a directory that was copied in", async (command) =>
    (await load()).diff(command.opts()),
  )
    .option("--stat", "names and counts only")
    .option("--json", "print one JSON object");
}

/** `apply`: brings it back. */
export function defineApply(program: Command): void {
  define(program, "apply", "bring what changed inside back into the directory", async (command) =>
    (await load()).apply(command.opts()),
  )
    .option("-y, --yes", "do not ask")
    .option("--json", "print one JSON object; takes --yes");
}

/** `discard`: drops it. */
export function defineDiscard(program: Command): void {
  define(program, "discard", "drop what changed inside; the directory stays as it is", async (command) =>
    (await load()).discard(command.opts()),
  )
    .option("-y, --yes", "do not ask")
    .option("--json", "print one JSON object; takes --yes");
}

function define(program: Command, name: keyof typeof EXAMPLES, what: string, action: Action): Command {
  const command = addCommand(program, name, what, EXAMPLES[name])
    .requiredOption("-s, --session <name>", "whose changes")
    .option("--target <path>", "which directory, by its place in the workspace, where there are several");
  return addBackendOption(setAction(command, action));
}

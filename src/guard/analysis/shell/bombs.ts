import type { Command, Item, Script, Word } from "./tree.js";

/** A place where a script starts copies of itself, or processes without an end. */
export interface Bomb {
  readonly kind: "fork" | "spawn";
  readonly place: number;
}

/** Functions and scripts that start themselves twice, and endless loops that only start things in the background. */
export function findBombs(script: Script): Bomb[] {
  const found: Bomb[] = [];
  visit(script, (item, command) => {
    const { place } = command;
    if (command.kind === "function") {
      const body: Script = { items: [{ join: ";", stages: [command.body], background: false }] };
      if (startsTwice(body, command.name)) found.push({ kind: "fork", place });
    } else if (command.kind === "while") {
      const { items } = command.body;
      if (isAlwaysTrue(command.condition) && items.length > 0 && items.every(({ background }) => background))
        found.push({ kind: "spawn", place });
    } else if (command.kind === "simple" && nameOf(command) === ITSELF) {
      const others = item.stages.filter((stage) => nameOf(stage) === ITSELF);
      if (item.background || others.length > 1) found.push({ kind: "fork", place });
    }
  });
  return found;
}

const ITSELF = "$0";

/** What a command is called by, if that is constant; a script's own name counts as one. */
function nameOf(command: Command): string | undefined {
  const parts = command.kind === "simple" ? command.words[0]?.parts : undefined;
  if (parts === undefined) return undefined;
  const texts = parts.map((part) => {
    if (part.kind === "variable" && /^(?:0|BASH_SOURCE)$/.test(part.name)) return ITSELF;
    return part.kind === "text" ? part.text.replace(/^\.\/$/, "") : "\0";
  });
  return texts.join("");
}

/** Two calls of one name, of which one is in a pipeline with the other or in the background. */
function startsTwice(body: Script, name: string): boolean {
  let calls = 0;
  let apart = false;
  visit(body, (item, command) => {
    if (nameOf(command) !== name) return;
    calls += 1;
    apart ||= item.background || item.stages.length > 1;
  });
  return calls > 1 && apart;
}

function isAlwaysTrue({ items }: Script): boolean {
  const only = items.length === 1 ? items[0]?.stages[0] : undefined;
  if (only?.kind === "evaluate") return only.words.some((word) => textOf(word).trim() === "1");
  if (only?.kind !== "simple") return false;
  return /^(?:true|:|\[ 1 \]|test 1)$/.test(only.words.map(textOf).join(" "));
}

function textOf(word: Word): string {
  return word.parts
    .map((part) =>
      part.kind === "text"
        ? part.text
        : part.kind === "arithmetic"
          ? textOf({ ...word, parts: part.parts })
          : "\0",
    )
    .join("");
}

/** Every command of a script, with the pipeline that it stands in; substitutions are texts of their own. */
function visit(script: Script, see: (item: Item, command: Command) => void): void {
  for (const item of script.items) for (const stage of item.stages) visitCommand(item, stage, see);
}

function visitCommand(item: Item, command: Command, see: (item: Item, command: Command) => void): void {
  see(item, command);
  switch (command.kind) {
    case "group":
    case "for":
      visit(command.body, see);
      break;
    case "if":
      for (const { condition, body } of command.branches) {
        visit(condition, see);
        visit(body, see);
      }
      if (command.otherwise !== undefined) visit(command.otherwise, see);
      break;
    case "while":
      visit(command.condition, see);
      visit(command.body, see);
      break;
    case "evaluate":
      if (command.body !== undefined) visit(command.body, see);
      break;
    case "case":
      for (const { body } of command.branches) visit(body, see);
      break;
    case "function":
    case "coproc":
      visitCommand(item, command.body, see);
      break;
  }
}

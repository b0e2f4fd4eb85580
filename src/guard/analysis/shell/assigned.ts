import type { WorkBudget } from "../../../kit/parser/index.js";
import type { Environment } from "./environment.js";
import type { Command, Script, Word } from "./tree.js";

/** Builtins that may set the variables that their arguments name. */
const SETTERS = new Set([
  "read",
  "mapfile",
  "readarray",
  "getopts",
  "printf",
  "declare",
  "typeset",
  "local",
  "export",
  "readonly",
  "let",
  "unset",
  "wait",
  "command",
  "builtin",
]);
/** Commands after which anything may be set. */
const OPEN_ENDED = new Set(["eval", "source", ".", "shift", "set", "exec"]);

/** The variables that a loop's commands may set; undefined: any. */
export function assignedIn(
  scripts: readonly Script[],
  environment: Environment,
  work: WorkBudget,
): Set<string> | undefined {
  const names = new Set<string>();
  const visitor = new Visitor(names, environment, work);
  for (const script of scripts) visitor.script(script);
  return visitor.open ? undefined : names;
}

const VISIT_WORK = 30;

class Visitor {
  open = false;

  constructor(
    private readonly names: Set<string>,
    private readonly environment: Environment,
    private readonly work: WorkBudget,
  ) {}

  script(script: Script): void {
    for (const item of script.items) for (const stage of item.stages) this.command(stage);
  }

  private command(command: Command): void {
    this.work.spend(VISIT_WORK);
    switch (command.kind) {
      case "simple":
        for (const assignment of command.assignments) this.names.add(assignment.name);
        for (const word of command.words) this.word(word);
        this.simple(command.words);
        break;
      case "group":
        this.script(command.body);
        break;
      case "if":
        for (const branch of command.branches) {
          this.script(branch.condition);
          this.script(branch.body);
        }
        if (command.otherwise !== undefined) this.script(command.otherwise);
        break;
      case "while":
        this.script(command.condition);
        this.script(command.body);
        break;
      case "for":
        this.names.add(command.variable);
        this.script(command.body);
        break;
      case "evaluate":
        if (command.body !== undefined) this.script(command.body);
        break;
      case "case":
        for (const branch of command.branches) this.script(branch.body);
        break;
      case "function":
      case "coproc":
        this.command(command.body);
        break;
    }
  }

  private simple(words: readonly Word[]): void {
    const name = literal(words[0]);
    // A name that is not constant is followed, or counts as unknown where it stands.
    if (name === undefined) return;
    if (OPEN_ENDED.has(name)) this.open = true;
    else if (this.environment.functions.has(name) || this.environment.aliases.has(name)) this.open = true;
    else if (SETTERS.has(name)) {
      for (const word of words.slice(1)) {
        const first = word.parts[0];
        if (first?.kind !== "text") this.open = true;
        else this.names.add(/^[A-Za-z_]\w*/.exec(first.text)?.[0] ?? "");
      }
    }
  }

  private word(word: Word): void {
    for (const part of word.parts) {
      if (part.kind !== "variable") continue;
      if (part.operator.endsWith("=")) this.names.add(part.name);
      for (const operand of part.operands) this.word(operand);
    }
  }
}

function literal(word: Word | undefined): string | undefined {
  if (word === undefined || word.parts.some((part) => part.kind !== "text")) return undefined;
  return word.parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}

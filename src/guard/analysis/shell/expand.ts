import type { WorkBudget } from "../../../kit/parser/index.js";
import { type Atom, expandBraces } from "./braces.js";
import { COMMAND_VARIABLES, LOADER_VARIABLES, PROMPT_VARIABLES } from "./command-variables.js";
import type { Environment } from "./environment.js";
import { type Content, type Field, isKnown, UNKNOWN, UNKNOWN_WORDS } from "./fields.js";
import type { Part, Script, Word } from "./tree.js";

/** What expansion needs from the walk. */
export interface Expander {
  readonly environment: Environment;
  readonly work: WorkBudget;
  /** Walks a substitution's commands; resolves to what they print. */
  substitute(script: Script, via: "$(…)" | "<(…)" | ">(…)"): Content;
  /** Walks a text that arithmetic or a prompt would run. */
  expandAgain(text: string): void;
  problem(what: string): void;
}

/** A stretch of a word. `split`: the value of an unquoted expansion. */
interface Piece {
  readonly text: string;
  readonly quoted: boolean;
  readonly split: boolean;
  /** Between two of the words of `"$@"`. */
  readonly breaks?: boolean;
  readonly content?: Content;
}

const FIELD_WORK = 40;
const LETTER_WORK = 10;
const MAX_FIELD_LENGTH = 262_144;
/** Arithmetic in a subscript runs what a quoted text holds: x='a[$(id)]'; echo $((x)). */
function hasSubscriptCommand(text: string): boolean {
  const open = text.indexOf("[");
  return open !== -1 && (text.includes("$(", open) || text.includes("`", open));
}

/** The words that one word becomes. */
export function expandWord(expander: Expander, word: Word): Field[] {
  const pieces = word.parts.flatMap((part) => expandPart(expander, part));
  const words = expandBraces(pieces.flatMap(toAtoms), expander.work);
  if (words === undefined) return [{ text: UNKNOWN_WORDS, pattern: false }];
  return words.flatMap((atoms) => toFields(expander, atoms));
}

/** A value: neither split nor read as a pattern. */
export function expandValue(expander: Expander, word: Word): string {
  const pieces = word.parts.flatMap((part) => expandPart(expander, part));
  const text = pieces.map((piece) => (piece.breaks === true ? " " : piece.text)).join("");
  expander.work.spend(text.length);
  if (text.length > MAX_FIELD_LENGTH) return UNKNOWN;
  if (hasSubscriptCommand(text)) expander.expandAgain(text);
  return text.replaceAll(UNKNOWN_WORDS, UNKNOWN);
}

/** The content of a word that is one `<(…)`. */
export function processContent(
  expander: Expander,
  word: Word,
): { text: string; content: Content | undefined } {
  const pieces = word.parts.flatMap((part) => expandPart(expander, part));
  const text = pieces.map((piece) => piece.text).join("");
  return {
    text: text.replaceAll(UNKNOWN_WORDS, UNKNOWN),
    content: pieces.find((piece) => piece.content)?.content,
  };
}

/** Walks what runs in a word whose value does not matter. */
export function evaluate(expander: Expander, word: Word): void {
  expandValue(expander, word);
}

function expandPart(expander: Expander, part: Part): Piece[] {
  switch (part.kind) {
    case "text":
      return [{ text: part.text, quoted: part.quoted, split: false }];
    case "variable":
      return expandVariable(expander, part);
    case "command": {
      const { text } = expander.substitute(part.script, "$(…)");
      return [value(text?.replace(/\n+$/, ""), part.quoted)];
    }
    case "process": {
      const content = expander.substitute(part.script, part.direction === "<" ? "<(…)" : ">(…)");
      return [{ text: UNKNOWN, quoted: true, split: false, content }];
    }
    case "arithmetic":
      for (const inner of part.parts) expandPart(expander, inner);
      checkArithmetic(expander, part.parts);
      return [value(undefined, true)];
    case "pattern":
      for (const inner of part.parts) expandPart(expander, inner);
      return [{ text: "*", quoted: false, split: false }];
    case "array":
      for (const word of part.words) evaluate(expander, word);
      return [value(undefined, true)];
  }
}

/** What a variable holds is arithmetic in its turn, subscripts and their substitutions included. */
function checkArithmetic(expander: Expander, parts: readonly Part[]): void {
  for (const part of parts) {
    const text = part.kind === "text" ? part.text : part.kind === "variable" ? part.name : "";
    for (const [name] of text.matchAll(/[A-Za-z_]\w*/g)) {
      const held = expander.environment.get(name);
      // What was found when the value was made need not be found again.
      if (held !== undefined && !hasSubscriptCommand(held) && /[$`\\]/.test(held))
        expander.problem("arithmetic on what is no number");
    }
  }
}

function value(text: string | undefined, quoted: boolean): Piece {
  if (text === undefined) return { text: quoted ? UNKNOWN : UNKNOWN_WORDS, quoted, split: false };
  return { text, quoted, split: !quoted };
}

function expandVariable(expander: Expander, part: Extract<Part, { kind: "variable" }>): Piece[] {
  const { name, operator, quoted } = part;
  const { environment } = expander;
  const isList = name === "@" || name === "*";
  if (operator === "" && isList) return expandPositional(environment, name, quoted);
  const current = /^\d+$/.test(name)
    ? positionalValue(environment, name)
    : isList
      ? undefined
      : environment.get(name);
  if (operator === "") return [value(current, quoted)];
  const operand = part.operands.map((word) => expandValue(expander, word)).at(-1) ?? "";
  if (operator === "@P") {
    if (current === undefined || current.includes("\\"))
      expander.problem(`\${${name}@P} runs what the variable holds`);
    else expander.expandAgain(current);
  }
  if (operator === "=" || operator === ":=") {
    environment.set(name, undefined);
    if (PROMPT_VARIABLES.has(name) || COMMAND_VARIABLES.has(name) || LOADER_VARIABLES.has(name))
      expander.problem(`\${${name}${operator}…} changes what runs`);
  }
  return [value(withOperator(operator, current, operand), quoted)];
}

/** The value of `${name<operator>operand}` where that is simple enough to tell. */
function withOperator(operator: string, current: string | undefined, operand: string): string | undefined {
  if (current === undefined || !isKnown(current)) return undefined;
  const isDefault = /^:?[-=]$/.test(operator);
  const isAlternative = /^:?\+$/.test(operator);
  const missing = operator.startsWith(":") && current === "";
  if (isDefault) return missing ? operand : current;
  if (isAlternative) return missing ? "" : operand;
  if (operator === ":") return sliceOf(current, operand);
  if (operand === "" && /^[\x20-\x7e]*$/.test(current)) {
    if (operator === "^^" || operator === "@U") return current.toUpperCase();
    if (operator === ",," || operator === "@L") return current.toLowerCase();
  }
  return operator.endsWith("?") ? current : undefined;
}

/** `${name:3:1}`, where both are plain numbers. */
function sliceOf(text: string, operand: string): string | undefined {
  const [, from, length] = /^ ?(0|[1-9]\d*)(?::(0|[1-9]\d*))?$/.exec(operand) ?? [];
  if (from === undefined || !/^[\x20-\x7e]*$/.test(text)) return undefined;
  return text.slice(Number(from), length === undefined ? undefined : Number(from) + Number(length));
}

function positionalValue(environment: Environment, name: string): string | undefined {
  const index = Number(name);
  if (index === 0) return environment.zero?.text;
  if (environment.positional === undefined) return undefined;
  if (environment.positional.some((field) => field.text.includes(UNKNOWN_WORDS))) return undefined;
  return environment.positional[index - 1]?.text ?? "";
}

function expandPositional({ positional, variables }: Environment, name: string, quoted: boolean): Piece[] {
  if (positional === undefined) return [{ text: UNKNOWN_WORDS, quoted: false, split: false }];
  // IFS stands between them.
  if (name === "*" && quoted && variables.get("IFS") !== " \t\n") return [value(undefined, true)];
  if (name === "*" && quoted) return [value(positional.map((field) => field.text).join(" "), true)];
  return positional.flatMap((field, index): Piece[] => [
    ...(index > 0 ? [{ text: "", quoted: true, split: false, breaks: true }] : []),
    { text: field.text, quoted, split: !quoted },
  ]);
}

function toAtoms(piece: Piece): Atom<Piece>[] {
  if (piece.quoted || piece.split || piece.breaks === true || !/[{},]/.test(piece.text))
    return [{ item: piece }];
  return [...piece.text];
}

function hasBrackets(text: string): boolean {
  const open = text.indexOf("[");
  return open !== -1 && text.includes("]", open);
}

/** One word that braces have made, split where unquoted values hold blanks. */
function toFields(expander: Expander, atoms: readonly Atom<Piece>[]): Field[] {
  const fields: Field[] = [];
  let text = "";
  let pattern = false;
  let bracket = false;
  let started = false;
  let content: Content | undefined;
  const end = () => {
    expander.work.spend(FIELD_WORK + text.length);
    if (started && hasSubscriptCommand(text)) expander.expandAgain(text);
    if (started) fields.push(content === undefined ? { text, pattern } : { text, pattern, content });
    text = "";
    pattern = false;
    bracket = false;
    started = false;
    content = undefined;
  };
  const add = (more: string, quoted: boolean) => {
    if (text.length + more.length > MAX_FIELD_LENGTH) text = UNKNOWN;
    else text += more;
    if (!quoted) {
      pattern ||= /[*?]/.test(more) || (bracket && more.includes("]")) || hasBrackets(more);
      bracket ||= more.includes("[");
    }
    started ||= quoted || more !== "";
  };
  const splits = expander.environment.get("IFS") === " \t\n";
  for (const atom of atoms) {
    if (typeof atom === "string") {
      expander.work.spend(LETTER_WORK);
      add(atom, false);
      continue;
    }
    const piece = atom.item;
    expander.work.spend(FIELD_WORK + piece.text.length);
    content ??= piece.content;
    if (piece.breaks === true) end();
    else if (!piece.split) add(piece.text, piece.quoted);
    else if (!splits) add(piece.text === "" ? "" : UNKNOWN_WORDS, false);
    else {
      const words = piece.text.split(/[ \t\n]+/);
      words.forEach((each, index) => {
        if (index > 0) end();
        if (each !== "") add(each, false);
      });
    }
  }
  end();
  return fields;
}

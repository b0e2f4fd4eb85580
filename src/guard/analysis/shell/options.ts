import { type Field, startsUnknown } from "./fields.js";

/** Which options of a program take a value of their own. */
export interface OptionTable {
  /** Letters: `-n 5` and `-n5`. */
  readonly short?: string;
  /** Letters whose value can only be attached: `-i.bak`. */
  readonly attached?: string;
  /** Names: `--signal KILL`, `--signal=KILL`, and `-signal` for programs with one dash. */
  readonly long?: readonly string[];
  /** Behind one of these there are no more options. */
  readonly last?: readonly string[];
  /** Words with a plus sign are options too: `+x`. */
  readonly plus?: boolean;
}

export interface Options {
  /** Each option with its value, if it has one: letters alone, long ones with their dashes. */
  readonly given: readonly { readonly name: string; readonly value: Field | undefined }[];
  readonly operands: readonly Field[];
  /** An option or its value may turn out to be something else when it runs. */
  readonly uncertain: boolean;
}

/** Reads options up to the first operand, as `getopt` does for programs that run another one. */
export function readOptions(args: readonly Field[], table: OptionTable): Options {
  const { end, ...options } = readOptionsFrom(args, 0, table);
  return { ...options, operands: args.slice(end) };
}

/** The same from one of the words on; the first operand is at `end`. */
export function readOptionsFrom(
  args: readonly Field[],
  from: number,
  table: OptionTable,
): Pick<Options, "given" | "uncertain"> & { readonly end: number } {
  const given: { name: string; value: Field | undefined }[] = [];
  let uncertain = false;
  let index = from;
  for (; index < args.length; index++) {
    const field = args[index]!;
    const { text } = field;
    if (text === "--") {
      index += 1;
      break;
    }
    if (startsUnknown(field) || mayGive(field, args.slice(index + 1, index + 64))) uncertain = true;
    if (text === "-" || !(text.startsWith("-") || (table.plus === true && text.startsWith("+")))) break;
    if (text.startsWith("--")) {
      const equals = text.indexOf("=");
      const written = equals === -1 ? text : text.slice(0, equals);
      const name = fullName(table, written);
      // Cut short it may be another option, which takes no value.
      if (equals === -1 && name !== written) uncertain = true;
      if (equals !== -1) given.push({ name, value: { ...field, text: text.slice(equals + 1) } });
      else if (table.long?.includes(name) === true) given.push({ name, value: args[++index] });
      else given.push({ name, value: undefined });
    } else {
      index = readCluster(args, index, table, given);
    }
    if (table.last?.includes(given.at(-1)?.name ?? "") === true) {
      index += 1;
      break;
    }
    uncertain ||= (given.at(-1)?.value !== undefined && startsUnknownWords(given.at(-1)!.value!)) ?? false;
  }
  return { given, end: Math.min(index, args.length), uncertain };
}

/** A long option may be cut short as long as it stays the only one. */
function fullName({ long = [] }: OptionTable, name: string): string {
  return long.find((each) => each === name) ?? long.find((each) => each.startsWith(name)) ?? name;
}

/** True for a pattern in whose place there may be an option: a file's name, or nothing and then what follows. */
function mayGive({ pattern, text }: Field, following: readonly Field[]): boolean {
  return pattern && (/^[*?[]/.test(text) || following.some((next) => next.text.startsWith("-")));
}

function startsUnknownWords(field: Field): boolean {
  return field.text.includes("\ue001");
}

function readCluster(
  args: readonly Field[],
  start: number,
  table: OptionTable,
  given: { name: string; value: Field | undefined }[],
): number {
  const field = args[start]!;
  const letters = field.text.slice(1);
  for (let at = 0; at < letters.length; at++) {
    const name = letters[at]!;
    const rest = letters.slice(at + 1);
    if (table.attached?.includes(name) === true) {
      given.push({ name, value: rest === "" ? undefined : { ...field, text: rest } });
      return start;
    }
    if (table.short?.includes(name) === true) {
      given.push({ name, value: rest === "" ? args[start + 1] : { ...field, text: rest } });
      return rest === "" ? start + 1 : start;
    }
    given.push({ name, value: undefined });
  }
  return start;
}

/** The last value given for one of the names. */
export function optionValue(options: Pick<Options, "given">, ...names: readonly string[]): Field | undefined {
  return options.given.findLast((option) => names.includes(option.name))?.value;
}

export function has(options: Pick<Options, "given">, ...names: readonly string[]): boolean {
  return options.given.some((option) => names.includes(option.name));
}

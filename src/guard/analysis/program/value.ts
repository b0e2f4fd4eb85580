import { UNKNOWN as UNKNOWN_TEXT } from "../shell/fields.js";

/** What is known about a value before the program runs: every alternative, as far as it could be folded. */
export interface Value {
  /** Constant texts (and bytes); HOLE stands for a part that only the run knows. */
  readonly texts: readonly string[];
  readonly numbers: readonly number[];
  /** Qualified names it may be: "os.system", "socket.socket()" for what a call returns. */
  readonly names: readonly string[];
  readonly items: readonly Value[] | undefined;
  /** For a mapping, the key of each item; undefined: not constant. */
  readonly keys: readonly (string | undefined)[] | undefined;
  /** Where it comes from: a set of MARKS. */
  readonly marks: number;
}

/** Where a value comes from; what flows into a call decides how bad the call is. */
export const MARKS = {
  /** Put together from constant pieces. */
  built: 1,
  /** Was hidden: base64, hex, character codes, reversed, compressed. */
  decoded: 2,
  /** Came over the network. */
  network: 4,
  /** The contents of a file with secrets. */
  secret: 8,
  /** The whole environment. */
  environment: 16,
  /** One environment variable that names a credential. */
  credential: 32,
  /** Names of all files of the home directory or of the whole system. */
  wholeTree: 64,
  /** May also be something that is not known. */
  partial: 128,
  /** A list that may have more items behind the known ones. */
  longer: 256,
  /** May be more functions than are followed. */
  lost: 512,
  /** Numbers of processes that the program did not start: all of /proc, a range, what `pgrep` prints. */
  others: 1024,
} as const;

/** The same sign as in the texts that a shell walk is given. */
export const HOLE = UNKNOWN_TEXT;
export const UNKNOWN: Value = {
  texts: [],
  numbers: [],
  names: [],
  items: undefined,
  keys: undefined,
  marks: 0,
};

const MAX_ALTERNATIVES = 8;
const MAX_NAMES = 64;
const MAX_TEXT = 16_384;
export const MAX_ITEMS = 1024;

export function text(value: string, marks = 0): Value {
  return value.length > MAX_TEXT
    ? { ...UNKNOWN, texts: [`${value.slice(0, MAX_TEXT - 1)}${HOLE}`], marks }
    : { ...UNKNOWN, texts: [value], marks };
}

export function number(value: number): Value {
  return Number.isFinite(value) ? { ...UNKNOWN, numbers: [value] } : UNKNOWN;
}

export function named(...names: string[]): Value {
  return { ...UNKNOWN, names };
}

export function list(items: readonly Value[], marks = 0): Value {
  const kept = items.slice(0, MAX_ITEMS);
  let all = items.length > MAX_ITEMS ? marks | MARKS.longer : marks;
  for (const item of kept) all |= item.marks & ~(MARKS.partial | MARKS.longer);
  return { ...UNKNOWN, items: kept, marks: all };
}

export function mapping(keys: readonly (string | undefined)[], items: readonly Value[]): Value {
  return { ...list(items), keys: keys.slice(0, MAX_ITEMS) };
}

export function mark(value: Value, marks: number): Value {
  return (value.marks | marks) === value.marks ? value : { ...value, marks: value.marks | marks };
}

export function unmark(value: Value, marks: number): Value {
  return (value.marks & marks) === 0 ? value : { ...value, marks: value.marks & ~marks };
}

/** One value that may be any of these; nothing is said about what is not known. */
export function anyOf(values: readonly Value[]): Value {
  const known = values.filter((value) => value !== UNKNOWN);
  if (known.length === 0) return UNKNOWN;
  if (known.length === 1) return known[0]!;
  const texts = alternatives(known.map((value) => value.texts));
  const names = alternatives(known.map((value) => value.names));
  const lists = known.filter((value) => value.items !== undefined);
  const numbers = alternatives(known.map((value) => value.numbers));
  const cut =
    texts.size > MAX_ALTERNATIVES || numbers.size > MAX_ALTERNATIVES || lists.length > 1 ? MARKS.partial : 0;
  return {
    texts: [...texts].slice(0, MAX_ALTERNATIVES),
    numbers: [...numbers].slice(0, MAX_ALTERNATIVES),
    names: [...names].slice(0, MAX_NAMES),
    items: lists[0]?.items,
    keys: lists[0]?.keys,
    marks: marksOf(known) | cut | (names.size > MAX_NAMES ? MARKS.lost : 0),
  };
}

/** The same where it may be each of them: one that is not known leaves the whole partly unknown. */
export function oneOf(values: readonly Value[]): Value {
  const one = anyOf(values);
  return one !== UNKNOWN && values.some(isUnknown) ? mark(one, MARKS.partial) : one;
}

/** Neither a constant nor nothing at all; what a function returns is known by its name only. */
function isUnknown({ texts, numbers, names, items }: Value): boolean {
  return texts.length + numbers.length === 0 && items === undefined && !names.includes(OFF);
}

/** What None, null and undefined are folded to. */
export const OFF = "<off>";

/** What it is for certain: one text; undefined when there are several, or when it may be something else. */
export function certainText(value: Value): string | undefined {
  return value.texts.length === 1 && (value.marks & MARKS.partial) === 0 ? value.texts[0] : undefined;
}

/** It is one number, and nothing else. */
export function isCertainNumber({ numbers, texts, marks }: Value): boolean {
  return numbers.length === 1 && texts.length === 0 && (marks & MARKS.partial) === 0;
}

function alternatives<T>(groups: readonly (readonly T[])[]): Set<T> {
  const all = new Set<T>();
  for (const group of groups) {
    for (const one of group) if (all.size <= MAX_NAMES) all.add(one);
  }
  return all;
}

export function marksOf(values: readonly Value[]): number {
  let marks = 0;
  for (const value of values) marks |= value.marks;
  return marks;
}

export type Scalar = string | number;

/** Each text and number that a value may be. */
function scalarsOf({ texts, numbers }: Value): readonly Scalar[] {
  return numbers.length === 0 ? texts : [...texts, ...numbers];
}

/** The same value, with a hole where nothing constant is known. */
export function orHole(value: Value | undefined): Value {
  if (value === undefined) return { ...UNKNOWN, texts: [HOLE] };
  return value.texts.length + value.numbers.length > 0
    ? value
    : { ...UNKNOWN, texts: [HOLE], marks: value.marks };
}

/**
 * What a pure function gives for every choice among the alternatives of what it is given. Where it gives undefined, and
 * where there are more choices than are gone through, the result may be something that is not known.
 */
export function combined(
  given: readonly Value[],
  compute: (...chosen: Scalar[]) => Scalar | undefined,
  marks = 0,
): Value {
  let all = marks | marksOf(given);
  let ways: Scalar[][] = [[]];
  for (const value of given) {
    const scalars = scalarsOf(value);
    if (scalars.length === 0) return { ...UNKNOWN, marks: all };
    if (ways.length * scalars.length > MAX_ALTERNATIVES) all |= MARKS.partial;
    ways = ways.flatMap((way) => scalars.map((one) => [...way, one])).slice(0, MAX_ALTERNATIVES);
  }
  const results = new Set(ways.map((way) => compute(...way)));
  const texts: string[] = [];
  const numbers: number[] = [];
  for (const one of results) {
    if (typeof one === "string") texts.push(capped(one));
    else if (one !== undefined && Number.isFinite(one)) numbers.push(one);
    else all |= MARKS.partial;
  }
  return texts.length + numbers.length === 0 && all === MARKS.partial
    ? UNKNOWN
    : { ...UNKNOWN, texts, numbers, marks: all };
}

/** The texts of one behind the other; a side without texts is a hole. */
export function concat(a: Value, b: Value): Value {
  const marks = a.marks | b.marks;
  if (a.items !== undefined && b.items !== undefined) return list([...a.items, ...b.items], marks);
  if (a.texts.length === 0 && b.texts.length === 0) return marks === 0 ? UNKNOWN : { ...UNKNOWN, marks };
  const built = a.texts.length > 0 && b.texts.length > 0 ? MARKS.built : 0;
  return combined([orHole(a), orHole(b)], (x, y) => `${x}${y}`, built);
}

/** Applies a pure function to every text. */
export function mapTexts(value: Value, change: (text: string) => string | undefined, marks = 0): Value {
  return combined([{ ...value, numbers: [] }], (one) => change(one as string), marks);
}

function capped(value: string): string {
  return value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT - 1)}${HOLE}` : value;
}

/** The texts of items with a separator between, for every alternative; what is no text is a hole. */
export function joined(items: readonly Value[], separator: string, marks = 0): Value {
  let all = marks | marksOf(items) | (items.length > 1 ? MARKS.built : 0);
  let ways = [""];
  items.some((item, index) => {
    const between = index === 0 ? "" : separator;
    const full = ways[0]!.length > MAX_TEXT;
    const scalars = full ? [HOLE] : scalarsOf(orHole(item));
    if (ways.length * scalars.length > MAX_ALTERNATIVES) all |= MARKS.partial;
    ways = ways.flatMap((way) => scalars.map((one) => way + between + one)).slice(0, MAX_ALTERNATIVES);
    return full;
  });
  return { ...UNKNOWN, texts: [...new Set(ways)].map(capped), marks: all };
}

/** Path segments put together the way every language does: an absolute one starts again. */
export function joinedPath(parts: readonly Value[]): Value {
  if (parts.length === 0) return UNKNOWN;
  const join = (path: string, next: string) =>
    /^[/~]/.test(next) || path === "" ? next : path.endsWith("/") ? path + next : `${path}/${next}`;
  const whole = combined(parts.map(orHole), (...texts) => texts.map(String).reduce(join, ""));
  return unmark(whole, MARKS.built);
}

/** A path without its last part; from the working directory it leads up. */
export function directoryOf(path: string): string {
  if (/^\.{1,2}$|\/\.\.$/.test(path)) return path === "." ? ".." : `${path}/..`;
  const cut = path.replace(/\/+$/, "").lastIndexOf("/");
  return cut === -1 ? "." : cut === 0 ? "/" : path.slice(0, cut);
}

/** A value as JSON, as far as it is constant. */
export function serialized(value: Value | undefined): Value {
  const marks = value?.marks ?? 0;
  const written = (one: Value, depth: number): string => {
    if (one.items === undefined || depth > 3)
      return one.texts[0] === undefined ? "null" : `"${one.texts[0]}"`;
    const items = one.items.slice(0, 16).map((item) => written(item, depth + 1));
    const { keys } = one;
    return keys === undefined ? `[${items}]` : `{${items.map((item, index) => `"${keys[index]}":${item}`)}}`;
  };
  if (value?.items === undefined) return { ...UNKNOWN, texts: value?.texts ?? [], marks };
  return text(written(value, 0), marks | MARKS.partial);
}

/** What is constant in it, at any depth down to a few levels; so many texts at most. */
export function allTexts(value: Value, limit = 64): string[] {
  const texts: string[] = [];
  let level: readonly Value[] = [value];
  // Lists of lists of lists are cheap to write and dear to go through.
  for (let depth = 0; depth < 4 && level.length > 0 && texts.length < limit; depth++) {
    for (const one of level) texts.push(...one.texts);
    level = level.flatMap((one) => (one.items ?? []).slice(0, limit / level.length + 1)).slice(0, limit);
  }
  return texts.slice(0, limit);
}

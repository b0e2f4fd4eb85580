import { TimeSlice } from "../../../runtime/workspace/index.js";

/** How many characters are searched before other work of the process may run. */
const CHUNK = 64 * 1024;
/** A longer file is not searched for similar text. */
const MAX_MISS_CHARACTERS = 1024 * 1024;
const LISTED_LINES = 5;
const NEWLINE = 10;

/**
 * Where a text stands in another, without overlaps, so many at most. The work grows with the lengths of both and with nothing
 * else: `indexOf` takes their product for texts that are made for it.
 */
export async function findAll(text: string, wanted: string, most: number): Promise<number[]> {
  const places: number[] = [];
  const fallbacks = fallbacksOf(wanted);
  let matched = 0;
  const look = (from: number, to: number) => {
    for (let at = from; at < to && places.length < most; at++) {
      const code = text.charCodeAt(at);
      while (matched > 0 && code !== wanted.charCodeAt(matched)) matched = fallbacks[matched - 1]!;
      if (code === wanted.charCodeAt(matched)) matched++;
      if (matched === wanted.length) {
        places.push(at + 1 - matched);
        matched = 0;
      }
    }
  };
  const slice = new TimeSlice();
  for (let from = 0; from < text.length && places.length < most; from += CHUNK) {
    look(from, Math.min(from + CHUNK, text.length));
    await slice.pass();
  }
  return places;
}

/** Of each beginning of a text: how much of its end is a beginning as well (Knuth, Morris and Pratt). */
function fallbacksOf(wanted: string): Int32Array {
  const fallbacks = new Int32Array(wanted.length);
  for (let at = 1, matched = 0; at < wanted.length; at++) {
    const code = wanted.charCodeAt(at);
    while (matched > 0 && code !== wanted.charCodeAt(matched)) matched = fallbacks[matched - 1]!;
    if (code === wanted.charCodeAt(matched)) matched++;
    fallbacks[at] = matched;
  }
  return fallbacks;
}

/** The lines of places in a text, from 1; places come in their order. */
export function linesOf(text: string, places: readonly number[]): number[] {
  let [line, at] = [1, 0];
  return places.map((place) => {
    for (; at < place; at++) if (text.charCodeAt(at) === NEWLINE) line++;
    return line;
  });
}

/** What may be meant by a text that is not there: other whitespace, or only its first line. */
export async function describeMisses(text: string, wanted: string): Promise<string> {
  if (text.length <= MAX_MISS_CHARACTERS) {
    const similar = await findDespiteSpaces(text, wanted);
    if (similar !== undefined) {
      const [first, last] = similar;
      return `Lines ${first} to ${last} differ in whitespace only: copy them exactly.`;
    }
    const start = wanted
      .split("\n")
      .map((line) => line.trim())
      .find((line) => line !== "");
    const places = start === undefined ? [] : await findAll(text, start, LISTED_LINES);
    if (places.length > 0) {
      const lines = [...new Set(linesOf(text, places))];
      return `Its first line stands at line ${lines.join(", ")}; the lines after it differ. Read the file again.`;
    }
  }
  return "Read the file again: it may have changed.";
}

/** The first and the last line of what is the same but for whitespace. */
async function findDespiteSpaces(text: string, wanted: string): Promise<[number, number] | undefined> {
  const [squeezed, sought] = [await squeezeLines(text), await squeezeLines(wanted)];
  if (sought.text === "") return undefined;
  const { starts, numbers } = squeezed;
  for (const place of await findAll(squeezed.text, sought.text, Number.POSITIVE_INFINITY)) {
    const end = place + sought.text.length;
    const first = indexIn(starts, place);
    const next = end === squeezed.text.length ? starts.length : indexIn(starts, end + 1);
    if (first !== -1 && next !== -1) return [numbers[first]!, numbers[next - 1]!];
  }
  return undefined;
}

/** Where a number stands in a list that is sorted; -1: nowhere. */
function indexIn(sorted: readonly number[], wanted: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === wanted ? low : -1;
}

interface SqueezedText {
  /** The lines with something in them, with single spaces in them and between them. */
  readonly text: string;
  /** Where each of these lines starts in it, and which line it was. */
  readonly starts: readonly number[];
  readonly numbers: readonly number[];
}

async function squeezeLines(text: string): Promise<SqueezedText> {
  const [parts, starts, numbers]: [string[], number[], number[]] = [[], [], []];
  const slice = new TimeSlice();
  let length = 0;
  for (const [index, line] of text.split("\n").entries()) {
    const squeezed = line.trim().replaceAll(/\s+/g, " ");
    if (squeezed !== "") {
      parts.push(squeezed);
      starts.push(length);
      numbers.push(index + 1);
      length += squeezed.length + 1;
    }
    if (index % 1000 === 999) await slice.pass();
  }
  return { text: parts.join(" "), starts, numbers };
}

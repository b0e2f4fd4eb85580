import type { WorkBudget } from "../../../kit/parser/index.js";

/** A letter that braces may use, or something that they only carry along. */
export type Atom<T> = string | { readonly item: T };

const ATOM_WORK = 8;
const MAX_WORDS = 512;
/** No ordinary script has longer words with braces. */
const MAX_ATOMS = 4096;
const NUMBERS = /^(-?\d{1,9})\.\.(-?\d{1,9})(?:\.\.(-?\d{1,9}))?$/;
const LETTERS = /^([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d{1,9}))?$/;

/** `a{b,c}` and `{1..3}` as a shell writes them out; undefined when that makes too many words. */
export function expandBraces<T>(
  atoms: readonly Atom<T>[],
  work: WorkBudget,
): readonly (readonly Atom<T>[])[] | undefined {
  if (!atoms.includes("{")) return [atoms];
  if (atoms.length > MAX_ATOMS) return undefined;
  const budget = { left: MAX_WORDS * 8, work };
  const words = expand(atoms, budget);
  return words !== undefined && words.length <= MAX_WORDS ? words : undefined;
}

interface Budget {
  /** Words. */
  left: number;
  readonly work: WorkBudget;
}

function expand<T>(atoms: readonly Atom<T>[], budget: Budget): Atom<T>[][] | undefined {
  budget.work.spend(ATOM_WORK * atoms.length);
  const group = findGroup(atoms);
  if (group === undefined) return [[...atoms]];
  const tails = expand(atoms.slice(group.end + 1), budget);
  if (tails === undefined) return undefined;
  const before = atoms.slice(0, group.start);
  const words: Atom<T>[][] = [];
  for (const choice of group.choices) {
    const middles = expand(choice, budget);
    if (middles === undefined) return undefined;
    for (const middle of middles) {
      for (const tail of tails) {
        budget.left -= 1;
        if (budget.left < 0) return undefined;
        budget.work.spend(ATOM_WORK * (before.length + middle.length + tail.length));
        words.push([...before, ...middle, ...tail]);
      }
    }
  }
  return words;
}

interface Group<T> {
  readonly start: number;
  readonly end: number;
  readonly choices: readonly (readonly Atom<T>[])[];
}

/** The first braces that a shell writes out: with a comma of their own, or a sequence. */
function findGroup<T>(atoms: readonly Atom<T>[]): Group<T> | undefined {
  const open: { start: number; commas: number[] }[] = [];
  let best: { start: number; commas: readonly number[]; end: number } | undefined;
  for (let index = 0; index < atoms.length; index++) {
    const atom = atoms[index];
    if (atom === "{") open.push({ start: index, commas: [] });
    else if (atom === ",") open.at(-1)?.commas.push(index);
    else if (atom === "}") {
      const top = open.pop();
      if (top === undefined) continue;
      const counts = top.commas.length > 0 || sequenceIn(atoms, top.start, index) !== undefined;
      // An outer group comes before the ones inside of it.
      if (counts && (best === undefined || top.start < best.start)) best = { ...top, end: index };
      if (open.length === 0 && best !== undefined) break;
    }
  }
  if (best === undefined) return undefined;
  const { start, commas, end } = best;
  const cuts = [start, ...commas, end];
  const choices =
    commas.length > 0
      ? cuts.slice(1).map((cut, index) => atoms.slice(cuts[index]! + 1, cut))
      : sequenceIn(atoms, start, end)!.map((word): Atom<T>[] => [...word]);
  return { start, end, choices };
}

function sequenceIn<T>(atoms: readonly Atom<T>[], start: number, end: number): string[] | undefined {
  if (end - start > 32) return undefined;
  const inner = atoms.slice(start + 1, end);
  return inner.some((atom) => typeof atom !== "string") ? undefined : sequence(inner.join(""));
}

function sequence(text: string): string[] | undefined {
  const numbers = NUMBERS.exec(text);
  const letters = LETTERS.exec(text);
  if (numbers === null && letters === null) return undefined;
  const [from, to] = numbers
    ? [Number(numbers[1]), Number(numbers[2])]
    : [letters![1]!.charCodeAt(0), letters![2]!.charCodeAt(0)];
  const step = Math.abs(Number((numbers ?? letters)![3] ?? 1)) || 1;
  const count = Math.floor(Math.abs(to - from) / step) + 1;
  const direction = to < from ? -step : step;
  // One more than is allowed is as good as all of them.
  const values = Array.from(
    { length: Math.min(count, MAX_WORDS + 1) },
    (_, index) => from + index * direction,
  );
  return values.map((value) => (numbers ? String(value) : String.fromCharCode(value)));
}

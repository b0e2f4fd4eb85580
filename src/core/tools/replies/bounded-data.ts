import { cutMiddle } from "./model-text.js";

/** What an answer's structured part may hold of texts, names and numbers together. */
const MAX_DATA_CHARACTERS = 20_000;
/** One text leaves room for the others. */
const MAX_STRING_CHARACTERS = 5_000;
const MAX_DEPTH = 8;
const MAX_KEY_CHARACTERS = 200;
/** Charged for each value besides its text: quotes, commas, numbers, empty lists. */
const VALUE_CHARACTERS = 8;

/** A copy of a reply's data with a bounded size; `isCut`: something is missing in it. */
export function boundData(data: Readonly<Record<string, unknown>>): {
  readonly data: Readonly<Record<string, unknown>>;
  readonly isCut: boolean;
} {
  const copy = new BoundedCopy();
  const bounded = copy.of(data, 0) as Readonly<Record<string, unknown>>;
  return { data: bounded, isCut: copy.isCut };
}

class BoundedCopy {
  isCut = false;
  #left = MAX_DATA_CHARACTERS;

  of(value: unknown, depth: number): unknown {
    this.#left -= VALUE_CHARACTERS;
    if (typeof value === "string") return this.#text(value, MAX_STRING_CHARACTERS);
    if (typeof value !== "object" || value === null) return value;
    if (depth >= MAX_DEPTH) return this.#nothing();
    return Array.isArray(value) ? this.#list(value, depth + 1) : this.#record(value, depth + 1);
  }

  #text(text: string, most: number): string {
    const room = Math.max(0, Math.min(most, this.#left));
    const cut = cutMiddle(text, room);
    if (cut.length !== text.length) this.isCut = true;
    this.#left -= cut.length;
    return room === 0 && text !== "" ? "" : cut;
  }

  #list(list: readonly unknown[], depth: number): unknown[] {
    const kept: unknown[] = [];
    for (const each of list) {
      if (this.#left <= 0) {
        this.isCut = true;
        break;
      }
      kept.push(this.of(each, depth));
    }
    return kept;
  }

  /** Numbers and flags first: a long text must not take the exit code's place. */
  #record(record: object, depth: number): Record<string, unknown> {
    const entries = Object.entries(record).filter(([, each]) => each !== undefined);
    const isShort = ([, each]: [string, unknown]) => typeof each !== "string" && typeof each !== "object";
    const kept = new Map<string, unknown>();
    for (const [name, each] of [...entries.filter(isShort), ...entries.filter((entry) => !isShort(entry))]) {
      if (this.#left <= 0) {
        this.isCut = true;
        break;
      }
      if (name.length > MAX_KEY_CHARACTERS) {
        this.isCut = true;
        continue;
      }
      this.#left -= name.length;
      kept.set(name, this.of(each, depth));
    }
    return Object.fromEntries(entries.flatMap(([name]) => (kept.has(name) ? [[name, kept.get(name)]] : [])));
  }

  #nothing(): null {
    this.isCut = true;
    return null;
  }
}

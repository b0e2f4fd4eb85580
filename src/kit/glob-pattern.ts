const MAX_ALTERNATIVES = 256;

export type Token =
  | { readonly kind: "literal"; readonly character: string }
  | { readonly kind: "any" }
  | { readonly kind: "star" }
  | {
      readonly kind: "set";
      readonly negated: boolean;
      readonly ranges: readonly (readonly [string, string])[];
    };

/** One path component's tokens, or `**`: any number of components. */
export type Segment = readonly Token[] | "globstar";

/** Makes the error for an invalid pattern. */
export type Complain = (why: string) => Error;

/** Reads one component of a pattern: `*`, `?`, `[a-z]`, `[!a]`, and a backslash before a literal. */
export function parseSegment(text: string, complain: Complain): Segment {
  if (text === "**") return "globstar";
  const characters = [...text];
  const tokens: Token[] = [];
  for (let index = 0; index < characters.length; index++) {
    const character = characters[index]!;
    if (character === "*") {
      if (tokens.at(-1)?.kind !== "star") tokens.push({ kind: "star" });
    } else if (character === "?") {
      tokens.push({ kind: "any" });
    } else if (character === "[") {
      const end = characters.indexOf("]", index + (/[!^]/.test(characters[index + 1] ?? "") ? 3 : 2));
      if (end === -1) throw complain('"[" has no "]"');
      tokens.push(parseSet(characters.slice(index + 1, end)));
      index = end;
    } else if (character === "\\") {
      const next = characters[++index];
      if (next === undefined) throw complain("it ends with a backslash");
      tokens.push({ kind: "literal", character: next });
    } else {
      tokens.push({ kind: "literal", character });
    }
  }
  return tokens;
}

function parseSet(characters: readonly string[]): Token {
  const negated = characters[0] === "!" || characters[0] === "^";
  const ranges: [string, string][] = [];
  for (let index = negated ? 1 : 0; index < characters.length; index++) {
    const from = characters[index]!;
    const to = characters[index + 2];
    if (characters[index + 1] === "-" && to !== undefined) {
      ranges.push([from, to]);
      index += 2;
    } else {
      ranges.push([from, from]);
    }
  }
  return { kind: "set", negated, ranges };
}

/** Replaces the first `{a,b}` by each of its alternatives until none is left. */
export function expandBraces(pattern: string, complain: Complain): string[] {
  const done: string[] = [];
  const pending = [pattern];
  for (let current = pending.pop(); current !== undefined; current = pending.pop()) {
    const group = findBraces(current, complain);
    if (group === undefined) {
      done.push(current);
    } else {
      for (const choice of group.choices) pending.push(group.before + choice + group.after);
    }
    if (done.length + pending.length > MAX_ALTERNATIVES) {
      throw complain(`its braces make more than ${MAX_ALTERNATIVES} patterns`);
    }
  }
  return done;
}

function findBraces(text: string, complain: Complain) {
  let depth = 0;
  let start = -1;
  const commas: number[] = [];
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (character === "\\") index++;
    else if (character === "{" && depth++ === 0) start = index;
    else if (character === "," && depth === 1) commas.push(index);
    else if (character === "}" && depth > 0 && --depth === 0) {
      const cuts = [start, ...commas, index];
      const choices = cuts.slice(1).map((cut, position) => text.slice(cuts[position]! + 1, cut));
      return { before: text.slice(0, start), choices, after: text.slice(index + 1) };
    }
  }
  if (depth > 0) throw complain('"{" has no "}"');
  return undefined;
}

/** Does a token stand for this one character? A star stands for it, and for more. */
export function accepts(token: Token, character: string): boolean {
  if (token.kind === "literal") return token.character === character;
  if (token.kind !== "set") return true;
  return token.ranges.some(([from, to]) => from <= character && character <= to) !== token.negated;
}

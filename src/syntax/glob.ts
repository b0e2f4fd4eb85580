import { SandboxError } from "../errors.js";
import { visible } from "../visible.js";

const MAX_ALTERNATIVES = 256;
const MAX_PATTERN_CHARACTERS = 1024;

type Token =
  | { readonly kind: "literal"; readonly character: string }
  | { readonly kind: "any" }
  | { readonly kind: "star" }
  | {
      readonly kind: "set";
      readonly negated: boolean;
      readonly ranges: readonly (readonly [string, string])[];
    };

/** One path component's tokens, or `**`: any number of components. */
type Segment = readonly Token[] | "globstar";

export type PathMatcher = (path: string) => boolean;

/**
 * Compiles a glob: `*`, `?`, `[a-z]`, `[!a]`, `{a,b}`, a `**` component, and a backslash before a literal. Dots
 * are ordinary. A pattern without a slash matches the last component at any depth. Matching never takes more than
 * the product of the two lengths: no regular expression is involved, so there is nothing to backtrack.
 */
export function compileGlob(pattern: string): PathMatcher {
  if (typeof pattern !== "string" || pattern === "") throw invalid(String(pattern), "it is empty");
  if (pattern.length > MAX_PATTERN_CHARACTERS) throw invalid(pattern, "it is too long");
  const alternatives = expandBraces(pattern).map(parseAlternative);
  return (path) => {
    const components = path.split("/").map((component) => [...component]);
    return alternatives.some((segments) => matchSegments(segments, components));
  };
}

/** True when the text would be read as more than a plain path. */
export function isGlob(text: string): boolean {
  return /[*?[{\\]/.test(text);
}

function parseAlternative(pattern: string): Segment[] {
  const anchored = pattern.replace(/^(?:\.?\/)+/, "");
  const trimmed = anchored.replace(/\/+$/, "");
  if (trimmed === "") throw invalid(pattern, "it names nothing");
  const segments = trimmed
    .split(/\/+/)
    .map((part): Segment => (part === "**" ? "globstar" : parseSegment(part, pattern)));
  // `secrets/**` is what is inside, not `secrets` itself.
  if (segments.length > 1 && segments.at(-1) === "globstar") segments.push([{ kind: "star" }]);
  const floating = !trimmed.includes("/") && anchored === pattern;
  return floating ? ["globstar", ...segments] : segments;
}

function parseSegment(text: string, pattern: string): Token[] {
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
      if (end === -1) throw invalid(pattern, '"[" has no "]"');
      tokens.push(parseSet(characters.slice(index + 1, end)));
      index = end;
    } else if (character === "\\") {
      const next = characters[++index];
      if (next === undefined) throw invalid(pattern, "it ends with a backslash");
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
function expandBraces(pattern: string): string[] {
  const done: string[] = [];
  const pending = [pattern];
  for (let current = pending.pop(); current !== undefined; current = pending.pop()) {
    const group = findBraces(current, pattern);
    if (group === undefined) {
      done.push(current);
    } else {
      for (const choice of group.choices) pending.push(group.before + choice + group.after);
    }
    if (done.length + pending.length > MAX_ALTERNATIVES) {
      throw invalid(pattern, `its braces make more than ${MAX_ALTERNATIVES} patterns`);
    }
  }
  return done;
}

function findBraces(text: string, pattern: string) {
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
  if (depth > 0) throw invalid(pattern, '"{" has no "}"');
  return undefined;
}

function matchSegments(segments: readonly Segment[], components: readonly (readonly string[])[]): boolean {
  return matchGreedy(
    segments,
    components,
    (segment) => segment === "globstar",
    (segment, component) => segment !== "globstar" && matchComponent(segment, component),
  );
}

function matchComponent(tokens: readonly Token[], characters: readonly string[]): boolean {
  return matchGreedy(tokens, characters, (token) => token.kind === "star", matchCharacter);
}

function matchCharacter(token: Token, character: string): boolean {
  if (token.kind === "literal") return token.character === character;
  if (token.kind === "set") {
    return token.ranges.some(([from, to]) => from <= character && character <= to) !== token.negated;
  }
  return token.kind === "any";
}

/** Wildcard matching that returns only to the last star: earlier stars never need to give more. */
function matchGreedy<P, I>(
  pattern: readonly P[],
  items: readonly I[],
  isStar: (part: P) => boolean,
  matches: (part: P, item: I) => boolean,
): boolean {
  let at = 0;
  let item = 0;
  let star = -1;
  let resume = 0;
  while (item < items.length) {
    const part = pattern[at];
    if (at < pattern.length && isStar(part!)) {
      star = at++;
      resume = item;
    } else if (at < pattern.length && matches(part!, items[item]!)) {
      at++;
      item++;
    } else if (star >= 0) {
      at = star + 1;
      item = ++resume;
    } else {
      return false;
    }
  }
  while (at < pattern.length && isStar(pattern[at]!)) at++;
  return at === pattern.length;
}

function invalid(pattern: string, why: string): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", `Invalid pattern "${visible(pattern)}": ${why}`, {
    hint: 'Patterns look like "*.pem", "secrets/**" or "src/**/*.{ts,js}".',
  });
}

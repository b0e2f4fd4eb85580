import { SandboxError } from "../errors.js";

const MAX_PATTERN_CHARACTERS = 1024;
const MAX_ALTERNATIVES = 256;
/** Longer paths name nothing. */
const MAX_PATH_CHARACTERS = 4096;
/** Where a session's files are, as its programs see them. */
export const WORKSPACE = "/workspace";

type Token =
  | { readonly kind: "literal"; readonly character: string }
  | { readonly kind: "any" }
  | { readonly kind: "star" }
  | {
      readonly kind: "set";
      readonly negated: boolean;
      readonly ranges: readonly (readonly [string, string])[];
    };

/** One path component, or `**`: any number of them. */
type Segment = readonly Token[] | "globstar";

/** A pattern of paths. */
export interface PathGlob {
  readonly pattern: string;
  readonly alternatives: readonly (readonly Segment[])[];
}

/**
 * Compiles `*`, `?`, `[a-z]`, `[!a]`, `{a,b}`, `**` and a backslash before a literal. An absolute pattern stands for
 * itself, `secrets/**` is below the workspace, and `*.key` without a slash is at any depth of it.
 */
export function compilePathGlob(pattern: string): PathGlob {
  if (pattern === "" || pattern.includes("\0")) throw invalid("it is empty, or holds a NUL byte");
  if (pattern.length > MAX_PATTERN_CHARACTERS)
    throw invalid(`it is longer than ${MAX_PATTERN_CHARACTERS} characters`);
  return { pattern, alternatives: expandBraces(pattern).map(readSegments) };
}

const compiled = new Map<string, PathGlob>();

/** The same, remembered: a policy has few patterns and is asked often. */
export function pathGlob(pattern: string): PathGlob {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const glob = compilePathGlob(pattern);
  if (compiled.size < 1000) compiled.set(pattern, glob);
  return glob;
}

/** The absolute path inside the sandbox: relative ones are in the workspace, `.` and `..` are resolved. */
export function resolveSandboxPath(path: string, from = WORKSPACE): string {
  const home = /^~(?=\/|$)/.test(path) ? WORKSPACE + path.slice(1) : path;
  const parts: string[] = [];
  for (const part of (home.startsWith("/") ? home : `${from}/${home}`).split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

/** True when the pattern names the path or a directory above it. */
export function coversPath(glob: PathGlob, path: string): boolean {
  if (path.length > MAX_PATH_CHARACTERS) return true;
  const segments = literalSegments(path);
  return glob.alternatives.some((pattern) => overlap([...pattern, "globstar"], segments));
}

/** True when the pattern names exactly the path; `a/**` also names `a`. */
export function matchesPath(glob: PathGlob, path: string): boolean {
  if (path.length > MAX_PATH_CHARACTERS) return false;
  const segments = literalSegments(path);
  return glob.alternatives.some((pattern) => overlap(pattern, segments));
}

/** True when some path is named by both, or lies below what the first names. */
export function mayCoverPath(glob: PathGlob, other: PathGlob): boolean {
  return glob.alternatives.some((a) => other.alternatives.some((b) => overlap([...a, "globstar"], b)));
}

function literalSegments(path: string): Segment[] {
  return path
    .split("/")
    .filter((part) => part !== "")
    .map((part) => [...part].map((character): Token => ({ kind: "literal", character })));
}

function readSegments(pattern: string): readonly Segment[] {
  const rooted = pattern.startsWith("/") || /^~(?=\/|$)/.test(pattern);
  const floating = !rooted && !pattern.replace(/\/+$/, "").includes("/");
  const absolute = floating ? `${WORKSPACE}/**/${pattern}` : resolveSandboxPath(pattern);
  const parts = absolute.split("/").filter((part) => part !== "");
  return parts.map((part): Segment => (part === "**" ? "globstar" : readTokens(part)));
}

function readTokens(text: string): Token[] {
  const characters = [...text];
  const tokens: Token[] = [];
  for (let index = 0; index < characters.length; index++) {
    const character = characters[index]!;
    if (character === "*") {
      if (tokens.at(-1)?.kind !== "star") tokens.push({ kind: "star" });
    } else if (character === "?") tokens.push({ kind: "any" });
    else if (character === "[") {
      const end = characters.indexOf("]", index + (/[!^]/.test(characters[index + 1] ?? "") ? 3 : 2));
      if (end === -1) throw invalid('"[" has no "]"');
      tokens.push(readSet(characters.slice(index + 1, end)));
      index = end;
    } else if (character === "\\") {
      const next = characters[++index];
      if (next === undefined) throw invalid("it ends with a backslash");
      tokens.push({ kind: "literal", character: next });
    } else tokens.push({ kind: "literal", character });
  }
  return tokens;
}

function readSet(characters: readonly string[]): Token {
  const negated = characters[0] === "!" || characters[0] === "^";
  const ranges: [string, string][] = [];
  for (let index = negated ? 1 : 0; index < characters.length; index++) {
    const from = characters[index]!;
    const to = characters[index + 2];
    const isRange = characters[index + 1] === "-" && to !== undefined;
    ranges.push([from, isRange ? to : from]);
    if (isRange) index += 2;
  }
  return { kind: "set", negated, ranges };
}

/** `{a,b}` written out. */
function expandBraces(pattern: string): string[] {
  const done: string[] = [];
  const pending = [pattern];
  for (let current = pending.pop(); current !== undefined; current = pending.pop()) {
    const group = findBraces(current);
    if (group === undefined) done.push(current);
    else for (const choice of group.choices) pending.push(group.before + choice + group.after);
    if (done.length + pending.length > MAX_ALTERNATIVES) {
      throw invalid(`its braces make more than ${MAX_ALTERNATIVES} patterns`);
    }
  }
  return done;
}

function findBraces(text: string) {
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
  if (depth > 0) throw invalid('"{" has no "}"');
  return undefined;
}

/** Whether one path fits both patterns. Time is the product of their lengths: nothing is tried twice. */
function overlap(a: readonly Segment[], b: readonly Segment[]): boolean {
  return meet(a, b, isGlobstar, isGlobstar, (x, y) =>
    x === "globstar" || y === "globstar" ? true : meet(x, y, isStar, isStar, tokensMeet),
  );
}

function isGlobstar(segment: Segment): boolean {
  return segment === "globstar";
}

function isStar(token: Token): boolean {
  return token.kind === "star";
}

/** Row by row: `row[j]` is whether `a[i…]` and `b[j…]` meet. */
function meet<T>(
  a: readonly T[],
  b: readonly T[],
  aRepeats: (part: T) => boolean,
  bRepeats: (part: T) => boolean,
  same: (x: T, y: T) => boolean,
): boolean {
  let below: boolean[] = [];
  for (let i = a.length; i >= 0; i--) {
    const row: boolean[] = new Array(b.length + 1).fill(false);
    for (let j = b.length; j >= 0; j--) {
      if (i === a.length && j === b.length) row[j] = true;
      else if (i < a.length && aRepeats(a[i]!)) row[j] = below[j]! || (j < b.length && row[j + 1]!);
      else if (j < b.length && bRepeats(b[j]!)) row[j] = row[j + 1]! || (i < a.length && below[j]!);
      else if (i < a.length && j < b.length) row[j] = below[j + 1]! && same(a[i]!, b[j]!);
    }
    below = row;
  }
  return below[0]!;
}

function tokensMeet(x: Token, y: Token): boolean {
  if (x.kind === "literal") return accepts(y, x.character);
  if (y.kind === "literal") return accepts(x, y.character);
  if (x.kind === "set" && y.kind === "set" && !x.negated && !y.negated) {
    return x.ranges.some(([from, to]) => y.ranges.some(([start, end]) => from <= end && start <= to));
  }
  return true;
}

function accepts(token: Token, character: string): boolean {
  if (token.kind === "literal") return token.character === character;
  if (token.kind !== "set") return true;
  return token.ranges.some(([from, to]) => from <= character && character <= to) !== token.negated;
}

function invalid(why: string): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", why, {
    hint: 'Patterns look like "/workspace/**/*.key", "secrets/**" or "*.{pem,key}".',
  });
}

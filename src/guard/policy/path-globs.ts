import { SandboxError } from "../../kit/errors.js";
import { accepts, expandBraces, parseSegment, type Segment, type Token } from "../../kit/glob-pattern.js";

const MAX_PATTERN_CHARACTERS = 1024;
/** Longer paths name nothing. */
const MAX_PATH_CHARACTERS = 4096;
/** Where a session's files are, as its programs see them. */
export const WORKSPACE = "/workspace";

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
  return { pattern, alternatives: expandBraces(pattern, invalid).map(readSegments) };
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
  return parts.map((part) => parseSegment(part, invalid));
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

function invalid(why: string): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", why, {
    hint: 'Patterns look like "/workspace/**/*.key", "secrets/**" or "*.{pem,key}".',
  });
}

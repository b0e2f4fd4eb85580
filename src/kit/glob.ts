import { SandboxError } from "./errors.js";
import { escapeUnsafe } from "./escape-unsafe.js";
import { accepts, expandBraces, parseSegment, type Segment, type Token } from "./glob-pattern.js";

const MAX_PATTERN_CHARACTERS = 1024;

export type PathMatcher = (path: string) => boolean;

/**
 * Compiles a glob: `*`, `?`, `[a-z]`, `[!a]`, `{a,b}`, a `**` component, and a backslash before a literal. Dots
 * are ordinary. A pattern without a slash matches the last component at any depth. Matching never takes more than
 * the product of the two lengths: no regular expression is involved, so there is nothing to backtrack.
 */
export function compileGlob(pattern: string): PathMatcher {
  if (typeof pattern !== "string" || pattern === "") throw invalid(String(pattern), "it is empty");
  if (pattern.length > MAX_PATTERN_CHARACTERS) throw invalid(pattern, "it is too long");
  const alternatives = expandBraces(pattern, (why) => invalid(pattern, why)).map(parseAlternative);
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
  const segments = trimmed.split(/\/+/).map((part) => parseSegment(part, (why) => invalid(pattern, why)));
  // `secrets/**` is what is inside, not `secrets` itself.
  if (segments.length > 1 && segments.at(-1) === "globstar") segments.push([{ kind: "star" }]);
  const floating = !trimmed.includes("/") && anchored === pattern;
  return floating ? ["globstar", ...segments] : segments;
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
  return matchGreedy(tokens, characters, (token) => token.kind === "star", accepts);
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
  return new SandboxError("INVALID_ARGUMENT", `Invalid pattern "${escapeUnsafe(pattern)}": ${why}`, {
    hint: 'Patterns look like "*.pem", "secrets/**" or "src/**/*.{ts,js}".',
  });
}

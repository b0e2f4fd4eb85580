/** `;` begins parameters of a segment, which some servers cut off before they resolve `..`. */
const DOTS = /^\.{1,2}(?:;|$)/;
/** A percent sign that was itself encoded: some servers decode twice. */
const TWICE = /%25[\da-f]{2}/i;
/** What a request target has to encode. */
const RAW = /[^\x21-\x7e]|#/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what has to be found
const FOREIGN = /[\x00-\x1f\x7f\\]/;

/**
 * The path of a request target as every server reads it: decoded, without its query. Undefined: servers disagree about it
 * (`/a/../b`, `/a/%2e%2e/b`, `/a%2fb`, `//b`, `\`), so that no rule about paths can say what it means.
 */
export function readPath(target: string): string | undefined {
  const raw = target.split("?", 1)[0]!;
  if (!raw.startsWith("/") || RAW.test(raw) || TWICE.test(raw) || /%2f/i.test(raw)) return undefined;
  const path = decoded(raw);
  if (path === undefined || FOREIGN.test(path) || path.includes("//")) return undefined;
  const segments = path.split("/");
  return segments.some((each) => DOTS.test(each) || DOTS.test(each.normalize("NFKC"))) ? undefined : path;
}

/** Does a glob name the path? `*` stands for characters of one segment, `**` for any. Takes time linear in both. */
export function matchesPath(glob: string, path: string): boolean {
  const tokens = glob.match(/\*\*|\*|[^*]/gu) ?? [];
  // Which tokens may come next, having read the path so far.
  let open = closure(new Set([0]));
  for (const character of path) {
    const next = new Set<number>();
    for (const at of open) {
      const token = tokens[at];
      if (token === "**" || (token === "*" && character !== "/")) next.add(at);
      else if (token === character) next.add(at + 1);
    }
    open = closure(next);
  }
  return open.has(tokens.length);

  function closure(positions: Set<number>): Set<number> {
    for (const at of positions) if (tokens[at] === "*" || tokens[at] === "**") positions.add(at + 1);
    return positions;
  }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

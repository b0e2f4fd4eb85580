import { compileGlob } from "../../kit/glob.js";

/** More of a file is not read as rules. */
const MAX_RULES = 2000;

interface Rule {
  readonly matches: (path: string) => boolean;
  readonly isNegated: boolean;
  readonly directoriesOnly: boolean;
}

/**
 * What the `.gitignore` files of a directory leave out. The patterns may come from a program inside, once its changes were
 * applied: they are matched without regular expressions, so that none can hold the host up.
 */
export class IgnoreRules {
  readonly #byDirectory = new Map<string, readonly Rule[]>();
  readonly #directories = new Map<string, boolean>();
  readonly #above: { readonly prefix: string; readonly rules: readonly Rule[] }[] = [];

  /** The rules of the `.gitignore` in a directory; "" is the one that is looked through. */
  add(directory: string, text: string): void {
    this.#byDirectory.set(directory, parseGitignore(text));
    this.#directories.clear();
  }

  /** The rules of a directory above, the nearest last; `prefix` is the way from there down to the one that is looked through. */
  addAbove(prefix: string, text: string): void {
    this.#above.push({ prefix, rules: parseGitignore(text) });
  }

  /** True when the path, or a directory on the way to it, is left out. */
  ignores(path: string, isDirectory: boolean): boolean {
    const parts = path.split("/");
    return this.#ignoresDirectory(parts.slice(0, -1)) || this.#ignoresItself(parts, isDirectory);
  }

  /** Asked once for each: many files are in one. */
  #ignoresDirectory(parts: readonly string[]): boolean {
    if (parts.length === 0) return false;
    const path = parts.join("/");
    const known = this.#directories.get(path);
    if (known !== undefined) return known;
    const ignored = this.#ignoresDirectory(parts.slice(0, -1)) || this.#ignoresItself(parts, true);
    this.#directories.set(path, ignored);
    return ignored;
  }

  /** The same of a path whose directories are known not to be left out. */
  ignoresEntry(path: string, isDirectory: boolean): boolean {
    return this.#ignoresItself(path.split("/"), isDirectory);
  }

  /** The last rule that matches decides, the deepest file's last. */
  #ignoresItself(parts: readonly string[], isDirectory: boolean): boolean {
    let ignored = false;
    const decide = (rules: readonly Rule[] | undefined, path: string) => {
      for (const { matches, isNegated, directoriesOnly } of rules ?? []) {
        if (directoriesOnly && !isDirectory) continue;
        if (ignored === isNegated && matches(path)) ignored = !isNegated;
      }
    };
    for (const { prefix, rules } of this.#above)
      decide(rules, [...(prefix === "" ? [] : [prefix]), ...parts].join("/"));
    for (let depth = 0; depth < parts.length; depth++)
      decide(this.#byDirectory.get(parts.slice(0, depth).join("/")), parts.slice(depth).join("/"));
    return ignored;
  }
}

/** Reads the lines of one `.gitignore`; as for git, one that is no pattern says nothing. */
function parseGitignore(text: string): Rule[] {
  const rules: Rule[] = [];
  for (const line of text.replace(/^\uFEFF/, "").split("\n")) {
    if (rules.length >= MAX_RULES) break;
    const rule = parseRule(line.replace(/\r$/, ""));
    if (rule !== undefined) rules.push(rule);
  }
  return rules;
}

function parseRule(line: string): Rule | undefined {
  if (line.startsWith("#")) return undefined;
  const isNegated = line.startsWith("!");
  const trimmed = withoutTrailingSpaces(isNegated ? line.slice(1) : line);
  const directoriesOnly = trimmed.endsWith("/");
  const pattern = directoriesOnly ? trimmed.slice(0, -1) : trimmed;
  if (pattern === "" || pattern === "/") return undefined;
  try {
    return { matches: matcherOf(pattern), isNegated, directoriesOnly };
  } catch {
    return undefined;
  }
}

function withoutTrailingSpaces(text: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === " " && text[end - 2] !== "\\") end--;
  return text.slice(0, end);
}

/** Most patterns are a name, a path or an ending, and a project has many files. */
function matcherOf(pattern: string): (path: string) => boolean {
  const isAnchored = pattern.includes("/");
  if (!/[*?[\\]/.test(pattern)) {
    if (isAnchored) {
      const whole = pattern.replace(/^\//, "");
      return (path) => path === whole;
    }
    return (path) => path === pattern || path.endsWith(`/${pattern}`);
  }
  if (/^\*\.[\w.-]+$/.test(pattern)) {
    const ending = pattern.slice(1);
    return (path) => path.endsWith(ending);
  }
  // Braces are ordinary here.
  const glob = pattern.replaceAll(/[{}]/g, "\\$&");
  return compileGlob(isAnchored && !glob.startsWith("/") ? `/${glob}` : glob);
}

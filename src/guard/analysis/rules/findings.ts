import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import { type RiskLevel, rankOf, worse } from "./levels.js";

/** One thing the code reaches for, where, and why that matters. */
export interface Finding {
  readonly rule: string;
  readonly level: RiskLevel;
  /** 1-based. */
  readonly line: number;
  readonly column: number;
  /** The line it stands in, made visible, at most 120 characters. */
  readonly excerpt: string;
  readonly why: string;
}

/** What a reader of code hands over: a rule that matched at an offset of the text. */
export interface Match {
  readonly rule: string;
  readonly level: RiskLevel;
  readonly why: string;
}

/** Text inside of the code that would itself be run. */
interface NestedCode {
  readonly language: "python" | "javascript" | "bash";
  readonly text: string;
  readonly offset: number;
}

/** Where the readers of all languages put what they find. */
export interface Report {
  add(match: Match, offset: number): void;
  nest(code: NestedCode): void;
}

export const MAX_FINDINGS = 100;
const MAX_EXCERPT = 120;

/** Collects findings of one text; those of nested texts stand where the outermost text runs them. */
export interface Collector {
  add(match: Match, line: number, column: number, excerpt: string): void;
  readonly level: RiskLevel;
  /** Sorted by line, column and rule; the worst ones when there are too many. */
  findings(): Finding[];
  /** The name of every rule that matched, sorted, also of findings that were left out. */
  rules(): string[];
}

export function createCollector(): Collector {
  const found = new Map<string, Finding>();
  const rules = new Set<string>();
  let level: RiskLevel = "safe";
  return {
    add(match, line, column, excerpt) {
      level = worse(level, match.level);
      rules.add(match.rule);
      const key = `${line}:${column}:${match.rule}`;
      const known = found.get(key);
      if (known !== undefined && rankOf(known.level) >= rankOf(match.level)) return;
      // Hostile code can have a match per character; the worst are kept, and there is always room for a worse one.
      if (known === undefined && found.size >= 20 * MAX_FINDINGS && rankOf(match.level) < rankOf("high"))
        return;
      if (known === undefined && found.size >= 40 * MAX_FINDINGS) return;
      found.set(key, { rule: match.rule, level: match.level, line, column, excerpt, why: match.why });
    },
    get level() {
      return level;
    },
    findings() {
      const all = [...found.values()];
      const kept = all.length <= MAX_FINDINGS ? all : all.sort(worstFirst).slice(0, MAX_FINDINGS);
      return kept.sort(byPlace);
    },
    rules: () => [...rules].sort(),
  };
}

function worstFirst(a: Finding, b: Finding): number {
  return rankOf(b.level) - rankOf(a.level) || byPlace(a, b);
}

function byPlace(a: Finding, b: Finding): number {
  return a.line - b.line || a.column - b.column || (a.rule < b.rule ? -1 : a.rule > b.rule ? 1 : 0);
}

/** Lines and columns of offsets in a text. */
export function createPlaces(text: string): {
  at(offset: number): { line: number; column: number; excerpt: string };
} {
  let starts: number[] | undefined;
  return {
    at(offset) {
      starts ??= lineStarts(text);
      const index = lineOf(starts, offset);
      const start = starts[index]!;
      return { line: index + 1, column: offset - start + 1, excerpt: excerptOf(text, start, offset) };
    },
  };
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

/** The last start that is not behind the offset. */
function lineOf(starts: readonly number[], offset: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle]! <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

function excerptOf(text: string, lineStart: number, offset: number): string {
  // A long line is shown from shortly before the place, so that the place is in it.
  const from = offset - lineStart > MAX_EXCERPT / 2 ? offset - 20 : lineStart;
  const piece = text.slice(from, from + 2 * MAX_EXCERPT);
  const end = piece.indexOf("\n");
  const line = end === -1 ? piece : piece.slice(0, end);
  return cut(escapeUnsafe(line.trim()));
}

function cut(text: string): string {
  if (text.length <= MAX_EXCERPT) return text;
  // Never half of a surrogate pair.
  return `${text.slice(0, MAX_EXCERPT - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

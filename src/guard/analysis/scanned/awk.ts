import type { WorkBudget } from "../../../kit/parser/index.js";
import type { ProcessStart, ProcessStarts } from "../program/process-start.js";
import { UNKNOWN } from "../shell/fields.js";

type Token = { readonly at: number; readonly kind: "string" | "word" | "sign"; readonly text: string };

const ESCAPES: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  a: "\x07",
  b: "\b",
  f: "\f",
  v: "\v",
};

/** Where an awk program starts commands: `system(…)`, `print | "…"`, `"…" | getline`. */
export function findAwkStarts(code: string, work: WorkBudget): ProcessStarts {
  const tokens = tokenize(code);
  const found: ProcessStart[] = [];
  tokens.forEach((token, index) => {
    if (token.kind === "word" && token.text === "system" && tokens[index + 1]?.text === "(") {
      found.push({ at: token.at, via: "system", kind: "text", text: constant(tokens, index + 2, ")", work) });
    }
    if (token.kind !== "sign" || (token.text !== "|" && token.text !== "|&")) return;
    const next = tokens[index + 1];
    const previous = tokens[index - 1];
    if (next?.text === "getline") {
      const text = previous?.kind === "string" && !joins(tokens[index - 2]) ? previous.text : undefined;
      found.push({ at: token.at, via: "| getline", kind: "text", text });
    } else {
      found.push({
        at: token.at,
        via: "print |",
        reads: true,
        kind: "text",
        text: constant(tokens, index + 1, "\n;}", work),
      });
    }
  });
  const indirect = tokens.some(
    ({ kind, text }, index) => text === "@" && tokens[index + 1]?.kind === "word" && kind === "sign",
  );
  if (indirect || hasDoubtfulSlash(code)) found.push({ at: 0, via: "awk", kind: "text", text: undefined });
  return { found, problem: undefined };
}

/** A slash after a parenthesis divides, or begins an expression that may hold a quote. */
function hasDoubtfulSlash(code: string): boolean {
  return /\)\s*\/[^/\n]*["#]/.test(code) && /\||getline|\bsystem\b/.test(code);
}

/** True when the token before a string makes it only the end of a longer text. */
function joins(token: Token | undefined): boolean {
  return (
    token !== undefined &&
    (token.kind !== "sign" || token.text === ")" || token.text === "]" || token.text === "$")
  );
}

/** Strings side by side, up to the end; anything between them is unknown. */
function constant(
  tokens: readonly Token[],
  from: number,
  ends: string,
  work: WorkBudget,
): string | undefined {
  let text = "";
  let index = from;
  for (; index < tokens.length; index++) {
    const token = tokens[index]!;
    if (token.kind === "string") text += token.text;
    else if (token.kind === "sign" && ends.includes(token.text)) break;
    else text += UNKNOWN;
  }
  work.spend(TOKEN_WORK * (index - from));
  return text === "" ? undefined : text;
}

const TOKEN_WORK = 5;
const REGEX = /\/(?:[^/\\\n[]|\\[\s\S]|\[\^?\]?[^\]\n]*\])*\//y;

/** Words after which a value is expected. */
function isStatement({ kind, text }: Token): boolean {
  return kind === "word" && /^(?:print|printf|return|in|case|exit|getline|else|do)$/.test(text);
}

function tokenize(code: string): Token[] {
  const tokens: Token[] = [];
  const pattern = /"((?:[^"\\\n]|\\[\s\S])*)"|#[^\n]*|\\\n|[ \t\r]+|([A-Za-z_]\w*|[\d.]+)|(\|\||\|&|[\s\S])/y;
  for (let at = 0; at < code.length; at = pattern.lastIndex) {
    const before = tokens.at(-1);
    // Where no value stands before it, a slash begins a regular expression.
    const divides =
      before !== undefined && (before.kind !== "sign" || /[)\]$]/.test(before.text)) && !isStatement(before);
    REGEX.lastIndex = at;
    const regex = divides ? null : REGEX.exec(code);
    if (regex !== null) {
      tokens.push({ at, kind: "sign", text: "/…/" });
      pattern.lastIndex = at + regex[0].length;
      continue;
    }
    pattern.lastIndex = at;
    const match = pattern.exec(code);
    if (match === null) break;
    if (match[1] !== undefined) tokens.push({ at, kind: "string", text: unescapeText(match[1]) });
    else if (match[2] !== undefined) tokens.push({ at, kind: "word", text: match[2] });
    else if (match[3] !== undefined) tokens.push({ at, kind: "sign", text: match[3] });
  }
  return tokens;
}

function unescapeText(text: string): string {
  return text.replace(/\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|([\s\S]))/g, (_, octal, hex, other) => {
    if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
    if (other === "\n") return "";
    return Object.hasOwn(ESCAPES, other) ? ESCAPES[other]! : other;
  });
}

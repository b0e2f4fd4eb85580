import type { ProcessStart, ProcessStarts } from "../program/process-start.js";
import { UNKNOWN } from "../shell/fields.js";
import type { InlineLanguage } from "../shell/walker.js";

interface Rules {
  /** Functions whose first argument a shell runs. */
  readonly calls: RegExp;
  /** Functions that run a text as code of the same language. */
  readonly code: RegExp;
  /** `…` runs a command. */
  readonly backquotes: boolean;
  /** `qx(…)` or `%x(…)`. */
  readonly quoted: RegExp | undefined;
}

/** Languages without a grammar here are only scanned: what looks like a call is one, in comments and strings too. */
const RULES: Partial<Record<InlineLanguage, Rules>> = {
  perl: {
    calls: /\b(?:system|exec|readpipe|popen)\b/g,
    code: /\beval\b(?!\s*\{)/g,
    backquotes: true,
    quoted: /\bqx\s*(?=[^\w\s=,;])/g,
  },
  ruby: {
    calls: /\b(?:system|exec|spawn|popen[23e]*|capture[23e]*|pipeline\w*)\b/g,
    code: /\b(?:eval|instance_eval|class_eval)\b/g,
    backquotes: true,
    quoted: /%x(?=[^\w\s])/g,
  },
  php: {
    calls: /\b(?:system|exec|shell_exec|passthru|popen|proc_open|pcntl_exec)\b/g,
    code: /\b(?:eval|assert|create_function)\b/g,
    backquotes: true,
    quoted: undefined,
  },
  lua: {
    calls: /\b(?:os\s*\.\s*execute|io\s*\.\s*popen)\b/g,
    code: /\b(?:loadstring|load|dostring)\b/g,
    backquotes: false,
    quoted: undefined,
  },
  r: { calls: /\b(?:system2?|shell|pipe)\b/g, code: /\beval\b/g, backquotes: false, quoted: undefined },
};

/** What a pipe in perl's and ruby's `open` makes of a file's name. */
const OPEN_PIPE = /\bopen\b[^;]{0,200}\|/;
/** Calls by a name that is made when it runs: `&{"CORE::system"}(…)`, `&$f`, `->$f`, `send(…)`, `$f(…)`. */
const BY_NAME: Partial<Record<InlineLanguage, RegExp>> = {
  perl: /&\s*(?:\{|\$)|->\s*[&$]|CORE::|\bsyscall\b|\b(?:do|require)\s*["'$]/,
  ruby: /\b(?:public_)?send\b|\bmethod\s*\(|__send__|\bconst_get\b|\bsyscall\b/,
  php: /\$\w+\s*\(|call_user_func|array_map|\binclude\b|\brequire\b/,
  lua: /\bos\s*\[|\bio\s*\[|_G\b|_ENV\b/,
  r: /\bdo\.call\b|\bmatch\.fun\b|\bget\s*\(/,
};

/** Where a program in a language that is only scanned starts commands. */
export function findScriptStarts(language: InlineLanguage, code: string): ProcessStarts {
  const rules = RULES[language];
  if (rules === undefined)
    return { found: [], problem: { at: 0, what: `code in ${language} is not looked into` } };
  const found: ProcessStart[] = [];
  for (const match of code.matchAll(rules.calls)) {
    const words = readArguments(code, match.index + match[0].length);
    const via = match[0].replaceAll(/\s/g, "");
    if (words === undefined) found.push({ at: match.index, via, kind: "text", text: undefined });
    else if (words.length === 1) found.push({ at: match.index, via, kind: "text", text: words[0] });
    else found.push({ at: match.index, via, kind: "argv", argv: words });
  }
  for (const match of code.matchAll(rules.code)) {
    const text = readArguments(code, match.index + match[0].length)?.[0];
    found.push({ at: match.index, via: match[0], kind: "code", code: text });
  }
  if (rules.backquotes) {
    for (const match of code.matchAll(/`([^`]*)`/g)) {
      found.push({ at: match.index, via: "`…`", kind: "text", text: interpolate(match[1]!) });
    }
  }
  for (const match of rules.quoted === undefined ? [] : code.matchAll(rules.quoted)) {
    const text = delimited(code, match.index + match[0].length);
    found.push({
      at: match.index,
      via: match[0].trim(),
      kind: "text",
      text: text === undefined ? undefined : interpolate(text),
    });
  }
  if (BY_NAME[language]?.test(code) === true)
    found.push({ at: 0, via: language, kind: "text", text: undefined });
  if (OPEN_PIPE.test(code) && (language === "perl" || language === "ruby")) {
    found.push({ at: 0, via: "open", kind: "text", text: undefined });
  }
  return { found: found.sort((a, b) => a.at - b.at), problem: undefined };
}

/** The constant strings after a function's name; undefined when anything else stands there. */
function readArguments(code: string, from: number): string[] | undefined {
  const words: string[] = [];
  const gap = /[\s(]*/y;
  gap.lastIndex = from;
  let at = from + (gap.exec(code)?.[0].length ?? 0);
  for (;;) {
    const literal = /"((?:[^"\\]|\\[\s\S])*)"|'((?:[^'\\]|\\[\s\S])*)'/y;
    literal.lastIndex = at;
    const match = literal.exec(code);
    if (match === null) return undefined;
    words.push(match[1] === undefined ? match[2]!.replaceAll(/\\([\\'])/g, "$1") : interpolate(match[1]));
    at += match[0].length;
    const after = /\s*(,|=>)?\s*/y;
    after.lastIndex = at;
    const separator = after.exec(code);
    at += separator?.[0].length ?? 0;
    if (separator?.[1] !== undefined) continue;
    // A joining operator makes it only part of the text.
    if (/[.+%*&|]/.test(code.charAt(at)) && !code.startsWith("||", at) && !code.startsWith("&&", at))
      return undefined;
    return words;
  }
}

const SIMPLE: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", e: "\x1b", "0": "\0" };

/** A text in double quotes: values that are put in are unknown. */
function interpolate(text: string): string {
  return text.replace(
    /\\(?:x([0-9a-fA-F]{1,2})|x\{([0-9a-fA-F]{1,6})\}|([0-7]{2,3})|([\s\S]))|#\{[^}]*\}|[$@][\w{(]+[^\s"']*/g,
    (_, hex, braced, octal, other) => {
      const number = hex ?? braced;
      if (number !== undefined) return String.fromCodePoint(Math.min(Number.parseInt(number, 16), 0x10ffff));
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
      if (other !== undefined) return Object.hasOwn(SIMPLE, other) ? SIMPLE[other]! : other;
      return UNKNOWN;
    },
  );
}

const CLOSING: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}", "<": ">" };

function delimited(code: string, at: number): string | undefined {
  const open = code.charAt(at);
  const close = Object.hasOwn(CLOSING, open) ? CLOSING[open]! : open;
  const end = code.indexOf(close, at + 1);
  return end === -1 ? undefined : code.slice(at + 1, end);
}

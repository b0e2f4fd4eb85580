import { SandboxError } from "../../kit/errors.js";

/** Takes secrets out of text. */
export type Redact = (text: string) => string;

const MARK = "[redacted]";
/** A shorter one would be found everywhere. */
const MIN_VALUE_CHARACTERS = 4;

/**
 * Each begins with a literal or at the start of a token, and repeats one class only: time is linear in the text, also
 * for text made to be slow.
 */
const TOKENS = [
  /(?<![\w-])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![\w-])/g,
  /(?<![\w-])gh[pousr]_[A-Za-z0-9]{20,}/g,
  /(?<![\w-])github_pat_\w{20,}/g,
  /(?<![\w-])glpat-[\w-]{16,}/g,
  /(?<![\w-])xox[abeoprs]-[\w-]{10,}/g,
  /(?<![\w-])[sr]k_(?:live|test)_\w{16,}/g,
  /(?<![\w-])sk-[\w-]{16,}/g,
  /(?<![\w-])AIza[\w-]{30,}/g,
  /(?<![\w-])npm_[A-Za-z0-9]{30,}/g,
  /(?<![\w-])hf_[A-Za-z0-9]{30,}/g,
  /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
];
/** Text without any of these has nothing for the patterns and the names. */
const HINT =
  /A[KSBC][IC]A|gh[pousr]_|github_pat_|glpat-|xox|[sr]k[_-]|AIza|npm_|hf_|eyJ|:\/\/|auth|bearer|cookie|pw|p\W{0,8}a\W{0,8}s\W{0,8}s|p\W{0,8}w\W{0,8}d|s\W{0,8}e\W{0,8}c\W{0,8}r|t\W{0,8}o\W{0,8}k|cred|key|[?&]|-u|--user|-p|sudo|curl|wget|redis-cli|ldapsearch/i;
const KEY_BLOCK =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g;

const BEARER = /(\bbearer\s{1,4})[^\s"'`,;&]{8,}/gi;

/** A function that takes out what looks like a secret, and the values and patterns given here. */
export function createRedactor(own: readonly (string | RegExp)[] = []): Redact {
  const values = own.filter((each) => typeof each === "string");
  if (values.some((value) => value.length < MIN_VALUE_CHARACTERS)) {
    throw new SandboxError(
      "INVALID_ARGUMENT",
      `A value to redact has fewer than ${MIN_VALUE_CHARACTERS} characters`,
      { hint: "Such a value would be found in ordinary words. Give a pattern instead." },
    );
  }
  // One that holds another must go first, or its rest would stay.
  values.sort((a, b) => b.length - a.length);
  const patterns = own.flatMap((each) => (typeof each === "string" ? [] : [repeated(each)]));
  return (text) => {
    let safe = text;
    for (const value of values) safe = safe.replaceAll(value, MARK);
    for (const pattern of patterns) safe = safe.replace(pattern, MARK);
    if (!HINT.test(safe)) return safe;
    safe = safe.replace(KEY_BLOCK, MARK);
    for (const pattern of TOKENS) safe = safe.replace(pattern, MARK);
    safe = safe.replace(BEARER, `$1${MARK}`);
    return withoutNamed(withoutPiped(withoutUserinfo(safe)));
  };
}

function repeated(pattern: RegExp): RegExp {
  const flags = pattern.flags.replace("y", "");
  return new RegExp(pattern.source, flags.includes("g") ? flags : `${flags}g`);
}

/** https://user:secret@host, and https://secret@host. */
function withoutUserinfo(text: string): string {
  let safe = "";
  let done = 0;
  let tokenEnd = -1;
  let lastAt = -1;
  for (let at = text.indexOf("://"); at >= 0; at = text.indexOf("://", Math.max(at + 3, done))) {
    const start = at + 3;
    // Kept from one URL to the next: many in one token are not read to its end each time.
    if (start > tokenEnd) {
      tokenEnd = endOf(text, /[\s"'`<>]/g, start);
      lastAt = text.lastIndexOf("@", tokenEnd - 1);
    }
    const end = endOf(text, /[\s/?#]/g, start);
    let host = text.slice(start, end).lastIndexOf("@");
    const colon = text.slice(start, end).indexOf(":");
    if (host >= 0) host += start;
    // A password may hold a slash; a port in front of one is no password.
    else if (colon >= 0 && lastAt > start + colon && !PORT.test(text.slice(start + colon, end)))
      host = lastAt;
    if (host <= start) continue;
    const user = colon >= 0 && start + colon < host ? text.slice(start, start + colon) : undefined;
    const password = user === undefined ? undefined : text.slice(start + user.length + 1, host);
    if (
      user === undefined &&
      (text.slice(start, host) === "git" || SSH.test(text.slice(Math.max(0, at - 8), at)))
    )
      continue;
    const whole =
      user === undefined || user.length >= MIN_TOKEN_USER || password === "" || password === "x-oauth-basic";
    safe += text.slice(done, whole ? start : start + user.length + 1) + MARK;
    done = host;
  }
  return safe + text.slice(done);
}

const PORT = /^:\d{0,5}$/;
const SSH = /(?:ssh|sftp)$/i;
/** A user's name of this length is a token. */
const MIN_TOKEN_USER = 20;

function endOf(text: string, what: RegExp, from: number): number {
  what.lastIndex = from;
  return what.exec(text)?.index ?? text.length;
}

/** What is piped into a program that reads a password: echo secret | sudo -S … */
function withoutPiped(text: string): string {
  let safe = "";
  let done = 0;
  for (const found of text.matchAll(READS_PASSWORD)) {
    let start = found.index;
    while (start > done && !";&\n".includes(text[start - 1]!)) start--;
    const command = /^\s*\S+\s/.exec(text.slice(start, found.index))?.[0] ?? "";
    safe += `${text.slice(done, start)}${command}${MARK} `;
    done = found.index;
  }
  return safe + text.slice(done);
}

const READS_PASSWORD =
  /\|\s{0,8}(?:sudo\s[^|;&\n]{0,80}?(?:-[A-Za-z]{0,8}S|--stdin)|[^|;&\n]{0,200}?--pass(?:word|wd|phrase)?-?(?:stdin|fd)|(?:sudo\s{1,4})?(?:chpasswd|passwd\s))/g;

/** What a name is made of, with quotes and escapes: a shell drops them. */
const RUN = /[\w.\\$"'`-]+/g;
const SECRET_NAME =
  /passw|passphrase|pwd|secret|token|credential|(?:api|access|private|account|auth|encryption|signing|master|shared|storage)[_.-]?key|pass(?:es)?$|(?:^|[^a-z])pass(?![a-z])|(?:^|[_-])auth$|authorization$|cookies?$|^pw$/i;
const HEADER =
  /^(?:-H)?(?:(?:proxy-)?authorization|(?:set-)?cookie2?|\w[\w-]*-(?:auth|authorization|token|key|secret|password|session|signature|credential)s?)$/i;
const QUERY = /^(?:sig|signature|code|key|auth|jwt|session|sid|otp|pin|x-(?:amz|goog)-signature)$/i;
const ASSIGN = /(?:\[\w{0,32}\])?\]?[ \t]*(?:<<<\s*|[-+?|!]{0,2}=+>?(?:[ \t]|\\\r?\n)*|:+=*>?\s*)/y;
const BLOCK = /\s*:[ \t]*(?:!\S{1,64}[ \t]+)?[|>][-+0-9]{0,3}[ \t]*(?:#[^\n]*)?\r?\n/y;
const SCHEME = /(?:basic|bearer|digest|token|negotiate)\s+/iy;
const GAP = /[ \t]+/y;
const TYPED = /[ \t]*=(?!=)[ \t]*/y;
const USER = /[ \t=]*(["']?)[^\s:"'=]{1,128}:/y;
/** The flag behind which these take a password, attached or not. */
const PASSWORD_FLAGS = new Map([
  ["sshpass", "-p"],
  ["login", "-p"],
  ["mongo", "-p"],
  ["mongosh", "-p"],
  ["redis-cli", "-a"],
  ["ldapsearch", "-w"],
]);
/** These ask for one unless it is attached: what follows a space is a database. */
const ATTACHED_ONLY = /^(?:mysql\w*|mariadb[\w-]*)$/;

/** The values behind a secret's name, header or flag. Each character is read a fixed number of times. */
function withoutNamed(text: string): string {
  const words = createWords(text);
  const curl = /curl|wget/i.test(text);
  let safe = "";
  let done = 0;
  let flag = "";
  let attachedOnly = false;
  let quote = "";
  let read = 0;
  const cut = (start: number, end: number) => {
    if (end <= start) return;
    safe += text.slice(done, start) + MARK;
    done = end;
    read = end;
  };
  while (read < text.length) {
    RUN.lastIndex = read;
    const found = RUN.exec(text);
    if (found === null) break;
    const { index } = found;
    const run = found[0];
    const after = index + run.length;
    // A quote that a line leaves open may be an apostrophe: not trusted for longer.
    if (text.slice(read, index).includes("\n")) quote = "";
    read = after;
    const outer = quote;
    const opened = openQuote(run, outer);
    quote = opened.quote;
    const own = opened.at >= 0;
    const bare = (own ? run.slice(opened.at + 1) : run).replace(/^.*\\[rn]/, "").replace(/[\\"'`]/g, "");
    const name = run.replace(/[\\"'`]/g, "");
    const first = index === 0 || /\s/.test(text[index - 1]!);

    if (PASSWORD_FLAGS.has(name) || ATTACHED_ONLY.test(name)) {
      attachedOnly = !PASSWORD_FLAGS.has(name);
      flag = PASSWORD_FLAGS.get(name) ?? "-p";
    } else if (first && flag !== "" && run.startsWith(flag) && !SECRET_NAME.test(name)) {
      const attached = run.length > 2 || !/\s|^$/.test(text[after] ?? "");
      const start = attached ? index + 2 : match(GAP, text, after);
      if (start > 0 && (attached || !attachedOnly)) cut(start, words.end(start, "", false));
      if (!attachedOnly) flag = "";
      continue;
    }
    const user = first ? userFlag(run, curl) : -1;
    if (user >= 0) {
      USER.lastIndex = index + user;
      const who = USER.exec(text);
      if (who !== null) {
        const start = USER.lastIndex;
        const open = who[1] === "" ? -1 : words.closed(index + user + who[0].indexOf(who[1]!));
        cut(start, who[1] === "" ? words.end(start, outer, false) : open > 0 ? open : lineEnd(text, start));
        continue;
      }
    }
    const query = /[?&]/.test(text[index - 1] ?? "") && (QUERY.test(name) || SECRET_NAME.test(name));
    const header = HEADER.test(bare);
    if (!query && !header && !SECRET_NAME.test(name)) continue;

    if (text[after] === ">" && text[index - 1] === "<") {
      cut(after + 1, endOf(text, /</g, after));
      continue;
    }
    const block = match(BLOCK, text, after);
    if (block > 0) {
      cut(block, blockEnd(text, index, block));
      continue;
    }
    const start = match(ASSIGN, text, after);
    if (start < 0) {
      const value = name.startsWith("-") ? match(GAP, text, after) : -1;
      if (value > 0) cut(value, words.end(value, own ? "" : outer, false));
      continue;
    }
    if (query) {
      cut(start, endOf(text, /[\s&"'`#<>;]/g, start));
      continue;
    }
    const separator = text.slice(after, start);
    const quoted = /["'`]$/.test(run);
    if (header && !quoted && separator.includes(":") && !/["'`]/.test(text[start] ?? "")) {
      const scheme = match(SCHEME, text, start);
      const value = scheme > 0 ? scheme : start;
      if (quote !== "") cut(value, headerEnd(text, value, quote));
      else cut(value, /\s/.test(text[value - 1]!) ? lineEnd(text, value) : words.end(value, "", false));
      continue;
    }
    const loose = quoted || /[\s:]/.test(separator);
    // Where the name's own word opened the quote, the same quote right behind the separator closes it.
    let end = words.end(start, quote, loose, own);
    const typed = separator.includes(":") && end > start ? match(TYPED, text, end) : -1;
    if (typed > 0) end = Math.max(end, words.end(typed, quote, true));
    cut(start, end);
  }
  return safe + text.slice(done);
}

function match(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

function lineEnd(text: string, from: number): number {
  return endOf(text, /[\r\n]/g, from);
}

function headerEnd(text: string, from: number, quote: string): number {
  let at = from;
  while (at < text.length && text[at] !== quote && text[at] !== "\n") at += text[at] === "\\" ? 2 : 1;
  return Math.min(at, text.length);
}

/** Where the lines end that are further in than the line of the key. */
function blockEnd(text: string, key: number, from: number): number {
  const indent = (at: number) => endOf(text, /[^ \t]/g, at) - at;
  const outer = indent(text.lastIndexOf("\n", key) + 1);
  let at = from;
  while (at < text.length) {
    const inner = indent(at);
    if (inner <= outer && !/[\r\n]/.test(text[at + inner] ?? "")) break;
    const next = text.indexOf("\n", at);
    if (next < 0) return text.length;
    at = next + 1;
  }
  return at;
}

/** The quote that is open behind the run, and where in the run it opened. */
function openQuote(run: string, before: string): { quote: string; at: number } {
  let quote = before;
  let opened = -1;
  for (let at = 0; at < run.length; at++) {
    const each = run[at]!;
    if (each === "\\") at++;
    else if (each === quote) {
      quote = "";
      opened = -1;
    } else if (quote === "" && /["'`]/.test(each)) {
      const apostrophe = each === "'" && /[a-z]'[a-z]/i.test(run.slice(Math.max(0, at - 1), at + 2));
      if (!apostrophe) {
        quote = each;
        opened = at;
      }
    }
  }
  return { quote, at: opened };
}

/** How long curl's flag for user:password is, -1 where the run is none. */
function userFlag(run: string, curl: boolean): number {
  if (/^(?:-[a-zA-Z]{0,4}?[uU]|--(?:proxy-)?user)$/.test(run)) return run.length;
  return curl ? (/^-[a-zA-Z]{0,4}?[uU]/.exec(run)?.[0].length ?? -1) : -1;
}

const MAX_NESTING = 16;

/** Where words of a shell, Python, JSON or YAML end, with any mix of quotes, escapes and brackets. */
function createWords(text: string) {
  // What was once read to the end without its closing is not looked for again: that would be quadratic.
  const never = new Set<string>();

  function closed(at: number, depth = 0): number {
    const quote = text[at]!;
    if (never.has(quote)) return -1;
    let next = at + 1;
    while (next < text.length) {
      if (text[next] === "\\") next += 2;
      else if (text[next] === quote) return next + 1;
      else if (quote === '"' && depth < MAX_NESTING && text.startsWith("$(", next)) {
        const inner = balanced(next + 1, depth + 1);
        next = inner > 0 ? inner : next + 2;
      } else next++;
    }
    never.add(quote);
    return -1;
  }

  function balanced(at: number, depth = 0): number {
    if (never.has("(")) return -1;
    let level = 0;
    let next = at;
    while (next < text.length) {
      const each = text[next]!;
      if (each === "\\") next++;
      else if (`"'\``.includes(each) && depth < MAX_NESTING) {
        const inner = closed(next, depth + 1);
        if (inner > 0) next = inner - 1;
      } else if ("([{".includes(each)) level++;
      else if (")]}".includes(each) && --level === 0) return next + 1;
      next++;
    }
    never.add("(");
    return -1;
  }

  /** `around` is a quote that is open around the word, `own` says that the name's word opened it. */
  function end(start: number, around: string, loose: boolean, own = false): number {
    let at = start;
    let open = around;
    let whole = false;
    if (/\\["'`]/.test(text.slice(at, at + 2))) {
      const close = text.indexOf(text.slice(at, at + 2), at + 2);
      if (close > 0) {
        at = close + 2;
        whole = true;
      }
    }
    while (at < text.length) {
      const each = text[at]!;
      if (each === "\\") {
        at += 2;
        whole = false;
      } else if (`"'\``.includes(each)) {
        if (each === open && (own || at > start)) {
          if (/^[\s;&|,)\]}]?$/.test(text[at + 1] ?? "")) break;
          open = "";
          at++;
          continue;
        }
        const close = closed(at);
        if (close < 0) return at === start ? text.length : lineEnd(text, at);
        at = close;
        whole = true;
      } else if ("([{".includes(each)) {
        const close = balanced(at);
        if (close < 0 && (at === start || text[at - 1] === "$")) return text.length;
        whole = close > 0;
        at = close > 0 ? close : at + 1;
      } else if (/[\s;&]/.test(each) || (loose && whole && ",)]}".includes(each))) break;
      else {
        at++;
        whole = false;
      }
    }
    return Math.min(at, text.length);
  }

  return { closed, end };
}

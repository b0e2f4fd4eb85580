import { endOf, lineEnd, MARK, Words } from "./redact-words.js";

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
export function withoutNamed(text: string): string {
  return new NamedSecrets(text).redact();
}

/** A run of characters that a name can be made of, and what stands around it. */
interface NameRun {
  readonly index: number;
  readonly text: string;
  readonly after: number;
  /** Without quotes and escapes. */
  readonly name: string;
  /** The same, from the quote that it opened. */
  readonly bare: string;
  /** The quote that was open before it. */
  readonly outer: string;
  /** It opened the quote that is open behind it. */
  readonly own: boolean;
  /** It begins a word. */
  readonly first: boolean;
}

class NamedSecrets {
  readonly #text: string;
  readonly #words: Words;
  readonly #curl: boolean;
  #safe = "";
  #done = 0;
  #read = 0;
  #quote = "";
  /** The flag behind which the command that was read last takes a password. */
  #flag = "";
  #attachedOnly = false;

  constructor(text: string) {
    this.#text = text;
    this.#words = new Words(text);
    this.#curl = /curl|wget/i.test(text);
  }

  redact(): string {
    for (let run = this.#next(); run !== undefined; run = this.#next()) {
      if (!this.#passwordFlag(run) && !this.#userAndPassword(run)) this.#namedValue(run);
    }
    return this.#safe + this.#text.slice(this.#done);
  }

  #next(): NameRun | undefined {
    RUN.lastIndex = this.#read;
    const found = RUN.exec(this.#text);
    if (found === null) return undefined;
    const { index } = found;
    const text = found[0];
    // A quote that a line leaves open may be an apostrophe: not trusted for longer.
    if (this.#text.slice(this.#read, index).includes("\n")) this.#quote = "";
    const outer = this.#quote;
    const opened = openQuote(text, outer);
    this.#quote = opened.quote;
    this.#read = index + text.length;
    const own = opened.at >= 0;
    return {
      index,
      text,
      after: this.#read,
      name: text.replace(/[\\"'`]/g, ""),
      bare: (own ? text.slice(opened.at + 1) : text).replace(/^.*\\[rn]/, "").replace(/[\\"'`]/g, ""),
      outer,
      own,
      first: index === 0 || /\s/.test(this.#text[index - 1]!),
    };
  }

  #cut(start: number, end: number): void {
    if (end <= start) return;
    this.#safe += this.#text.slice(this.#done, start) + MARK;
    this.#done = end;
    this.#read = end;
  }

  /** `mysql -psecret`: true where the run was such a flag. */
  #passwordFlag({ index, text, after, name, first }: NameRun): boolean {
    if (PASSWORD_FLAGS.has(name) || ATTACHED_ONLY.test(name)) {
      this.#attachedOnly = !PASSWORD_FLAGS.has(name);
      this.#flag = PASSWORD_FLAGS.get(name) ?? "-p";
      return false;
    }
    if (!first || this.#flag === "" || !text.startsWith(this.#flag) || SECRET_NAME.test(name)) return false;
    const attached = text.length > 2 || !/\s|^$/.test(this.#text[after] ?? "");
    const start = attached ? index + 2 : match(GAP, this.#text, after);
    if (start > 0 && (attached || !this.#attachedOnly)) this.#cut(start, this.#words.end(start, "", false));
    if (!this.#attachedOnly) this.#flag = "";
    return true;
  }

  /** `curl -u user:secret`: true where the run was such a flag. */
  #userAndPassword({ index, text, outer, first }: NameRun): boolean {
    const user = first ? userFlag(text, this.#curl) : -1;
    if (user < 0) return false;
    USER.lastIndex = index + user;
    const who = USER.exec(this.#text);
    if (who === null) return false;
    const start = USER.lastIndex;
    if (who[1] === "") this.#cut(start, this.#words.end(start, outer, false));
    else {
      const close = this.#words.closed(index + user + who[0].indexOf(who[1]!));
      this.#cut(start, close > 0 ? close : lineEnd(this.#text, start));
    }
    return true;
  }

  /** `token=secret`, `Authorization: Bearer secret`, `<password>secret</password>`, `?sig=secret`, a block of YAML. */
  #namedValue(run: NameRun): void {
    const { index, after, name, bare, outer, own } = run;
    const text = this.#text;
    const query = /[?&]/.test(text[index - 1] ?? "") && (QUERY.test(name) || SECRET_NAME.test(name));
    const header = HEADER.test(bare);
    if (!query && !header && !SECRET_NAME.test(name)) return;
    if (text[after] === ">" && text[index - 1] === "<") return this.#cut(after + 1, endOf(text, /</g, after));
    const block = match(BLOCK, text, after);
    if (block > 0) return this.#cut(block, blockEnd(text, index, block));
    const start = match(ASSIGN, text, after);
    if (start < 0) {
      const value = name.startsWith("-") ? match(GAP, text, after) : -1;
      if (value > 0) this.#cut(value, this.#words.end(value, own ? "" : outer, false));
      return;
    }
    if (query) return this.#cut(start, endOf(text, /[\s&"'`#<>;]/g, start));
    this.#assigned(run, start, header);
  }

  #assigned({ text: run, after, own }: NameRun, start: number, header: boolean): void {
    const text = this.#text;
    const separator = text.slice(after, start);
    const quoted = /["'`]$/.test(run);
    if (header && !quoted && separator.includes(":") && !/["'`]/.test(text[start] ?? "")) {
      const scheme = match(SCHEME, text, start);
      const value = scheme > 0 ? scheme : start;
      if (this.#quote !== "") this.#cut(value, headerEnd(text, value, this.#quote));
      else if (/\s/.test(text[value - 1]!)) this.#cut(value, lineEnd(text, value));
      else this.#cut(value, this.#words.end(value, "", false));
      return;
    }
    const loose = quoted || /[\s:]/.test(separator);
    // Where the name's own word opened the quote, the same quote right behind the separator closes it.
    let end = this.#words.end(start, this.#quote, loose, own);
    const typed = separator.includes(":") && end > start ? match(TYPED, text, end) : -1;
    if (typed > 0) end = Math.max(end, this.#words.end(typed, this.#quote, true));
    this.#cut(start, end);
  }
}

function match(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
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

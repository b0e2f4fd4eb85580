/** What stands in the place of a secret. */
export const MARK = "[redacted]";

const MAX_NESTING = 16;

/** Where words of a shell, Python, JSON or YAML end, with any mix of quotes, escapes and brackets. */
export class Words {
  readonly #text: string;
  /** Openings whose closing is missing: looking for it again each time would take quadratic time. */
  readonly #unclosed = new Set<string>();

  constructor(text: string) {
    this.#text = text;
  }

  /** The position behind the quote that closes the one at `at`; -1: none does. */
  closed(at: number, depth = 0): number {
    const text = this.#text;
    const quote = text[at]!;
    if (this.#unclosed.has(quote)) return -1;
    let next = at + 1;
    while (next < text.length) {
      if (text[next] === "\\") next += 2;
      else if (text[next] === quote) return next + 1;
      else if (quote === '"' && depth < MAX_NESTING && text.startsWith("$(", next)) {
        const inner = this.#balanced(next + 1, depth + 1);
        next = inner > 0 ? inner : next + 2;
      } else next++;
    }
    this.#unclosed.add(quote);
    return -1;
  }

  #balanced(at: number, depth = 0): number {
    const text = this.#text;
    if (this.#unclosed.has("(")) return -1;
    let level = 0;
    let next = at;
    while (next < text.length) {
      const each = text[next]!;
      if (each === "\\") next++;
      else if (`"'\``.includes(each) && depth < MAX_NESTING) {
        const inner = this.closed(next, depth + 1);
        if (inner > 0) next = inner - 1;
      } else if ("([{".includes(each)) level++;
      else if (")]}".includes(each) && --level === 0) return next + 1;
      next++;
    }
    this.#unclosed.add("(");
    return -1;
  }

  /** The end of the word at `start`. `around` is a quote that is open around it; `own`: the name's word opened that quote. */
  end(start: number, around: string, loose: boolean, own = false): number {
    const text = this.#text;
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
        const close = this.closed(at);
        if (close < 0) return at === start ? text.length : lineEnd(text, at);
        at = close;
        whole = true;
      } else if ("([{".includes(each)) {
        const close = this.#balanced(at);
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
}

/** The end of the line that `from` is in. */
export function lineEnd(text: string, from: number): number {
  return endOf(text, /[\r\n]/g, from);
}

/** Where the next match of a global pattern begins; the end of the text where there is none. */
export function endOf(text: string, what: RegExp, from: number): number {
  what.lastIndex = from;
  return what.exec(text)?.index ?? text.length;
}

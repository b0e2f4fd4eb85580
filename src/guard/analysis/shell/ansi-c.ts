const SIMPLE: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  e: "\x1b",
  E: "\x1b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  "'": "'",
  '"': '"',
  "?": "?",
};

const ESCAPE =
  /\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|x\{([0-9a-fA-F]{1,8})\}|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c([\s\S])|([\s\S]))/g;

/** The text that `$'…'` stands for. A NUL ends it. */
export function unescapeAnsiC(body: string): string {
  const text = unescapeBackslashes(body);
  const end = text.indexOf("\0");
  return end === -1 ? text : text.slice(0, end);
}

/** The text with the escapes of C, as `printf` writes it. */
export function unescapeBackslashes(body: string): string {
  return decodeBytes(
    body.replace(ESCAPE, (all, octal, hex, braced, short, long, control, other) => {
      if (octal !== undefined) return byte(Number.parseInt(octal, 8));
      if (hex !== undefined) return byte(Number.parseInt(hex, 16));
      if (braced !== undefined) return byte(Number.parseInt(braced, 16));
      if (short !== undefined) return point(Number.parseInt(short, 16));
      if (long !== undefined) return point(Number.parseInt(long, 16));
      if (control !== undefined) return String.fromCharCode(control.charCodeAt(0) & 0x1f);
      return Object.hasOwn(SIMPLE, other) ? SIMPLE[other]! : all;
    }),
  );
}

/** Bytes above 0x7f are kept apart until all of them are there: together they may be UTF-8. */
const BYTE_BASE = 0x10fe00;

function byte(value: number): string {
  const masked = value & 0xff;
  return masked < 0x80 ? String.fromCharCode(masked) : String.fromCodePoint(BYTE_BASE + masked);
}

function point(value: number): string {
  return value <= 0x10ffff ? String.fromCodePoint(value) : "\ufffd";
}

function decodeBytes(text: string): string {
  return text.replace(/[\u{10fe80}-\u{10feff}]+/gu, (run) =>
    Buffer.from(Array.from(run, (char) => char.codePointAt(0)! - BYTE_BASE)).toString("utf8"),
  );
}

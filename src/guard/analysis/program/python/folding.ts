import { variable } from "../environment.js";
import { elementOf } from "../evaluator.js";
import {
  anyOf,
  concat,
  directoryOf,
  HOLE,
  joined,
  joinedPath,
  list,
  MARKS,
  MAX_TEXT,
  mapping,
  mapTexts,
  mark,
  named,
  number,
  serialized,
  text,
  UNKNOWN,
  unmark,
  type Value,
} from "../value.js";

type Fold = (args: readonly Value[], keywords: ReadonlyMap<string, Value>) => Value | undefined;

const decoded =
  (encoding: BufferEncoding): Fold =>
  ([value]) =>
    mapTexts(value ?? UNKNOWN, (one) => Buffer.from(one, encoding).toString("utf8"), MARKS.decoded);
const opaque: Fold = (args) => ({
  ...UNKNOWN,
  marks: args.reduce<number>((all, { marks }) => all | marks, MARKS.decoded),
});
const first: Fold = ([value]) => value;
const path: Fold = (args) => joinedPath(args);
const filesOf: Fold = ([where]) => {
  const texts = where?.texts ?? [];
  const others = texts.some((one) => one.startsWith("/proc")) ? MARKS.others : 0;
  return list(
    texts.map((one) => text(one, others)),
    (where?.marks ?? 0) | others,
  );
};
const others: Fold = () => ({ ...UNKNOWN, marks: MARKS.others });
/** Where packages are installed; which directory exactly does not matter. */
const PACKAGES = "/usr/lib/python3/site-packages";
const parentOf: Fold = ([value]) => mapTexts(value ?? UNKNOWN, directoryOf);

const environment: Fold = () => ({ ...UNKNOWN, marks: MARKS.environment });

/** What known functions return, folded as far as they are pure. */
export const FUNCTIONS: ReadonlyMap<string, Fold> = new Map<string, Fold>([
  ["builtins.chr", ([code]) => letters(code)],
  ["builtins.ord", ([letter]) => numbersOf(letter)],
  ["builtins.str", (args) => (args[0]?.numbers.length ? text(String(args[0].numbers[0])) : args[0])],
  ["builtins.int", ([value, base]) => parsed(value, base)],
  ["builtins.bytes", (args) => bytes(args[0])],
  ["builtins.bytearray", (args) => bytes(args[0])],
  ["builtins.bytes.fromhex", decoded("hex")],
  ["builtins.bytearray.fromhex", decoded("hex")],
  ["builtins.list", first],
  ["builtins.tuple", first],
  ["builtins.iter", first],
  ["builtins.dict", first],
  ["builtins.repr", first],
  ["builtins.sorted", first],
  ["builtins.memoryview", first],
  ["builtins.reversed", ([value]) => reversed(value ?? UNKNOWN)],
  ["builtins.map", ([change, items]) => mapped(change, items)],
  ["functools.lru_cache", first],
  ["functools.cache", first],
  ["builtins.staticmethod", first],
  ["builtins.classmethod", first],
  ["asyncio.run", first],
  ["codecs.encode", (args) => coded(args)],
  ["codecs.decode", (args) => coded(args)],
  ["base64.b64decode", decoded("base64")],
  ["base64.standard_b64decode", decoded("base64")],
  ["base64.urlsafe_b64decode", decoded("base64url")],
  ["base64.decodebytes", decoded("base64")],
  ["base64.b16decode", decoded("hex")],
  ["base64.b32decode", opaque],
  ["base64.b85decode", opaque],
  ["base64.a85decode", opaque],
  ["binascii.unhexlify", decoded("hex")],
  ["binascii.a2b_hex", decoded("hex")],
  ["binascii.a2b_base64", decoded("base64")],
  ["zlib.decompress", opaque],
  ["bz2.decompress", opaque],
  ["lzma.decompress", opaque],
  ["gzip.decompress", opaque],
  ["marshal.loads", opaque],
  ["os.path.join", path],
  ["os.path.dirname", parentOf],
  ["os.getppid", others],
  ["os.getpgid", ([id]) => id],
  ["os.pidfd_open", ([id]) => id],
  ["psutil.pids", others],
  ["builtins.range", () => ({ ...named("builtins.range()"), marks: MARKS.others })],
  ["ipaddress.ip_address", ([value]) => (value?.numbers.length ? text(String(value.numbers[0])) : value)],
  ["ipaddress.IPv4Address", ([value]) => (value?.numbers.length ? text(String(value.numbers[0])) : value)],
  ["site.getsitepackages", () => list([text(PACKAGES)])],
  ["site.getusersitepackages", () => text(PACKAGES)],
  ["sysconfig.get_path", () => text(PACKAGES)],
  ["sysconfig.get_paths", () => mapping([undefined], [text(PACKAGES)])],
  ["json.dumps", ([value]) => serialized(value)],
  ["distutils.sysconfig.get_python_lib", () => text(PACKAGES)],
  ["os.path.expanduser", first],
  ["os.path.expandvars", first],
  ["os.path.abspath", first],
  ["os.path.realpath", first],
  ["os.path.normpath", first],
  ["os.fspath", first],
  ["os.getcwd", () => text(".")],
  ["tempfile.gettempdir", () => text("/tmp/*")],
  ["tempfile.mkdtemp", () => text("/tmp/*")],
  ["os.getenv", ([name, other]) => anyOf([variable(name?.texts[0]), other ?? UNKNOWN])],
  ["os.environ.get", ([name, other]) => anyOf([variable(name?.texts[0]), other ?? UNKNOWN])],
  ["os.environ.pop", ([name]) => variable(name?.texts[0])],
  ["os.environ.copy", environment],
  ["os.environ.items", environment],
  ["os.environ.values", environment],
  ["glob.glob", filesOf],
  ["glob.iglob", filesOf],
  ["os.listdir", filesOf],
  ["os.scandir", filesOf],
  ["os.walk", filesOf],
]);

/** What known methods of texts and lists return. `self` is what they are called on. */
export const METHODS: ReadonlyMap<string, (self: Value, args: readonly Value[]) => Value | undefined> =
  new Map<string, (self: Value, args: readonly Value[]) => Value | undefined>([
    ["join", (self, [items]) => joinItems(self, items)],
    ["decode", (self) => self],
    ["encode", (self) => self],
    ["strip", (self) => mapTexts(self, (one) => one.trim())],
    ["rstrip", (self) => mapTexts(self, (one) => one.trimEnd())],
    ["lstrip", (self) => mapTexts(self, (one) => one.trimStart())],
    ["lower", (self) => mapTexts(self, (one) => one.toLowerCase())],
    ["upper", (self) => mapTexts(self, (one) => one.toUpperCase())],
    ["replace", (self, args) => replaced(self, args)],
    ["translate", (self) => ({ ...UNKNOWN, marks: self.marks | MARKS.decoded })],
    ["split", (self, [separator]) => split(self, separator)],
    ["format", (self, args) => formatted(self, args, /\{[^{}]{0,40}\}/g)],
    ["copy", (self) => self],
    ["items", (self) => self],
    ["values", (self) => self],
    ["hex", (self) => unmark({ ...UNKNOWN, marks: self.marks }, MARKS.built)],
    // The parts of pathlib that only make another path.
    ["expanduser", (self) => self],
    ["resolve", (self) => self],
    ["absolute", (self) => self],
    ["joinpath", (self, args) => ({ ...joinedPath([self, ...args]), names: self.names })],
    ["glob", (self, args) => ({ ...list([joinedPath([self, ...args])]), marks: self.marks })],
    ["rglob", (self) => ({ ...list([self]), marks: self.marks })],
    ["iterdir", (self) => ({ ...list([self]), marks: self.marks })],
  ]);

function letters(code: Value | undefined): Value {
  const texts = (code?.numbers ?? [])
    .filter((one) => one >= 0 && one <= 0x10ffff)
    .map((one) => safeLetter(one));
  return { ...UNKNOWN, texts, marks: (code?.marks ?? 0) | MARKS.decoded };
}

function safeLetter(code: number): string {
  return Number.isInteger(code) ? String.fromCodePoint(code) : HOLE;
}

function numbersOf(letter: Value | undefined): Value {
  const code = letter?.texts[0]?.codePointAt(0);
  return code === undefined ? UNKNOWN : number(code);
}

function parsed(value: Value | undefined, base: Value | undefined): Value | undefined {
  const digits = value?.texts[0];
  if (digits === undefined) return value?.numbers.length ? value : mark(UNKNOWN, value?.marks ?? 0);
  const radix = base?.numbers[0] ?? 10;
  const result = radix >= 2 && radix <= 36 ? number(Number.parseInt(digits, radix)) : UNKNOWN;
  return mark(result, (value?.marks ?? 0) & MARKS.others);
}

function bytes(value: Value | undefined): Value | undefined {
  if (value?.items === undefined || value.items.length === 0) return value;
  const codes = value.items.map((item) => item.numbers[0]);
  if (codes.some((code) => code === undefined || code < 0 || code > 255))
    return { ...UNKNOWN, marks: value.marks };
  return text(Buffer.from(codes as number[]).toString("utf8"), value.marks | MARKS.decoded);
}

export function reversed(value: Value): Value {
  if (value.items !== undefined)
    return { ...value, items: value.items.toReversed(), marks: value.marks | MARKS.decoded };
  return mapTexts(value, (one) => [...one].reverse().join(""), MARKS.decoded);
}

function mapped(change: Value | undefined, items: Value | undefined): Value | undefined {
  const fold = FUNCTIONS.get(change?.names[0] ?? "");
  const all = itemsOf(items);
  if (fold === undefined || all === undefined) return { ...elementOf(items ?? UNKNOWN), names: [] };
  return list(all.map((item) => fold([item], NO_KEYWORDS) ?? UNKNOWN));
}

const NO_KEYWORDS: ReadonlyMap<string, Value> = new Map();

/** The items of a list, or the characters of a text. */
export function itemsOf(value: Value | undefined): readonly Value[] | undefined {
  if (value?.items !== undefined) return value.items;
  const one = value?.texts[0];
  return one === undefined || one.length > 1024
    ? undefined
    : [...one].map((letter) => text(letter, value?.marks));
}

function joinItems(separator: Value, items: Value | undefined): Value {
  const all = itemsOf(items);
  if (all === undefined) return { ...UNKNOWN, marks: separator.marks | (items?.marks ?? 0) };
  return joined(all, separator.texts[0] ?? HOLE, separator.marks | (items?.marks ?? 0));
}

const MAX_REPLACED = 128 * 1024;

function replaced(self: Value, [from, to]: readonly Value[]): Value {
  const what = from?.texts[0];
  const by = to?.texts[0] ?? HOLE;
  if (what === undefined || what === "" || by.length > 256) return { ...UNKNOWN, marks: self.marks };
  const change = (one: string) =>
    one.length * by.length > MAX_REPLACED ? HOLE : one.replaceAll(what, () => by);
  return mapTexts(self, change, MARKS.built);
}

function split(self: Value, separator: Value | undefined): Value {
  const one = self.texts[0];
  if (one === undefined) return { ...UNKNOWN, marks: self.marks };
  const by = separator?.texts[0];
  return list(
    one.split(by === undefined || by === "" ? /\s+/ : by, 1024).map((part) => text(part, self.marks)),
  );
}

/** Puts arguments where a format has places for them. */
export function formatted(self: Value, args: readonly Value[], places: RegExp): Value {
  const marks = args.reduce((all, value) => all | value.marks, self.marks | MARKS.built);
  return mapTexts(
    self,
    (one) => {
      let next = 0;
      let length = one.length;
      return one.replace(places, (place) => {
        if (place === "%%") return "%";
        const index = /^\{(\d{1,4})/.exec(place)?.[1];
        const value = args[index === undefined ? next++ : Number(index)];
        const known = value?.texts[0] ?? (value?.numbers[0] === undefined ? HOLE : String(value.numbers[0]));
        length += known.length;
        return length > MAX_TEXT ? HOLE : known;
      });
    },
    marks,
  );
}

function coded([value, encoding]: readonly Value[]): Value {
  const how = (encoding?.texts[0] ?? "").toLowerCase().replaceAll(/[_-]/g, "");
  const source = value ?? UNKNOWN;
  if (how === "rot13") return mapTexts(source, rot13, MARKS.decoded);
  if (how.startsWith("hex"))
    return mapTexts(source, (one) => Buffer.from(one, "hex").toString("utf8"), MARKS.decoded);
  if (how.startsWith("base64")) {
    return mapTexts(source, (one) => Buffer.from(one, "base64").toString("utf8"), MARKS.decoded);
  }
  if (/^(?:utf8|ascii|latin1)$/.test(how)) return source;
  return mark({ ...UNKNOWN, marks: source.marks }, MARKS.decoded);
}

function rot13(source: string): string {
  return source.replace(/[a-z]/gi, (letter) => {
    const base = letter <= "Z" ? 65 : 97;
    return String.fromCharCode(((letter.charCodeAt(0) - base + 13) % 26) + base);
  });
}

/** The path that a class of pathlib makes of its arguments. */
export function pathObject(args: readonly Value[]): Value {
  return { ...(args.length === 0 ? text(".") : joinedPath(args)), names: ["pathlib.Path()"] };
}

export const HOME_PATH: Value = { ...text("~"), names: ["pathlib.Path()"] };

/** Numbers, texts and lists under an operator. */
export function operated(operator: string, left: Value, right: Value): Value {
  const a = left.numbers[0];
  const b = right.numbers[0];
  if (a !== undefined && b !== undefined) return number(calculated(operator, a, b));
  switch (operator) {
    case "+":
      return concat(left, right);
    case "%":
      if (left.texts.length > 0)
        return formatted(left, right.items ?? [right], /%[-+ 0#]{0,4}\d{0,4}(?:\.\d{1,4})?[a-zA-Z%]/g);
      break;
    case "*": {
      const count = b ?? a;
      const value = b === undefined ? right : left;
      if (count !== undefined && value.texts.length > 0 && count >= 0 && count <= 4096) {
        return mapTexts(value, (one) => (one.length * count > 16_384 ? HOLE : one.repeat(Math.trunc(count))));
      }
      break;
    }
    case "/":
      if (left.names.includes("pathlib.Path()") || right.names.includes("pathlib.Path()")) {
        return { ...joinedPath([left, right]), names: ["pathlib.Path()"] };
      }
      break;
  }
  const marks = left.marks | right.marks;
  // What is added to a mode is in it, whatever else is.
  if (operator === "|")
    return { ...UNKNOWN, numbers: [...left.numbers, ...right.numbers], marks: marks | MARKS.partial };
  return marks === 0 ? UNKNOWN : { ...UNKNOWN, marks };
}

function calculated(operator: string, a: number, b: number): number {
  switch (operator) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "**":
      return a ** b;
    case "//":
      return Math.floor(a / b);
    case "/":
      return a / b;
    case "%":
      return ((a % b) + b) % b;
    case "^":
      return a ^ b;
    case "|":
      return a | b;
    case "&":
      return a & b;
    case "<<":
      return b >= 0 && b < 1000 ? a * 2 ** b : Number.NaN;
    case ">>":
      return b >= 0 && b < 64 ? Math.floor(a / 2 ** b) : Number.NaN;
    default:
      return Number.NaN;
  }
}

/** A module by its name, as an import function gives it. */
export function moduleNamed(value: Value | undefined): Value {
  const texts = (value?.texts ?? []).filter((one) => /^[\w.]{1,100}$/.test(one));
  return texts.length === 0 ? { ...named("?module"), marks: value?.marks ?? 0 } : named(...texts);
}

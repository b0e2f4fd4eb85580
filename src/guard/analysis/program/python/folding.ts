import { variable } from "../environment.js";
import { elementOf } from "../evaluator.js";
import {
  bytesOf,
  calculated,
  decodedBy,
  letter,
  letters,
  parsed,
  repeated,
  replaced,
  split,
  transcoded,
  written,
} from "../folding.js";
import {
  anyOf,
  combined,
  concat,
  directoryOf,
  HOLE,
  joined,
  joinedPath,
  list,
  MARKS,
  mapping,
  mapTexts,
  mark,
  marksOf,
  named,
  serialized,
  text,
  UNKNOWN,
  unmark,
  type Value,
} from "../value.js";

type Fold = (args: readonly Value[], keywords: ReadonlyMap<string, Value>) => Value | undefined;

const decoded =
  (encoding: "base64" | "base64url" | "hex"): Fold =>
  ([value]) =>
    decodedBy(value, encoding);
const opaque: Fold = (args) => ({
  ...UNKNOWN,
  marks: marksOf(args) | MARKS.decoded,
});
const first: Fold = ([value]) => value;
const unsure = ([value]: readonly Value[]): Value | undefined => value && mark(value, MARKS.partial);
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
  ["builtins.chr", ([code]) => letters(code, letter)],
  [
    "builtins.ord",
    ([one]) => combined([{ ...(one ?? UNKNOWN), numbers: [] }], (a) => String(a).codePointAt(0)),
  ],
  [
    "builtins.str",
    ([value, encoding], keywords) => {
      const how = encoding ?? keywords.get("encoding");
      return value === undefined ? undefined : how === undefined ? written(value) : transcoded(value, how);
    },
  ],
  ["builtins.int", ([value, base]) => integer(value, base)],
  ["builtins.bytes", (args) => bytes(args[0])],
  // What is in it may be changed through a view of it.
  ["builtins.bytearray", (args) => unsure([bytes(args[0]) ?? UNKNOWN])],
  ["builtins.bytes.fromhex", decoded("hex")],
  ["builtins.bytearray.fromhex", decoded("hex")],
  ["builtins.list", first],
  ["builtins.tuple", first],
  ["builtins.iter", first],
  ["builtins.dict", first],
  ["builtins.repr", unsure],
  // In another order.
  ["builtins.sorted", unsure],
  ["builtins.memoryview", unsure],
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
  ["ipaddress.ip_address", ([value]) => value && written(value)],
  ["ipaddress.IPv4Address", ([value]) => value && written(value)],
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
  ["os.getenv", ([name, other]) => anyOf([variables(name), other ?? UNKNOWN])],
  ["os.environ.get", ([name, other]) => anyOf([variables(name), other ?? UNKNOWN])],
  ["os.environ.pop", ([name]) => variables(name)],
  ["os.environ.copy", environment],
  ["os.environ.items", environment],
  ["os.environ.values", environment],
  ["glob.glob", filesOf],
  ["glob.iglob", filesOf],
  ["os.listdir", filesOf],
  ["os.scandir", filesOf],
  ["os.walk", filesOf],
]);

type Method = (
  self: Value,
  args: readonly Value[],
  keywords: ReadonlyMap<string, Value>,
) => Value | undefined;

/** What Python takes for blank. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it takes some control characters for blanks
const BLANKS = /[\s\x1c-\x1f\x85]/;
const stripped =
  (sides: string): Method =>
  (self, [letters]) =>
    combined(
      letters === undefined ? [{ ...self, numbers: [] }] : [{ ...self, numbers: [] }, letters],
      (one, some) => {
        const all = [...String(one)];
        const blank = (at: string) => (some === undefined ? BLANKS.test(at) : String(some).includes(at));
        const start = sides.includes("l") ? all.findIndex((at) => !blank(at)) : 0;
        const end = sides.includes("r") ? all.findLastIndex((at) => !blank(at)) + 1 : all.length;
        return start === -1 ? "" : all.slice(start, end).join("");
      },
    );

/** What known methods of texts and lists return. `self` is what they are called on. */
export const METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ["join", (self, [items]) => joinItems(self, items)],
  ["decode", (self, [how], keywords) => transcoded(self, how ?? keywords.get("encoding"))],
  ["encode", (self, [how], keywords) => transcoded(self, how ?? keywords.get("encoding"))],
  ["strip", stripped("lr")],
  ["rstrip", stripped("r")],
  ["lstrip", stripped("l")],
  ["lower", (self) => mapTexts(self, (one) => one.toLowerCase())],
  ["upper", (self) => mapTexts(self, (one) => one.toUpperCase())],
  ["replace", (self, args, keywords) => replacedTimes(self, args, keywords)],
  ["translate", (self) => ({ ...UNKNOWN, marks: self.marks | MARKS.decoded })],
  ["split", (self, args, keywords) => splitBy(self, args, keywords)],
  ["format", (self, args, keywords) => formatted(self, args, keywords)],
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

function variables(name: Value | undefined): Value {
  return anyOf((name?.texts ?? []).map(variable));
}

function integer(value: Value | undefined, base: Value | undefined): Value | undefined {
  if (value === undefined || value.texts.length === 0)
    return value?.numbers.length ? value : mark(UNKNOWN, value?.marks ?? 0);
  const result = combined([value, base ?? { ...UNKNOWN, numbers: [10] }], (digits, radix) =>
    typeof digits === "number" ? digits : parsed(digits, Number(radix)),
  );
  return { ...result, marks: result.marks & (MARKS.others | MARKS.partial) };
}

function bytes(value: Value | undefined): Value | undefined {
  return value?.items === undefined || value.items.length === 0 ? value : bytesOf(value);
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
  const [one, ...others] = value?.texts ?? [];
  return one === undefined || others.length > 0 || one.length > 1024
    ? undefined
    : [...one].map((at) => text(at, value?.marks));
}

function joinItems(separator: Value, items: Value | undefined): Value {
  const all = itemsOf(items);
  const marks = separator.marks | (items?.marks ?? 0);
  if (all === undefined || separator.texts.length > 1) return { ...UNKNOWN, marks };
  return joined(all, separator.texts[0] ?? HOLE, marks);
}

function replacedTimes(self: Value, args: readonly Value[], keywords: ReadonlyMap<string, Value>): Value {
  const count = args[2] ?? keywords.get("count");
  if (count === undefined) return replaced(self, args, Number.POSITIVE_INFINITY);
  const ways = count.numbers.map((times) =>
    replaced(self, args, times < 0 ? Number.POSITIVE_INFINITY : times),
  );
  return ways.length === 0 ? { ...UNKNOWN, marks: self.marks } : mark(anyOf(ways), count.marks);
}

function splitBy(self: Value, [by, most]: readonly Value[], keywords: ReadonlyMap<string, Value>): Value {
  const separator = by ?? keywords.get("sep");
  const texts = separator?.texts ?? [];
  const limited = most !== undefined || keywords.has("maxsplit");
  if (limited || texts.length > 1 || texts[0] === "")
    return mark(split(self, texts[0] || /\s+/), MARKS.partial);
  if (texts.length === 1) return split(self, texts[0]!);
  if (separator !== undefined && !separator.names.includes("<off>")) return { ...UNKNOWN, marks: self.marks };
  return split(
    mapTexts(self, (one) => one.trim()),
    /\s+/,
  );
}

/** "{} {0} {name}".format(…); a place with a format of its own is a hole. */
function formatted(self: Value, args: readonly Value[], keywords: ReadonlyMap<string, Value>): Value {
  let next = 0;
  return filled(self, /\{\{|\}\}|\{[^{}]{0,40}\}|[{}]/g, (place) => {
    if (/^(?:\{\{|\}\}|[{}])$/.test(place)) return text(place[0]!);
    const title = place.slice(1, -1);
    if (title === "") return args[next++];
    return /^\d{1,4}$/.test(title) ? args[Number(title)] : keywords.get(title);
  });
}

/** "%s %d" % (…). */
function percented(self: Value, args: readonly Value[]): Value {
  let next = 0;
  return filled(
    self,
    /%(?:\([^)]{0,40}\))?[-+ 0#]{0,4}(?:\d{1,4}|\*)?(?:\.(?:\d{1,4}|\*))?[a-zA-Z%]/g,
    (place) => {
      if (place === "%%") return text("%");
      const value = args[next++];
      if (place === "%s" || (place === "%d" && value?.texts.length === 0)) return value;
      return undefined;
    },
  );
}

/** Puts values where a text has places for them. */
function filled(self: Value, places: RegExp, valueAt: (place: string) => Value | undefined): Value {
  const [format, ...others] = self.texts;
  if (format === undefined || others.length > 0) return { ...UNKNOWN, marks: self.marks | MARKS.built };
  const parts: Value[] = [];
  let end = 0;
  for (const { 0: place, index } of format.matchAll(places)) {
    parts.push(text(format.slice(end, index)), written(valueAt(place) ?? UNKNOWN));
    end = index + place.length;
  }
  return joined([...parts, text(format.slice(end))], "", self.marks | MARKS.built);
}

function coded([value, encoding]: readonly Value[]): Value {
  const how = (encoding?.texts[0] ?? "").toLowerCase().replaceAll(/[_-]/g, "");
  const source = value ?? UNKNOWN;
  if ((encoding?.texts.length ?? 0) > 1) return { ...UNKNOWN, marks: source.marks | MARKS.decoded };
  if (how === "rot13") return mapTexts(source, rot13, MARKS.decoded);
  if (how.startsWith("hex")) return decodedBy(source, "hex");
  if (how.startsWith("base64")) return decodedBy(source, "base64");
  return transcoded(source, encoding);
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
  const number = calculated(operator, left, right, true);
  if (number !== undefined) return number;
  switch (operator) {
    case "+":
      return concat(left, right);
    case "%":
      if (left.texts.length > 0) return percented(left, right.items ?? [right]);
      break;
    case "*": {
      const [value, count] = right.numbers.length > 0 ? [left, right] : [right, left];
      if (value.texts.length > 0 && count.numbers.length > 0) return repeated(value, count);
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

/** A module by its name, as an import function gives it. */
export function moduleNamed(value: Value | undefined): Value {
  const texts = (value?.texts ?? []).filter((one) => /^[\w.]{1,100}$/.test(one));
  return texts.length === 0 ? { ...named("?module"), marks: value?.marks ?? 0 } : named(...texts);
}

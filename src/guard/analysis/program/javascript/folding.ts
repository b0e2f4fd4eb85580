import { isWholeTree } from "../../rules/path-rules.js";
import {
  concat,
  directoryOf,
  HOLE,
  joined,
  joinedPath,
  list,
  MARKS,
  mapTexts,
  marksOf,
  named,
  number,
  serialized,
  text,
  UNKNOWN,
  type Value,
} from "../value.js";

type Fold = (args: readonly Value[]) => Value | undefined;
type Method = (self: Value, args: readonly Value[]) => Value | undefined;

const first: Fold = ([value]) => value;
const decodedFrom = (encoding: BufferEncoding): Fold => {
  return ([value]) =>
    mapTexts(value ?? UNKNOWN, (one) => Buffer.from(one, encoding).toString("utf8"), MARKS.decoded);
};

/** What known functions return, folded as far as they are pure. */
export const FUNCTIONS: ReadonlyMap<string, Fold> = new Map<string, Fold>([
  ["String.fromCharCode", (args) => letters(args)],
  ["String.fromCodePoint", (args) => letters(args)],
  ["String", (args) => (args[0]?.numbers.length ? text(String(args[0].numbers[0])) : args[0])],
  ["String.raw", first],
  ["Number", first],
  ["parseInt", (args) => parsed(args)],
  ["Number.parseInt", (args) => parsed(args)],
  ["atob", decodedFrom("base64")],
  ["Buffer.from", (args) => buffer(args)],
  ["Buffer.concat", (args) => joined(args[0]?.items ?? [], "")],
  ["decodeURIComponent", (args) => mapTexts(args[0] ?? UNKNOWN, percentDecoded, MARKS.decoded)],
  ["decodeURI", (args) => mapTexts(args[0] ?? UNKNOWN, percentDecoded, MARKS.decoded)],
  ["unescape", (args) => mapTexts(args[0] ?? UNKNOWN, percentDecoded, MARKS.decoded)],
  ["zlib.inflateSync", opaque],
  ["zlib.gunzipSync", opaque],
  ["zlib.brotliDecompressSync", opaque],
  ["Array.from", first],
  ["Object.values", content],
  ["Object.entries", content],
  ["Object.keys", content],
  [
    "Object.getPrototypeOf",
    ([value]) =>
      value?.names.some((name) => name.startsWith("<def ")) ? named("Function.prototype") : undefined,
  ],
  ["URL", first],
  ["Blob", ([parts]) => joined(parts?.items ?? [], "", parts?.marks)],
  [
    "URL.createObjectURL",
    ([value]) => mapTexts(value ?? UNKNOWN, (one) => `data:,${encodeURIComponent(one)}`),
  ],
  ["encodeURIComponent", first],
  ["JSON.stringify", ([value]) => serialized(value)],
  ["path.dirname", ([value]) => mapTexts(value ?? UNKNOWN, directoryOf)],
  [
    "Object.assign",
    (args) => ({ ...(args.find(({ items }) => items !== undefined) ?? UNKNOWN), marks: marksOf(args) }),
  ],
  ["Object.freeze", first],
  ["Promise.resolve", first],
  ["util.promisify", first],
  ["glob.glob", filesOf],
  ["glob.globSync", filesOf],
  ["glob.sync", filesOf],
  ["fast-glob", filesOf],
  ["fast-glob.sync", filesOf],
  ["globby.globby", filesOf],
  ["globby.globbySync", filesOf],
  ["fs.globSync", filesOf],
  ["fs.readdirSync", filesOf],
  ["fs.readdir", filesOf],
  ["fs.promises.readdir", filesOf],
  ["path.join", (args) => joinedPath(args)],
  ["path.resolve", (args) => joinedPath(args)],
  ["path.normalize", first],
  ["path.posix.join", (args) => joinedPath(args)],
  ["os.homedir", () => text("~")],
  ["os.tmpdir", () => text("/tmp/*")],
  ["process.cwd", () => text(".")],
  ["url.fileURLToPath", first],
]);

/** What known methods of texts and arrays return. `self` is what they are called on. */
export const METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ["toString", (self) => (self.numbers.length > 0 ? UNKNOWN : self)],
  ["valueOf", (self) => self],
  ["trim", (self) => mapTexts(self, (one) => one.trim())],
  ["toLowerCase", (self) => mapTexts(self, (one) => one.toLowerCase())],
  ["toUpperCase", (self) => mapTexts(self, (one) => one.toUpperCase())],
  [
    "join",
    (self, [by]) =>
      self.items === undefined ? undefined : joined(self.items, by?.texts[0] ?? ",", self.marks),
  ],
  ["split", (self, args) => split(self, args)],
  ["reverse", (self) => reversed(self)],
  ["toReversed", (self) => reversed(self)],
  ["concat", (self, args) => args.reduce((sum, part) => concat(sum, part), self)],
  ["replace", (self, args) => replaced(self, args)],
  ["replaceAll", (self, args) => replaced(self, args)],
  ["slice", (self, args) => sliced(self, args, (all, from, to) => all.slice(from, to))],
  ["substring", (self, args) => sliced(self, args, (all, from, to) => all.substring(from ?? 0, to))],
  ["substr", (self, args) => sliced(self, args, (all, from, to) => all.substr(from ?? 0, to))],
  ["charAt", (self, args) => sliced(self, args, (all, from) => all.charAt(from ?? 0))],
  ["charCodeAt", (self, args) => code(self, args)],
  ["codePointAt", (self, args) => code(self, args)],
  ["repeat", (self, args) => repeated(self, args)],
  ["at", (self, [index]) => self.items?.at(index?.numbers[0] ?? 0)],
  ["flat", (self) => self],
  ["filter", (self) => (self.items === undefined ? undefined : self)],
  ["sort", (self) => (self.items === undefined ? undefined : self)],
]);

/** Files by a pattern are named like the pattern; all of a system or a home directory are all of it. */
function filesOf([where]: readonly Value[]): Value {
  const texts = where?.texts ?? [];
  const marks = texts.some(isWholeTree) ? MARKS.wholeTree : 0;
  const others = texts.some((one) => one.startsWith("/proc")) ? MARKS.others : 0;
  return { ...list(texts.map((one) => text(one, others))), marks: (where?.marks ?? 0) | marks | others };
}

/** What an object holds, which is not the object. */
function content([value]: readonly Value[]): Value | undefined {
  return value?.names.length ? { ...value, names: [] } : value;
}

function opaque(args: readonly Value[]): Value {
  return { ...UNKNOWN, marks: marksOf(args) | MARKS.decoded };
}

function letters(args: readonly Value[]): Value {
  const codes = args.flatMap((arg) => arg.items ?? [arg]).map((arg) => arg.numbers[0]);
  const marks = marksOf(args) | MARKS.decoded;
  if (codes.some((one) => one === undefined || one < 0 || one > 0x10ffff)) return { ...UNKNOWN, marks };
  return text(codes.map((one) => String.fromCodePoint(Math.trunc(one!))).join(""), marks);
}

function parsed([value, base]: readonly Value[]): Value | undefined {
  const digits = value?.texts[0];
  if (digits === undefined) return value;
  const radix = base?.numbers[0] ?? 10;
  return radix >= 2 && radix <= 36 ? number(Number.parseInt(digits, radix)) : UNKNOWN;
}

function buffer([value, encoding]: readonly Value[]): Value | undefined {
  if (value?.items !== undefined && value.items.length > 0) {
    const codes = value.items.map((item) => item.numbers[0] ?? -1);
    if (codes.some((one) => one < 0 || one > 255)) return { ...UNKNOWN, marks: value.marks };
    return text(Buffer.from(codes).toString("utf8"), value.marks | MARKS.decoded);
  }
  const how = encoding?.texts[0];
  if (how === "base64" || how === "hex" || how === "base64url") return decodedFrom(how)([value ?? UNKNOWN]);
  return value;
}

function percentDecoded(source: string): string {
  return source.replace(/(?:%[0-9a-fA-F]{2})+/g, (run) =>
    Buffer.from(run.replaceAll("%", ""), "hex").toString("utf8"),
  );
}

function reversed(self: Value): Value {
  if (self.items === undefined) return { ...UNKNOWN, marks: self.marks };
  return { ...self, items: self.items.toReversed(), marks: self.marks | MARKS.decoded };
}

function split(self: Value, [by]: readonly Value[]): Value {
  const one = self.texts[0];
  const separator = by?.texts[0];
  if (one === undefined || separator === undefined) return { ...UNKNOWN, marks: self.marks };
  return list(one.split(separator, 1024).map((part) => text(part, self.marks)));
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

function sliced(
  self: Value,
  [from, to]: readonly Value[],
  cut: (text: string, from: number | undefined, to: number | undefined) => string,
): Value {
  if (self.items !== undefined)
    return { ...self, items: self.items.slice(from?.numbers[0] ?? 0, to?.numbers[0]) };
  return mapTexts(self, (one) => cut(one, from?.numbers[0], to?.numbers[0]), MARKS.built);
}

function code(self: Value, [index]: readonly Value[]): Value {
  const point = self.texts[0]?.codePointAt(index?.numbers[0] ?? 0);
  return point === undefined ? UNKNOWN : number(point);
}

function repeated(self: Value, [count]: readonly Value[]): Value {
  const times = count?.numbers[0] ?? Number.NaN;
  if (!(times >= 0 && times <= 4096)) return { ...UNKNOWN, marks: self.marks };
  return mapTexts(self, (one) => (one.length * times > 16_384 ? HOLE : one.repeat(Math.trunc(times))));
}

/** Numbers and texts under an operator. */
export function operated(operator: string, left: Value, right: Value): Value {
  const a = left.numbers[0];
  const b = right.numbers[0];
  if (a !== undefined && b !== undefined) return number(calculated(operator, a, b));
  if (operator === "+") return concat(asText(left), asText(right));
  const marks = left.marks | right.marks;
  return marks === 0 ? UNKNOWN : { ...UNKNOWN, marks };
}

function asText(value: Value): Value {
  return value.texts.length === 0 && value.numbers.length > 0
    ? text(String(value.numbers[0]), value.marks)
    : value;
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
    case "/":
      return a / b;
    case "%":
      return a % b;
    case "^":
      return a ^ b;
    case "|":
      return a | b;
    case "&":
      return a & b;
    case "<<":
      return a << b;
    case ">>":
      return a >> b;
    case ">>>":
      return a >>> b;
    default:
      return Number.NaN;
  }
}

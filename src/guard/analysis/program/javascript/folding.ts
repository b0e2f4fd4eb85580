import { posix } from "node:path";
import { isWholeTree } from "../../rules/path-rules.js";
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
  isCertainNumber,
  joined,
  joinedPath,
  list,
  MARKS,
  mapTexts,
  mark,
  marksOf,
  named,
  orHole,
  serialized,
  text,
  UNKNOWN,
  type Value,
} from "../value.js";

type Fold = (args: readonly Value[]) => Value | undefined;
type Method = (self: Value, args: readonly Value[]) => Value | undefined;

const first: Fold = ([value]) => value;
const unsure = (value: Value | undefined): Value | undefined => value && mark(value, MARKS.partial);
/** Path segments as Node puts them together: `join` takes an absolute one for a part, and both leave out "." and "..". */
const path =
  (resolve: boolean): Fold =>
  (args) => {
    if (args.length === 0) return UNKNOWN;
    const whole = resolve
      ? joinedPath(args)
      : combined(args.map(orHole), (...parts) => parts.filter((part) => part !== "").join("/"));
    return mapTexts({ ...whole, marks: whole.marks & ~MARKS.built }, (one) =>
      one.includes("..") && one.includes(HOLE) ? undefined : trimmedPath(one),
    );
  };

function trimmedPath(source: string): string {
  const path = posix.normalize(source);
  return path.length > 1 ? path.replace(/\/$/, "") : path;
}

/** What known functions return, folded as far as they are pure. */
export const FUNCTIONS: ReadonlyMap<string, Fold> = new Map<string, Fold>([
  ["String.fromCharCode", (args) => lettersOf(args, (code) => letter(Math.trunc(code) & 0xffff))],
  ["String.fromCodePoint", (args) => lettersOf(args, letter)],
  ["String", ([value]) => value && written(value)],
  // Its escapes stay as they are.
  ["String.raw", ([value]) => unsure(value)],
  ["Number", first],
  ["parseInt", (args) => integer(args)],
  ["Number.parseInt", (args) => integer(args)],
  ["atob", ([value]) => decodedBy(value, "base64")],
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
  ["path.join", path(false)],
  ["path.resolve", path(true)],
  ["path.normalize", path(false)],
  ["path.posix.join", path(false)],
  ["os.homedir", () => text("~")],
  ["os.tmpdir", () => text("/tmp/*")],
  ["process.cwd", () => text(".")],
  ["url.fileURLToPath", first],
]);

/** What known methods of texts and arrays return. `self` is what they are called on. */
export const METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ["toString", (self, [how]) => (self.numbers.length > 0 ? UNKNOWN : transcoded(self, how))],
  ["valueOf", (self) => self],
  ["trim", (self) => mapTexts(self, (one) => one.trim())],
  ["toLowerCase", (self) => mapTexts(self, (one) => one.toLowerCase())],
  ["toUpperCase", (self) => mapTexts(self, (one) => one.toUpperCase())],
  [
    "join",
    (self, [by]) =>
      self.items === undefined
        ? undefined
        : (by?.texts.length ?? 1) === 1
          ? joined(self.items, by?.texts[0] ?? ",", self.marks)
          : { ...UNKNOWN, marks: self.marks },
  ],
  ["split", (self, args) => splitBy(self, args)],
  ["reverse", (self) => reversed(self)],
  ["toReversed", (self) => reversed(self)],
  ["concat", (self, args) => args.reduce((sum, part) => concat(sum, part), self)],
  ["replace", (self, args) => replacedBy(self, args, 1)],
  ["replaceAll", (self, args) => replacedBy(self, args, Number.POSITIVE_INFINITY)],
  ["slice", (self, args) => sliced(self, args, (all, from, to) => all.slice(from, to))],
  ["substring", (self, args) => sliced(self, args, (all, from, to) => all.substring(from ?? 0, to))],
  ["substr", (self, args) => sliced(self, args, (all, from, to) => all.substr(from ?? 0, to))],
  ["charAt", (self, args) => sliced(self, args, (all, from) => all.charAt(from ?? 0))],
  ["charCodeAt", (self, args) => code(self, args)],
  ["codePointAt", (self, args) => code(self, args)],
  ["repeat", (self, [count]) => repeated(self, count)],
  ["at", (self, [index]) => anyOf((index?.numbers ?? []).map((place) => self.items?.at(place) ?? UNKNOWN))],
  ["flat", (self) => self],
  ["filter", (self) => (self.items === undefined ? undefined : unsure(self))],
  ["sort", (self) => (self.items === undefined ? undefined : unsure(self))],
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

function lettersOf(args: readonly Value[], letterOf: (code: number) => string | undefined): Value {
  const codes = args.flatMap((arg) => arg.items ?? [arg]);
  const known = codes.every(({ numbers }) => numbers.length > 0);
  const marks = marksOf(args) | MARKS.decoded;
  if (!known) return { ...UNKNOWN, marks };
  return joined(
    codes.map((one) => letters(one, letterOf)),
    "",
    marks,
  );
}

function integer([value, base]: readonly Value[]): Value | undefined {
  if (value === undefined || value.texts.length === 0) return value;
  return combined([value, base ?? { ...UNKNOWN, numbers: [10] }], (digits, radix) =>
    typeof digits === "number" ? digits : parsed(digits, Number(radix)),
  );
}

function buffer([value, encoding]: readonly Value[]): Value | undefined {
  if (value?.items !== undefined && value.items.length > 0) return bytesOf(value);
  const how = encoding?.texts[0];
  if (encoding?.texts.length === 1 && (how === "base64" || how === "hex" || how === "base64url"))
    return decodedBy(value, how);
  return value && transcoded(value, encoding);
}

function percentDecoded(source: string): string | undefined {
  if (/%u/.test(source)) return undefined;
  return source.replace(/(?:%[0-9a-fA-F]{2})+/g, (run) =>
    Buffer.from(run.replaceAll("%", ""), "hex").toString("utf8"),
  );
}

function reversed(self: Value): Value {
  if (self.items === undefined) return { ...UNKNOWN, marks: self.marks };
  return { ...self, items: self.items.toReversed(), marks: self.marks | MARKS.decoded };
}

function splitBy(self: Value, [by, limit]: readonly Value[]): Value {
  if (by === undefined || by.texts.length !== 1 || limit !== undefined)
    return { ...UNKNOWN, marks: self.marks };
  return split(self, by.texts[0]!);
}

/** What stands for a match in a replacement is not put in. */
function replacedBy(self: Value, args: readonly Value[], times: number): Value {
  const patterns = args[1]?.texts.some((one) => one.includes("$")) === true;
  return patterns ? { ...UNKNOWN, marks: self.marks } : replaced(self, args, times);
}

function sliced(
  self: Value,
  [from, to]: readonly Value[],
  cut: (text: string, from: number | undefined, to: number | undefined) => string,
): Value {
  if (self.items !== undefined) {
    const part = { ...self, items: self.items.slice(from?.numbers[0] ?? 0, to?.numbers[0]) };
    const certain = [from, to].every((place) => place === undefined || isCertainNumber(place));
    return certain ? part : mark(part, MARKS.partial);
  }
  const places = [from, to].flatMap((place) => place ?? []);
  return combined(
    [{ ...self, numbers: [] }, ...places],
    (one, start, end) => cut(String(one), start as number | undefined, end as number | undefined),
    MARKS.built,
  );
}

function code(self: Value, [index]: readonly Value[]): Value {
  const place = index ?? { ...UNKNOWN, numbers: [0] };
  const point = combined([{ ...self, numbers: [] }, place], (one, at) => {
    const found = String(one).codePointAt(Number(at));
    return found === undefined || found > 0xffff ? undefined : found;
  });
  return { ...point, marks: point.marks & MARKS.partial };
}

/** Numbers and texts under an operator. */
export function operated(operator: string, left: Value, right: Value): Value {
  const number = calculated(operator, left, right, false);
  if (number !== undefined) return number;
  if (operator === "+") return concat(left.texts.length > 0 ? left : written(left), written(right));
  const marks = left.marks | right.marks;
  return marks === 0 ? UNKNOWN : { ...UNKNOWN, marks };
}

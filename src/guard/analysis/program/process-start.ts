import { isCommandVariable } from "../shell/command-variables.js";
import { type ArgumentRef, type KnownFunction, SELF } from "./known-functions.js";
import { certainText, HOLE, MARKS, OFF, text, UNKNOWN, type Value } from "./value.js";

/** The arguments of a call, folded. */
export interface Arguments {
  readonly args: readonly Value[];
  /** By keyword, or by the key of an options object. */
  readonly keywords: ReadonlyMap<string, Value>;
}

/** A call of a known function, with what is known about its arguments. */
export interface KnownCall extends Arguments {
  readonly known: KnownFunction;
  /** The name by which it was found: "os.system". */
  readonly name: string;
  /** What the method is called on. */
  readonly receiver: Value;
  readonly offset: number;
  /** Inside of a loop that nothing ends. */
  readonly endless: boolean;
}

/** A place where a program starts another one, or runs a text as a program. */
export type ProcessStart = {
  /** Offset in the program. */
  readonly at: number;
  /** The function: "os.system". */
  readonly via: string;
  /** It reads what the program prints into it. */
  readonly reads?: true;
} & (
  | /** A text that a shell runs; may hold unknown places, undefined: nothing is known of it. */
  { readonly kind: "text"; readonly text: string | undefined }
  /** Words that run as they are. */
  | { readonly kind: "argv"; readonly argv: readonly (string | undefined)[] }
  /** A program in the same language. */
  | { readonly kind: "code"; readonly code: string | undefined }
);

/** A file that a program writes; what is not known of it is undefined. */
export interface WrittenFile {
  readonly path: string;
  readonly text?: string | undefined;
  /** It stands for another file. */
  readonly copyOf?: string;
  /** Behind what was there. */
  readonly appends?: boolean;
}

/** Every process that a program starts, as far as a scan or its facts tell. */
export interface ProcessStarts {
  readonly found: readonly ProcessStart[];
  readonly written?: readonly WrittenFile[];
  /** Files that it may load as code of its own language. */
  readonly loads?: readonly string[];
  /** Where the program makes no sense. */
  readonly problem: { readonly at: number; readonly what: string } | undefined;
}

/** The value at a place of the call. */
export function argument(call: Pick<KnownCall, "args" | "keywords" | "receiver">, ref: ArgumentRef): Value {
  if (ref === SELF) return call.receiver;
  if (typeof ref === "number") return call.args[ref] ?? UNKNOWN;
  if (typeof ref === "string") return call.keywords.get(ref) ?? UNKNOWN;
  return call.args[ref[0]] ?? call.keywords.get(ref[1]) ?? UNKNOWN;
}

/** What a call starts or runs as code, one for each way that it may be given; what is not known is one of them. */
export function startsOf(call: KnownCall): ProcessStart[] {
  const { keywords } = call;
  const isFed = (key: string) =>
    keywords.has(key) &&
    !isOff(keywords.get(key)!) &&
    !keywords.get(key)!.names.some((one) => /DEVNULL$/.test(one));
  const fed = isFed("input") || isFed("stdin");
  return [...processesOf(call).map((one) => (fed ? { ...one, reads: true as const } : one)), ...codeOf(call)];
}

/** A call that opens a file for writing. */
export function isWriting(call: KnownCall): boolean {
  if (call.known.mode === undefined) return false;
  const mode = argument(call, call.known.mode);
  // Flags are numbers; all but one of them write.
  if (/^(?:os|posix)\.open$/.test(call.name)) return call.args.length > 1 && !mode.texts.includes("r");
  return mode.texts.some((one) => one.length <= 8 && /[wax+]/.test(one));
}

export function unknownStart(at: number, via: string): ProcessStart {
  return { at, via, kind: "argv", argv: [undefined] };
}

function processesOf(call: KnownCall): ProcessStart[] {
  const { known, name, offset, args } = call;
  if (known.starts === undefined) return [];
  const [form, ref] = known.starts;
  const place = { at: offset, via: name };
  const from = typeof ref === "number" ? ref : 0;
  const unknown = [unknownStart(offset, name)];
  switch (form) {
    case "command":
      return commands(call, argument(call, ref), place);
    case "command-if-text":
      return argument(call, ref).texts.length === 0 ? [] : texts(argument(call, ref), place);
    case "program-list": {
      const program = args[from] ?? call.keywords.get("path") ?? call.keywords.get("file");
      const list = args[from + 1] ?? call.keywords.get("argv") ?? call.keywords.get("args");
      return [...programs(program, { ...place, words: listed(list, 1) }), ...changing(list, place)];
    }
    case "program-words":
      return programs(args[from], { ...place, words: args.slice(from + 2).map(certain) });
    case "words":
      return programs(args[from], { ...place, words: args.slice(from + 1).map(certain) });
    case "spawn":
      return spawned(call, place);
    case "fork": {
      const options = call.keywords.get("execArgv");
      const words = [
        ...(options === undefined ? [] : listed(options, 0)),
        args[from] === undefined ? undefined : certain(args[from]),
      ];
      return [...programs(call.keywords.get("execPath") ?? text("node"), { ...place, words }), ...open(call)];
    }
    case "binding":
      return isHarmlessBinding(args[0]) ? [] : unknown;
    case "unknown":
      return unknown;
  }
}

type Spot = { readonly at: number; readonly via: string };

const UNCERTAIN = MARKS.partial | MARKS.longer;

function isHarmlessBinding(name: Value | undefined): boolean {
  const text = name === undefined ? undefined : certainText(name);
  return text !== undefined && !text.includes(HOLE) && !/spawn|process_wrap|tty_wrap|pipe_wrap/.test(text);
}

function certain(value: Value): string | undefined {
  const text = certainText(value);
  return (
    text ??
    (value.texts.length === 0 && value.numbers.length === 1 && (value.marks & MARKS.partial) === 0
      ? String(value.numbers[0])
      : undefined)
  );
}

/** Each text that it may be, and that nothing is known where it may be something else. */
function texts(value: Value, place: Spot): ProcessStart[] {
  const found: ProcessStart[] = value.texts.map((text) => ({ ...place, kind: "text", text }));
  if (found.length === 0 || (value.marks & UNCERTAIN) !== 0)
    found.push({ ...place, kind: "text", text: undefined });
  return found;
}

/** The words of a list from one on; what may follow is one unknown word. */
function listed(list: Value | undefined, from: number): readonly (string | undefined)[] {
  if (list?.items === undefined) return [undefined];
  const words = list.items.slice(from).map(certain);
  return (list.marks & UNCERTAIN) === 0 ? words : [...words, undefined];
}

/** A list that may be another one. */
function changing(list: Value | undefined, { at, via }: Spot): ProcessStart[] {
  return ((list?.marks ?? 0) & MARKS.partial) === 0 ? [] : [unknownStart(at, via)];
}

/** A program with its words, for each program that it may be. */
function programs(
  program: Value | undefined,
  { at, via, words }: Spot & { readonly words: readonly (string | undefined)[] },
): ProcessStart[] {
  const found: ProcessStart[] = (program?.texts ?? []).map((text) => ({
    at,
    via,
    kind: "argv",
    argv: [text, ...words],
  }));
  if (found.length === 0 || (program!.marks & UNCERTAIN) !== 0)
    found.push({ at, via, kind: "argv", argv: [undefined, ...words] });
  return found;
}

function isOff(option: Value): boolean {
  return (
    (option.marks & MARKS.partial) === 0 &&
    (option.names.includes(OFF) || (option.numbers.length > 0 && option.numbers.every((one) => one === 0)))
  );
}

/** Options that are known only when it runs may name another program, or variables that do. */
function open({ keywords, offset, name }: KnownCall): ProcessStart[] {
  const variables = keywords.get("env")?.keys ?? [];
  const unseen = variables.some((one) => one !== undefined && isCommandVariable(one));
  return keywords.has(OPEN) || unseen ? [unknownStart(offset, name)] : [];
}

/** What a shell of the program's own choice is given. */
function chosen(
  shell: Value | undefined,
  words: readonly (string | undefined)[],
  place: Spot,
): ProcessStart[] {
  return (shell?.texts.length ?? 0) === 0 ? [] : programs(shell, { ...place, words: ["-c", ...words] });
}

function commands(call: KnownCall, command: Value, place: Spot): ProcessStart[] {
  // Popen's third argument, by its place.
  const third = call.name.startsWith("subprocess.") ? call.args[2] : undefined;
  const executable = call.keywords.get("executable") ?? third;
  const inShell = call.keywords.get("shell");
  const shell = inShell !== undefined && !isOff(inShell);
  const more = [...open(call), ...chosen(inShell, command.texts, place)];
  if (executable !== undefined && !isOff(executable)) {
    const words = command.items === undefined ? command.texts.slice(0, 1) : listed(command, 1);
    // A shell of one's own choice runs the text.
    const inOwn = shell ? texts(command, place) : [];
    return [...programs(executable, { ...place, words }), ...inOwn, ...more];
  }
  if (command.items === undefined) return [...texts(command, place), ...more];
  const found: ProcessStart[] = command.texts.length > 0 ? texts(command, place) : [];
  const [first] = command.items;
  if (first === undefined || (command.marks & MARKS.partial) !== 0)
    found.push(unknownStart(place.at, place.via));
  // With a shell the first word is the text, and the others are its parameters.
  if (first !== undefined)
    found.push(...(shell ? texts(first, place) : programs(first, { ...place, words: listed(command, 1) })));
  return [...found, ...more];
}

/** The keyword that stands for options which are known only when it runs. */
export const OPEN = "**";

function spawned(call: KnownCall, place: Spot): ProcessStart[] {
  const [program, second, third] = call.args;
  // Options that are known only when it runs may name another program.
  const seen =
    third?.keys ?? third?.items ?? third?.names.some((name) => name === OFF || name.startsWith("<def "));
  const unseen =
    third !== undefined && (seen === undefined || seen === false) ? [unknownStart(place.at, place.via)] : [];
  const given =
    call.keywords.get("args") ??
    (second?.items !== undefined && second.keys === undefined ? second : undefined);
  // A function, or options without words.
  const none =
    second === undefined ||
    second.keys !== undefined ||
    second.names.some((name) => name.startsWith("<def "));
  const words = given !== undefined ? listed(given, 0) : none ? [] : [undefined];
  const shell = call.keywords.get("shell");
  const whole = [program === undefined ? undefined : certain(program), ...words];
  const more = [...open(call), ...unseen, ...changing(given, place), ...chosen(shell, whole, place)];
  if (shell === undefined || isOff(shell)) return [...programs(program, { ...place, words }), ...more];
  return [...more, { ...place, kind: "text", text: whole.includes(undefined) ? undefined : whole.join(" ") }];
}

function codeOf(call: KnownCall): ProcessStart[] {
  const { known, name, offset } = call;
  if (known.code === undefined) return [];
  const value = argument(call, known.code);
  const place = { at: offset, via: name };
  const also = known.alsoCode === undefined ? UNKNOWN : argument(call, known.alsoCode);
  if (also !== UNKNOWN) return [...codes(also, place), ...(value === UNKNOWN ? [] : codes(value, place))];
  if (known.codeIf === "eval") {
    const words = call.keywords.get("execArgv");
    const more = words === undefined ? open(call) : [unknownStart(offset, name), ...open(call)];
    const data = value.texts
      .filter((one) => one.startsWith("data:"))
      .map((one) => ({ ...place, kind: "code" as const, code: codeOfAddress(one) }));
    const option = call.keywords.get("eval");
    if ((option === undefined || isOff(option)) && !call.keywords.has(OPEN)) return [...data, ...more];
    return [...data, ...more, ...codes(value, place)];
  }
  if (known.codeIf === "text" && value.texts.length === 0) return [];
  return codes(value, place);
}

function codes(value: Value, place: Spot): ProcessStart[] {
  const found: ProcessStart[] = value.texts
    .filter((text) => text !== HOLE)
    .map((code) => ({ ...place, kind: "code", code }));
  // A tree that was compiled from text is read where it is compiled.
  if (value.names.some((one) => /^builtins\.compile\(\)$|^vm\.Script\(\)$/.test(one))) return found;
  if (found.length < value.texts.length || value.texts.length === 0 || (value.marks & UNCERTAIN) !== 0)
    found.push({ ...place, kind: "code", code: undefined });
  return found;
}

/** The program in an address that begins with "data:". */
export function codeOfAddress(address: string): string | undefined {
  const comma = address.indexOf(",");
  if (comma === -1) return undefined;
  const body = address.slice(comma + 1);
  if (/;base64$/i.test(address.slice(0, comma))) return Buffer.from(body, "base64").toString("utf8");
  try {
    return decodeURIComponent(body);
  } catch {
    return undefined;
  }
}

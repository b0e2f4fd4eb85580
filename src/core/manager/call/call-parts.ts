import { createHash } from "node:crypto";
import { MAX_INPUT_CHARACTERS } from "../../../kit/code-limits.js";
import { LANGUAGES, SHELL } from "../../../runtime/sandbox/index.js";
import { HEAD_BYTES, StreamedInput } from "../files/streamed-input.js";
import type { CallHarness, CallPart } from "./call-kind.js";
import { type CheckedCall, languageOf, quote, textOf } from "./checked-call.js";

/** A text with more patterns than this may mean any file. */
const MAX_PATTERNS = 100;
/** Shells run the file that these name before anything else. */
const STARTUP_VARIABLES = ["BASH_ENV", "ENV"];

/** Every part of a call that is or may become code: policy, risk and the person see all of them. */
export function partsOf(call: CheckedCall): CallPart[] {
  if (call.kind.type === "files") return scriptsOf(call);
  const isShell = isShellLanguage(languageOf(call));
  const main = { name: "", text: isShell ? inContext(call) : textOf(call), language: languageOf(call) };
  const surroundings = isShell ? "" : exportsOf(call).trim();
  return [
    main,
    ...(surroundings === "" ? [] : [{ name: "environment", text: surroundings, language: SHELL.language }]),
    ...harnessScripts(call),
    ...scriptsOf(call),
  ];
}

/** What the record says besides the code: hashes instead of content. */
export function contextFactsOf(call: CheckedCall): Record<string, string> | undefined {
  const facts = {
    ...(call.kind.type === "context" && { context: call.kind.name }),
    ...(call.kind.type === "harness" && harnessFacts(call.kind.harness)),
    ...(call.cwd !== undefined && { cwd: call.cwd }),
    ...(call.env !== undefined && { env: Object.keys(call.env).sort().join(",") }),
    ...(call.args !== undefined && call.args.length > 0 && { args: call.args.map(quote).join(" ") }),
    ...(call.stdin !== undefined && { stdin: isText(call.stdin) ? hash(call.stdin) : "stream" }),
    ...(call.files !== undefined && { files: hashOfFiles(call.files) }),
    ...(call.outputFiles !== undefined && { output_files: call.outputFiles.join(",") }),
  };
  return Object.keys(facts).length === 0 ? undefined : facts;
}

/** What else a person should see, as text. */
export function describeContext(call: CheckedCall): Record<string, string> {
  const shown = new Map<string, string>();
  if (call.kind.type === "context") shown.set("context", call.kind.name);
  for (const { name, text } of harnessScripts(call)) shown.set(name, text);
  if (call.cwd !== undefined) shown.set("directory", call.cwd);
  for (const [name, value] of Object.entries(call.env ?? {})) shown.set(`variable ${name}`, value);
  if (call.args !== undefined && call.args.length > 0) shown.set("arguments", call.args.map(quote).join(" "));
  if (call.stdin !== undefined)
    shown.set("input", isText(call.stdin) ? decode(call.stdin) : "a stream that was not read yet");
  for (const [path, content] of Object.entries(call.files ?? {}))
    shown.set(`file ${path}`, describeInput(content));
  return Object.fromEntries(shown);
}

function harnessScripts({ kind }: CheckedCall): readonly CallPart[] {
  return kind.type === "harness" ? (kind.harness.scripts ?? []) : [];
}

function harnessFacts({ name, scripts = [] }: CallHarness): Record<string, string> {
  return { harness: name, ...Object.fromEntries(scripts.map((each) => [each.name, hash(each.text)])) };
}

function describeInput(content: Content): string {
  const size = content instanceof StreamedInput ? content.size : undefined;
  const head = decode(content);
  if (content instanceof StreamedInput && content.head === undefined) return "a file that was not read yet";
  return size === undefined || head.length <= MAX_INPUT_CHARACTERS ? head : `${head}\n(${size} bytes in all)`;
}

/** A shell's text as it will run: with its variables, its directory and its input. Lines keep their numbers. */
function inContext(call: CheckedCall): string {
  const directory = call.cwd === undefined ? "" : `cd ${quote(call.cwd)}; `;
  const before = `${exportsOf(call)}${directory}`;
  if (call.stdin === undefined) return before + textOf(call);
  // What comes as a stream is only known when it runs.
  if (!isText(call.stdin)) return `${before}{ ${textOf(call)}\n} <<< "$SKERRY_UNKNOWN_INPUT"`;
  const end = `SKERRY_INPUT_${hash(call.stdin).slice(7, 39)}`;
  return `${before}{ ${textOf(call)}\n} <<'${end}'\n${decode(call.stdin)}\n${end}\n`;
}

function exportsOf({ env }: CheckedCall): string {
  return Object.entries(env ?? {})
    .map(([name, value]) => exportOf(name, value))
    .join("");
}

function exportOf(name: string, value: string): string {
  if (/^[A-Za-z_]\w*$/.test(name)) return `export ${name}=${quote(value)}; `;
  // bash takes a variable of this name for a function; what other shells make of an invalid name is unknown.
  const shellFunction = /^BASH_FUNC_([^%=]+)%%$/.exec(name)?.[1];
  return shellFunction === undefined ? '"$SKERRY_UNKNOWN_VARIABLE"; ' : `${shellFunction} ${value}\n`;
}

/** Input files that a program could run: by their name, by their first line, or because a shell is told of them. */
function scriptsOf(call: CheckedCall): CallPart[] {
  const isToldOf = namesIn(textForShells(call));
  return Object.entries(call.files ?? {}).flatMap(([path, content]) => {
    const text = decode(content);
    const isNamed = isToldOf(path.split("/").at(-1)!);
    const language = scriptLanguage(path, text) ?? (isNamed ? SHELL.language : undefined);
    return language === undefined ? [] : [{ name: path, text, language }];
  });
}

/** Everything in which a shell could find a file's name; one that another program starts has its variables only. */
function textForShells(call: CheckedCall): string {
  const { env = {}, args = [], stdin } = call;
  if (!isShellLanguage(languageOf(call))) return STARTUP_VARIABLES.map((name) => env[name] ?? "").join("\n");
  const input = stdin !== undefined && isText(stdin) ? decode(stdin) : "";
  return [textOf(call), input, ...args, ...Object.values(env)].join("\n");
}

/** Says whether a text could mean a file of that name: quoted in any way, or by a pattern. */
function namesIn(text: string): (name: string) => boolean {
  const plain = text.replaceAll(/["'\\]/g, "");
  const patterns = plain.split(/[\s;|&<>()`=/]/).filter((word) => /[*?[{]/.test(word));
  if (patterns.length > MAX_PATTERNS) return () => true;
  const ends = patterns.map((word) => {
    const last = Math.max(...["*", "?", "]", "}"].map((each) => word.lastIndexOf(each)));
    return [word.slice(0, word.search(/[*?[{]/)), word.slice(last + 1)] as const;
  });
  return (name) =>
    text.includes(name) ||
    plain.includes(name) ||
    ends.some(([start, end]) => name.startsWith(start) && name.endsWith(end));
}

function isShellLanguage(name: string): boolean {
  const lower = name.toLowerCase();
  return LANGUAGES.some(
    (each) => each.name === SHELL.language && [each.name, ...each.aliases].includes(lower),
  );
}

function scriptLanguage(path: string, text: string): string | undefined {
  const extension = /\.[^./]+$/.exec(path)?.[0].toLowerCase();
  const byName = LANGUAGES.find(
    ({ extensions }) => extension !== undefined && extensions.includes(extension),
  );
  if (byName !== undefined) return byName.name;
  const first = /^#!\s*(\S+)(?:\s+(\S+))?/.exec(text.slice(0, 200));
  if (first === null) return undefined;
  const program = [first[2], first[1]]
    .find((word) => word !== undefined)!
    .split("/")
    .at(-1)!;
  const known = LANGUAGES.find(({ name, aliases }) =>
    [name, ...aliases].some((each) => program.startsWith(each)),
  );
  return known?.name ?? SHELL.language;
}

type Content = string | Uint8Array | StreamedInput;

/** Its text; of a long one, enough to see that it is. A character has three bytes at most for each of its units. */
function decode(content: Content): string {
  if (typeof content === "string") return content.slice(0, MAX_INPUT_CHARACTERS + 1);
  const bytes = content instanceof StreamedInput ? (content.head ?? Buffer.alloc(0)) : content;
  return Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, HEAD_BYTES))
    .toString("utf8")
    .slice(0, MAX_INPUT_CHARACTERS + 1);
}

function isText(value: unknown): value is string | Uint8Array {
  return typeof value === "string" || value instanceof Uint8Array;
}

function hash(content: string | Uint8Array): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}

/** The same words for the same bytes, however they came; a stream that stopped half-way has no hash. */
function hashOfFiles(files: Readonly<Record<string, Content>>): string {
  const entries = Object.entries(files);
  const unread = entries.flatMap(([path, content]) =>
    content instanceof StreamedInput && content.hash === undefined ? [describeUnread(path, content)] : [],
  );
  if (unread.length > 0) return `${entries.length} files, not read to the end: ${unread.join(", ")}`;
  const whole = createHash("sha256");
  for (const [path, content] of entries) {
    const each = content instanceof StreamedInput ? content.hash : hash(content);
    whole.update(JSON.stringify([path, each]));
  }
  return `${entries.length} files, sha256:${whole.digest("hex")}`;
}

function describeUnread(path: string, { size }: StreamedInput): string {
  return size === undefined ? path : `${path} (${size} bytes)`;
}

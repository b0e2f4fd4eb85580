import type { Node } from "@vscode/tree-sitter-wasm";
import type { WorkBudget } from "../../../kit/parser/index.js";
import type { ShellOut } from "../shell-out.js";
import { type PythonNames, readPythonNames } from "./python-names.js";
import { stringOf, wordsOf } from "./python-values.js";

type Kind =
  | "text"
  /** A list, or a text that is a shell's with `shell=True`. */
  | "subprocess"
  /** Program, then its words: `program, [name, …]` or `program, name, …`. */
  | "list"
  | "words"
  /** The same after a mode. */
  | "mode-list"
  | "mode-words"
  /** Every argument is a word. */
  | "all"
  | "code";

/** What of the standard library and near it starts programs. */
const FUNCTIONS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ...["system", "popen", "popen2", "popen3", "popen4"].map((name) => [`os.${name}`, "text"] as const),
  ["posix.system", "text"],
  ["posix.popen", "text"],
  ["nt.system", "text"],
  ["platform.popen", "text"],
  ["subprocess.getoutput", "text"],
  ["subprocess.getstatusoutput", "text"],
  ["commands.getoutput", "text"],
  ["commands.getstatusoutput", "text"],
  ["asyncio.create_subprocess_shell", "text"],
  ["asyncio.subprocess.create_subprocess_shell", "text"],
  ["pexpect.run", "text"],
  ["pexpect.spawn", "text"],
  ["pty.spawn", "subprocess"],
  ["distutils.spawn.spawn", "subprocess"],
  ...["run", "call", "check_call", "check_output", "Popen"].map(
    (name) => [`subprocess.${name}`, "subprocess"] as const,
  ),
  ["asyncio.create_subprocess_exec", "all"],
  ["asyncio.subprocess.create_subprocess_exec", "all"],
  ["os.startfile", "all"],
  ...["execv", "execve", "execvp", "execvpe", "posix_spawn", "posix_spawnp"].flatMap((name) => [
    [`os.${name}`, "list"] as const,
    [`posix.${name}`, "list"] as const,
  ]),
  ["_posixsubprocess.fork_exec", "subprocess"],
  ...["execl", "execle", "execlp", "execlpe"].map((name) => [`os.${name}`, "words"] as const),
  ...["spawnv", "spawnve", "spawnvp", "spawnvpe"].map((name) => [`os.${name}`, "mode-list"] as const),
  ...["spawnl", "spawnle", "spawnlp", "spawnlpe"].map((name) => [`os.${name}`, "mode-words"] as const),
  ["exec", "code"],
  ["eval", "code"],
  ["compile", "code"],
  ["builtins.exec", "code"],
  ["builtins.eval", "code"],
  ["builtins.compile", "code"],
]);

/** A member of these that is known only when it runs may be any of the above. */
const MODULES = /^(?:os|posix|subprocess|pty|commands|builtins)\.\?$/;

/** Every place where a Python program starts another one, or runs a text as Python. */
export function findPythonShellOuts(root: Node, work: WorkBudget): ShellOut[] {
  const names = readPythonNames(root, work);
  const found: ShellOut[] = [];
  for (const call of root.descendantsOfType("call")) {
    const shellOut = call === null ? undefined : readCall(call, names);
    if (shellOut !== undefined) found.push(shellOut);
  }
  let looked = 0;
  for (const node of root.descendantsOfType(["identifier", "attribute"])) {
    work.spend(NODE_WORK);
    if (looked > MAX_LOOKED) break;
    const last = node?.childForFieldName("attribute")?.text;
    const via = node === null || (last !== undefined && !LAST.has(last)) ? undefined : names.pathOf(node);
    if (node === null || via === undefined || !(FUNCTIONS.has(via) || RUNNING.test(via))) continue;
    looked += 1;
    // Finding what stands around a place takes the longer the deeper it is.
    if (looked > MAX_LOOKED || isValue(node, names))
      found.push({ at: node.startIndex, via, kind: "argv", argv: [undefined] });
  }
  return found;
}

const MAX_LOOKED = 256;
const NODE_WORK = 200;
/** The last parts of the functions' names. */
const LAST = new Set([
  ...[...FUNCTIONS.keys()].map((path) => path.split(".").at(-1)!),
  "__call__",
  "__dict__",
]);
/** Modules that are as good as their functions when they are handed on. */
const RUNNING = /^(?:os|posix|subprocess|pty|commands|_posixsubprocess)$/;
/** Functions that only look at what they are given, or whose result is followed. */
const LOOKING =
  /^(?:getattr|hasattr|vars|dir|help|print|repr|str|type|id|isinstance|reload|importlib\.reload)$/;
const NAMING =
  /^(?:import_|aliased_import|dotted_name|global_|nonlocal_|parameters|lambda_parameters|delete_|type$)/;

/** True where a function or module is handed on instead of being called, so that calls of it are not seen. */
function isValue(node: Node, names: PythonNames): boolean {
  const { parent } = node;
  if (parent === null || NAMING.test(parent.type)) return false;
  const isField = (name: string) => parent.childForFieldName(name)?.equals(node) === true;
  switch (parent.type) {
    case "attribute":
      return false;
    case "call":
      return !isField("function");
    case "function_definition":
    case "class_definition":
    case "keyword_argument":
    case "default_parameter":
    case "typed_parameter":
      return !isField("name") && isField("value");
    case "subscript":
      return !isField("value");
    case "argument_list":
      return !LOOKING.test(parent.parent?.childForFieldName("function")?.text ?? "");
    case "assignment": {
      const left = parent.childForFieldName("left");
      if (isField("left")) return false;
      const inClass = parent.parent?.parent?.parent?.type === "class_definition";
      return left?.type !== "identifier" || inClass || names.expressionOf(left.text) === undefined;
    }
    case "parenthesized_expression":
      return isValue(parent, names);
    case "comparison_operator":
    case "for_statement":
    case "for_in_clause":
    case "as_pattern_target":
      return false;
    default:
      return true;
  }
}

interface Arguments {
  readonly positional: readonly Node[];
  readonly named: ReadonlyMap<string, Node>;
  /** `*args` or `**kwargs`: what is given is known only when it runs. */
  readonly open: boolean;
}

function readCall(call: Node, names: PythonNames): ShellOut | undefined {
  const target = call.childForFieldName("function");
  const list = call.childForFieldName("arguments");
  if (target === null || list === null) return undefined;
  const via = names.pathOf(target);
  const at = call.startIndex;
  const args = readArguments(list);
  if (via !== undefined && MODULES.test(via)) return { at, via, kind: "argv", argv: [undefined] };
  // What a constant text is unpacked to may be any call.
  if (via !== undefined && /^(?:_?c?[pP]ickle|marshal)\.loads$/.test(via)) {
    const constant = args.positional[0] !== undefined && stringOf(args.positional[0], names) !== undefined;
    return constant ? { at, via, kind: "argv", argv: [undefined] } : undefined;
  }
  const kind = via === undefined ? undefined : FUNCTIONS.get(via);
  if (kind !== undefined) return shellOut(kind, { at, via: via! }, args, names);
  // Any other object's `system("…")`: ctypes.CDLL(None).system(b"…").
  if (target.type !== "attribute" || target.childForFieldName("attribute")?.text !== "system")
    return undefined;
  const text = args.positional[0] === undefined ? undefined : stringOf(args.positional[0], names);
  return text === undefined ? undefined : { at, via: "system", kind: "text", text };
}

function readArguments(list: Node): Arguments {
  const positional: Node[] = [];
  const named = new Map<string, Node>();
  let open = false;
  // A lone generator stands without a list.
  for (const child of list.type === "argument_list" ? list.namedChildren : [list]) {
    if (child === null || child.type === "comment") continue;
    const name = child.type === "keyword_argument" ? child.childForFieldName("name")?.text : undefined;
    const value = child.childForFieldName("value");
    if (name !== undefined && value !== null) named.set(name, value);
    else if (child.type === "list_splat" || child.type === "dictionary_splat") open = true;
    else positional.push(child);
  }
  return { positional, named, open };
}

function shellOut(
  kind: Kind,
  place: { at: number; via: string },
  args: Arguments,
  names: PythonNames,
): ShellOut {
  const unknown: ShellOut = { ...place, kind: "argv", argv: [undefined] };
  const given = (index: number, ...keywords: string[]) =>
    args.positional[index] ??
    keywords.map((keyword) => args.named.get(keyword)).find((node) => node !== undefined);
  const words = (node: Node | undefined) => (node === undefined ? undefined : wordsOf(node, names));
  const text = (node: Node | undefined) => (node === undefined ? undefined : stringOf(node, names));
  switch (kind) {
    case "code":
      return { ...place, kind: "code", code: text(given(0, "source")) };
    case "text":
      return { ...place, kind: "text", text: text(given(0, "command", "cmd")) };
    case "all":
      return {
        ...place,
        kind: "argv",
        argv: [...args.positional.map(text), ...(args.open ? [undefined] : [])],
      };
    case "list":
    case "mode-list": {
      const first = kind === "list" ? 0 : 1;
      return {
        ...place,
        kind: "argv",
        argv: [text(given(first, "path", "file")), ...rest(words(given(first + 1, "args", "argv")))],
      };
    }
    case "words":
    case "mode-words": {
      const all = args.positional.slice(kind === "words" ? 0 : 1).map(text);
      return { ...place, kind: "argv", argv: [all[0], ...all.slice(2), ...(args.open ? [undefined] : [])] };
    }
    case "subprocess": {
      const command = given(0, "args", "argv");
      const executable = args.named.get("executable");
      const list = words(command);
      if (executable !== undefined)
        return { ...place, kind: "argv", argv: [text(executable), ...rest(list)] };
      if (list === undefined) return { ...place, kind: "text", text: text(command) };
      const shell = args.named.get("shell")?.type;
      // With a shell the first word is the text, and the others are its parameters.
      if (shell !== undefined && shell !== "false") return { ...place, kind: "text", text: list[0] };
      return list.length === 0 ? unknown : { ...place, kind: "argv", argv: list };
    }
  }
}

/** The words after a program's own name. */
function rest(words: readonly (string | undefined)[] | undefined): readonly (string | undefined)[] {
  return words === undefined ? [undefined] : words.slice(1);
}

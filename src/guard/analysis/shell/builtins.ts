import { Environment } from "./environment.js";
import { type Field, isKnown, known, plain, UNKNOWN, UNKNOWN_WORDS } from "./fields.js";
import { has, optionValue, readOptions } from "./options.js";
import type { ShellAssignment } from "./shell-program.js";
import { runInput } from "./shells.js";
import type { Call, Walker } from "./walker.js";

/** A builtin that was dealt with, and what it prints. */
export interface Handled {
  readonly output: string | undefined;
}

type Builtin = (walker: Walker, call: Call, args: readonly Field[]) => Handled;

const NAME = /^[A-Za-z_]\w*/;
const KEYWORDS = new Set(
  "if then else elif fi case esac for select while until do done in function time coproc { } ! [[ ]]".split(
    " ",
  ),
);
const SILENT: Handled = { output: "" };
const UNSEEN: Handled = { output: undefined };

/** Builtins in front of which an assignment may stay: what it leaves depends on the shell. */
const SPECIAL = new Set(
  ": . source break continue eval exec exit export readonly return set shift times trap unset".split(" "),
);

/** True for a builtin that sees the assignments in front of it as variables. */
export function readsAssignments(name: string): "stay" | "go" | undefined {
  if (SPECIAL.has(name)) return "stay";
  return BUILTINS.has(name) ? "go" : undefined;
}

/** Runs a builtin that changes what the shell knows or that runs something else; undefined for any other command. */
export function runBuiltin(walker: Walker, call: Call, name: string): Handled | undefined {
  return BUILTINS.get(name)?.(walker, call, call.fields.slice(1));
}

const BUILTINS: ReadonlyMap<string, Builtin> = new Map<string, Builtin>([
  ["eval", runEval],
  ["source", runSource],
  [".", runSource],
  ["alias", setAliases],
  ["unalias", emitSilently],
  ["trap", runTrap],
  ["export", declare],
  ["declare", declare],
  ["typeset", declare],
  ["readonly", declare],
  ["local", declare],
  ["read", setUnknown],
  ["mapfile", setUnknown],
  ["readarray", setUnknown],
  ["getopts", setUnknown],
  ["unset", unset],
  ["printf", printIntoVariable],
  ["wait", setUnknown],
  ["set", setPositional],
  ["shift", shift],
  ["command", runCommandBuiltin],
  ["builtin", runBuiltinBuiltin],
  ["exec", runExec],
  ["hash", runHash],
  ["jobs", runJobs],
  ["compgen", runCompgen],
  ["complete", runCompgen],
  ["bind", runBind],
  ["shopt", runShopt],
  ["fc", runFc],
  ["enable", runEnable],
]);

function emitSilently(walker: Walker, call: Call): Handled {
  walker.emit(call);
  return SILENT;
}

function runEval(walker: Walker, call: Call, args: readonly Field[]): Handled {
  const words = args[0]?.text === "--" ? args.slice(1) : args;
  const text = words.map((field) => (field.pattern ? `${field.text}${UNKNOWN}` : field.text)).join(" ");
  return { output: walker.runText(call, text, call.environment, "eval") };
}

function runSource(walker: Walker, call: Call, args: readonly Field[]): Handled {
  walker.emit(call);
  const file = args[0]?.text === "--" ? args[1] : args[0];
  if (file !== undefined) runInput(walker, call, file, call.environment, "source");
  call.environment.forget();
  return UNSEEN;
}

function setAliases(walker: Walker, call: Call, args: readonly Field[]): Handled {
  walker.emit(call);
  for (const { text } of args) {
    const equals = text.indexOf("=");
    const name = equals === -1 ? text : text.slice(0, equals);
    // To zsh a global alias is one wherever it stands.
    if (!isKnown(name) || /^-\w*[gs]/.test(name)) walker.emitUnknown(call, "alias");
    else if (equals === -1) continue;
    // An alias of a keyword, or of a sign, changes how the text is read.
    else if (KEYWORDS.has(name) || !/^[\w.+:@%,-]+$/.test(name)) walker.emitUnknown(call, "alias");
    else if (!call.environment.alias(name, known(text.slice(equals + 1))))
      walker.problem(call.place, "more aliases than are followed");
  }
  return SILENT;
}

function runTrap(walker: Walker, call: Call, args: readonly Field[]): Handled {
  walker.emit(call);
  const [handler, ...signals] = args[0]?.text === "--" ? args.slice(1) : args;
  if (handler === undefined || signals.length === 0 || /^(?:-.*|\d*)$/.test(handler.text)) return SILENT;
  const later = call.environment.fork();
  later.forget();
  walker.runText(call, handler.text, later, "trap");
  return SILENT;
}

/** `export`, `declare`, `local` …: arguments are assignments. */
function declare(walker: Walker, call: Call, args: readonly Field[]): Handled {
  walker.emit({
    ...call,
    assignments: [...call.assignments, ...args.flatMap(({ text }) => asAssigned(text))],
  });
  const { environment } = call;
  const flags = args.filter((field) => /^[-+]/.test(field.text)).map((field) => field.text);
  const odd = flags.some((flag) => /[nilucaA]/.test(flag));
  if (flags.some((flag) => flag.includes("n"))) environment.lost = true;
  const name0 = call.fields[0]!.text;
  const local = name0 === "local" || name0 === "declare" || name0 === "typeset";
  // Past the functions that run: what they have hidden is changed.
  if (flags.some((flag) => flag.includes("g"))) environment.forget();
  for (const { text } of args) {
    const name = NAME.exec(text)?.[0];
    if (name === undefined) {
      if (!isKnown(text)) environment.forget();
      continue;
    }
    if (local) environment.hide(name);
    if (odd) environment.markOdd(name);
    const assigned = text[name.length] === "=" ? known(text.slice(name.length + 1)) : undefined;
    if (text.length > name.length) {
      environment.set(name, assigned);
      walker.runVariable(call, name, assigned);
    } else if (odd || call.fields[0]!.text === "local") {
      environment.set(name, undefined);
    }
  }
  return SILENT;
}

/** `PATH=x`, also when the value is known only when it runs. */
function asAssigned(text: string): ShellAssignment[] {
  const [, name, value] = /^([A-Za-z_]\w*)\+?=([\s\S]*)$/.exec(text) ?? [];
  return name === undefined ? [] : [{ name, value: known(value ?? "") }];
}

/** Builtins that put something into the variables they name. */
function setUnknown(walker: Walker, call: Call, args: readonly Field[]): Handled {
  const set = namesIn(args).map((name): ShellAssignment => ({ name, value: undefined }));
  walker.emit({ ...call, assignments: [...call.assignments, ...set] });
  forgetNames(call.environment, args);
  for (const { name } of set) walker.runVariable(call, name, undefined);
  const callback = optionValue(readOptions(args, { short: "adinNptuCcOs" }), "C");
  if (callback !== undefined && call.fields[0]!.text !== "read") {
    walker.runText(call, callback.text, call.environment.fork(), "mapfile -C");
  }
  return SILENT;
}

function forgetNames(environment: Environment, args: readonly Field[]): void {
  for (const name of namesIn(args)) environment.set(name, undefined);
  if (args.some(({ text }) => !isKnown(text) && !NAME.test(text))) environment.forget();
}

/** What may be a variable's name among the arguments, also where it hangs on an option: `-vx`, `-ra x`. */
function namesIn(args: readonly Field[]): string[] {
  return args.slice(0, 64).flatMap(({ text }) => {
    const starts = text.startsWith("-") ? [2, 3, 4, 5, 6] : [0];
    return starts.flatMap((start) => NAME.exec(text.slice(start))?.[0] ?? []);
  });
}

function unset(walker: Walker, call: Call, args: readonly Field[]): Handled {
  walker.emit(call);
  forgetNames(call.environment, args);
  for (const { text } of args) {
    const found = call.environment.functions.get(text);
    if (found !== undefined) call.environment.functions.set(text, { ...found, certain: false });
  }
  return SILENT;
}

/** `printf -v name`; without it printf is a command like others. */
function printIntoVariable(walker: Walker, call: Call, args: readonly Field[]): Handled {
  if (args.some((field) => field.text.startsWith("-v"))) return setUnknown(walker, call, args);
  walker.emit(call);
  return { output: walker.outputOf(call) };
}

function setPositional(walker: Walker, call: Call, args: readonly Field[]): Handled {
  walker.emit(call);
  const options = readOptions(args, { short: "o", plus: true });
  const ended = args.some((field) => field.text === "--");
  // With -k, words anywhere are assignments, so that other words are the options.
  if (args.some(({ text }) => /^-[a-zA-Z]*k/.test(text) || text === "keyword"))
    walker.problem(call.place, '"set -k" changes what a word is');
  if (options.uncertain) call.environment.positional = undefined;
  else if (ended || options.operands.length > 0) call.environment.positional = options.operands;
  return UNSEEN;
}

function shift(walker: Walker, call: Call, args: readonly Field[]): Handled {
  walker.emit(call);
  const count = args.length === 0 ? 1 : Number(args[0]!.text);
  const { positional } = call.environment;
  // More than there are leaves all of them.
  const fits = Number.isInteger(count) && count >= 0 && count <= (positional?.length ?? 0);
  const certain =
    positional?.every((field) => !field.text.includes(UNKNOWN_WORDS) && !field.pattern) ?? false;
  call.environment.positional = fits && certain ? positional?.slice(count) : undefined;
  return SILENT;
}

/** `command name …` passes functions by; `command -v name` runs nothing. */
function runCommandBuiltin(walker: Walker, call: Call, args: readonly Field[]): Handled {
  const options = readOptions(args, {});
  if (has(options, "v", "V")) {
    walker.emit(call);
    return UNSEEN;
  }
  if (options.operands.length === 0) return emitSilently(walker, call);
  if (options.uncertain) walker.emitUnknown(call, "command");
  return { output: runPastFunctions(walker, call, options.operands, "command") };
}

function runBuiltinBuiltin(walker: Walker, call: Call, args: readonly Field[]): Handled {
  if (args.length === 0) return emitSilently(walker, call);
  return { output: runPastFunctions(walker, call, args, "builtin") };
}

/** The shell's own builtins still work behind these two, its functions do not. */
function runPastFunctions(
  walker: Walker,
  call: Call,
  fields: readonly Field[],
  via: string,
): string | undefined {
  const name = fields[0]!.text;
  const found = call.environment.functions.get(name);
  call.environment.functions.delete(name);
  const output = walker.runFields(call, fields, { inShell: true }, via);
  if (found !== undefined) call.environment.functions.set(name, found);
  return output;
}

function runExec(walker: Walker, call: Call, args: readonly Field[]): Handled {
  const options = readOptions(args, { short: "a" });
  if (options.operands.length === 0) {
    walker.emit(call);
    // Whatever reads standard input from now on reads this.
    if (call.stdin.kind === "content") walker.emitUnknown(call, "exec <");
    return UNSEEN;
  }
  if (options.uncertain) walker.emitUnknown(call, "exec");
  return { output: walker.runFields(call, options.operands, {}, "exec") };
}

/** `hash -p /usr/bin/curl ls` makes `ls` run another program. */
function runHash(walker: Walker, call: Call, args: readonly Field[]): Handled {
  walker.emit(call);
  const program = optionValue(readOptions(args, { short: "p" }), "p");
  if (program !== undefined) walker.runFields(call, [program], {}, "hash -p");
  return SILENT;
}

function runJobs(walker: Walker, call: Call, args: readonly Field[]): Handled {
  const at = args.findIndex((field) => field.text === "-x");
  if (at === -1) return emitSilently(walker, call);
  return { output: walker.runFields(call, args.slice(at + 1), { inShell: true }, "jobs -x") };
}

/** With `lastpipe` the last command of a pipeline sets variables here. */
function runShopt(walker: Walker, call: Call, args: readonly Field[]): Handled {
  walker.emit(call);
  if (args.some(({ text }) => text === "lastpipe" || !isKnown(text))) call.environment.lost = true;
  return UNSEEN;
}

/** `fc` runs what the history holds, unless it lists it. */
function runFc(walker: Walker, call: Call, args: readonly Field[]): Handled {
  walker.emit(call);
  if (!/^-[a-z]*l/.test(args[0]?.text ?? "")) walker.emitUnknown(call, "fc");
  return UNSEEN;
}

/** `enable -f file name` loads a builtin. */
function runEnable(walker: Walker, call: Call, args: readonly Field[]): Handled {
  walker.emit(call);
  if (args.some(({ text }) => /^-[a-z]*f/.test(text) || !isKnown(text)))
    walker.emitUnknown(call, "enable -f");
  return UNSEEN;
}

/** `bind -x '"a": command'`: what a key runs. */
function runBind(walker: Walker, call: Call, args: readonly Field[]): Handled {
  walker.emit(call);
  const text = optionValue(readOptions(args, { short: "mfqurx" }), "x");
  if (text !== undefined)
    walker.runText(call, text.text.replace(/^[^:]*:\s*/, ""), new Environment(), "bind -x");
  return UNSEEN;
}

/** `compgen` expands its word list and runs its command. */
function runCompgen(walker: Walker, call: Call, args: readonly Field[]): Handled {
  walker.emit(call);
  const options = readOptions(args, { short: "oAGWFCXPS" });
  const list = optionValue(options, "W");
  const command = optionValue(options, "C");
  const callback = optionValue(options, "F");
  if (list !== undefined) walker.expandText(call, list.text, "compgen -W");
  if (command !== undefined) walker.runText(call, command.text, new Environment(), "compgen -C");
  if (callback !== undefined) walker.runFields(call, [plain(callback.text)], { inShell: true }, "compgen -F");
  return UNSEEN;
}

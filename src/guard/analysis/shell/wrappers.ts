import type { Handled } from "./builtins.js";
import { Environment } from "./environment.js";
import { type Field, isKnown, plain, UNKNOWN, UNKNOWN_WORDS } from "./fields.js";
import { isInterpreter, runInterpreter } from "./interpreters.js";
import { has, type Options, type OptionTable, optionValue, readOptions } from "./options.js";
import { parseShell } from "./parse.js";
import { isSpecialProgram, runSpecialProgram } from "./programs.js";
import { runsCommandsOfItsOwn } from "./runners.js";
import { runShell, SHELLS } from "./shells.js";
import type { Call, Walker } from "./walker.js";

/** A program whose arguments are another command. */
interface Wrapper extends OptionTable {
  /** Operands between the options and the command: `timeout 5 ls`. */
  readonly operands?: number;
  /** `NAME=value` words come before the command. */
  readonly assignments?: true;
  /** It counts as a command of its own: it does more than run the other one. */
  readonly counts?: true;
  /** The word that has to come first: `uv run`. */
  readonly subcommand?: string;
}

const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  env: {
    short: "uCSa",
    long: ["--unset", "--chdir", "--split-string", "--argv0"],
    last: ["S", "--split-string"],
    assignments: true,
  },
  nohup: {},
  setsid: {},
  nice: { short: "n", long: ["--adjustment"] },
  ionice: { short: "cnpPu", long: ["--class", "--classdata"] },
  chrt: { short: "TPD", operands: 1 },
  taskset: { operands: 1 },
  numactl: { short: "mNClipP" },
  timeout: { short: "ks", long: ["--kill-after", "--signal"], operands: 1 },
  gtimeout: { short: "ks", long: ["--kill-after", "--signal"], operands: 1 },
  stdbuf: { short: "ioe", long: ["--input", "--output", "--error"] },
  unbuffer: {},
  time: { short: "fo", long: ["--format", "--output"] },
  command: {},
  busybox: {},
  toybox: {},
  chronic: {},
  ifne: {},
  rlwrap: { short: "bcCDefHlMPqrstwz" },
  setarch: {},
  linux32: {},
  linux64: {},
  i386: {},
  x86_64: {},
  prlimit: { short: "po" },
  choom: { short: "np" },
  cpulimit: { short: "lpe", long: ["--limit"] },
  cgexec: { short: "g" },
  catchsegv: {},
  fakeroot: { short: "lsib", long: ["--lib", "--faked"], counts: true },
  "dbus-run-session": { long: ["--config-file", "--dbus-daemon"] },
  "xvfb-run": { short: "efnpsw", counts: true },
  sudo: {
    short: "aCDghpRrTtUu",
    long: [
      "--user",
      "--group",
      "--host",
      "--prompt",
      "--chdir",
      "--chroot",
      "--close-from",
      "--role",
      "--type",
    ],
    assignments: true,
    counts: true,
  },
  doas: { short: "uC", counts: true },
  pkexec: { long: ["--user"], counts: true },
  gosu: { operands: 1, counts: true },
  "su-exec": { operands: 1, counts: true },
  setpriv: {
    long: [
      "--reuid",
      "--regid",
      "--groups",
      "--inh-caps",
      "--ambient-caps",
      "--bounding-set",
      "--securebits",
    ],
    counts: true,
  },
  chroot: { operands: 1, counts: true },
  unshare: { short: "RwSGl", counts: true },
  nsenter: { short: "tSG", counts: true },
  strace: { short: "abeEIoOpPsSuUX", counts: true },
  ltrace: { short: "aADeFlnopsuwx", counts: true },
  valgrind: { counts: true },
  gdb: { short: "xdpb", counts: true },
  ssh: { short: "BbcDEeFIiJLlmOopQRSWw", operands: 1, counts: true },
  entr: { counts: true },
  poetry: { subcommand: "run", counts: true },
  pipenv: { subcommand: "run", counts: true },
  uv: {
    subcommand: "run",
    short: "p",
    long: ["--with", "--python", "--package", "--extra", "--group", "--project", "--directory"],
    counts: true,
  },
  conda: { subcommand: "run", short: "np", long: ["--name", "--prefix"], counts: true },
  mamba: { subcommand: "run", short: "np", long: ["--name", "--prefix"], counts: true },
  hatch: { subcommand: "run", counts: true },
  bundle: { subcommand: "exec", counts: true },
};

const ARCHITECTURE =
  /^(?:linux(?:32|64)|uname26|i[3-6]86|x86_64|aarch64|arm\w*|ppc\w*|s390x?|mips\w*|sparc\w*|riscv\w*)$/;

/** The dynamic loader runs the program it is given. */
const LOADER = /^ld(?:-linux[\w-]*|-musl-\w+|64)?\.so(?:\.\d+)*$/;

/** What it runs is told by tables. */
export function isFollowed(name: string): boolean {
  return SHELLS.has(name) || Object.hasOwn(WRAPPERS, name) || isSpecialProgram(name) || isInterpreter(name);
}

/** Runs what stands in the arguments of a program that runs others; undefined for a program that does not. */
export function runWrapper(walker: Walker, call: Call, name: string): Handled | undefined {
  if (SHELLS.has(name)) {
    runShell(walker, call, name);
    return { output: undefined };
  }
  if (runsCommandsOfItsOwn(call, name)) walker.emitUnknown(call, name);
  if (runSpecialProgram(walker, call, name) || runInterpreter(walker, call, name))
    return { output: undefined };
  if (LOADER.test(name))
    return runArguments(walker, call, name, { long: ["--library-path", "--preload", "--argv0"] });
  return Object.hasOwn(WRAPPERS, name) ? runArguments(walker, call, name, WRAPPERS[name]!) : undefined;
}

function runArguments(walker: Walker, call: Call, name: string, wrapper: Wrapper): Handled | undefined {
  let args = call.fields.slice(1);
  if (wrapper.subcommand !== undefined) {
    const { operands } = readOptions(args, wrapper);
    if (operands[0]?.text !== wrapper.subcommand) return undefined;
    args = operands.slice(1);
  }
  const options = readOptions(args, wrapper);
  const assignments = [...call.assignments];
  let rest = options.operands;
  // A lone dash stands for env's -i.
  if (name === "env" && rest[0]?.text === "-") rest = rest.slice(1);
  // To env every word with "=" is one, whatever stands before it.
  const assigns = name === "env" ? /=/ : /^[A-Za-z_]\w*=/;
  if (name === "setarch" && ARCHITECTURE.test(rest[0]?.text ?? ""))
    rest = readOptions(rest.slice(1), wrapper).operands;
  let assigned = 0;
  for (; wrapper.assignments === true && assigns.test(rest[assigned]?.text ?? ""); assigned++) {
    const { text } = rest[assigned]!;
    const equals = text.indexOf("=");
    const value = text.slice(equals + 1);
    assignments.push({ name: text.slice(0, equals), value: isKnown(value) ? value : undefined });
    walker.runVariable(call, text.slice(0, equals), isKnown(value) ? value : undefined);
  }
  rest = rest.slice(assigned);
  const skipped = rest.slice(0, wrapper.operands ?? 0);
  rest = rest.slice(wrapper.operands ?? 0);
  const split = name === "env" ? optionValue(options, "S", "--split-string") : undefined;
  // Its words stand in front of the others, and may be options again.
  if (split !== undefined) {
    const whole = [call.fields[0]!, ...splitString(walker, call, split, rest)];
    return { output: walker.runFields(call, whole, { assignments }, name) };
  }
  // gdb -ex and the like hold commands of their own; only "--args" runs the rest.
  if (wrapper.counts === true || rest.length === 0) walker.emit(call);
  if (rest.length === 0) return { output: undefined };
  if (options.uncertain || skipped.some((field) => field.pattern || field.text.includes(UNKNOWN_WORDS)))
    walker.emitUnknown(call, name);
  if (name === "ssh") return runRemote(walker, call, options, rest);
  return { output: walker.runFields(call, rest, { assignments }, name) };
}

/** `env -S 'curl x'`: words as a shell would split them, in front of the rest. */
function splitString(walker: Walker, call: Call, split: Field, rest: readonly Field[]): readonly Field[] {
  const { script, problems } = parseShell(split.text, () => call.place);
  const stage = script.items.length === 1 ? script.items[0]!.stages : [];
  const command = stage.length === 1 ? stage[0] : undefined;
  // Its backslashes and its ${NAME} are not a shell's.
  if (problems.length > 0 || command?.kind !== "simple" || /[\\$]/.test(split.text)) {
    walker.emitUnknown(call, "env -S");
    return rest;
  }
  const words = command.words.map((word) =>
    plain(word.parts.map((part) => (part.kind === "text" ? part.text : UNKNOWN)).join("")),
  );
  return [...words, ...rest];
}

/** The words of a remote command are joined and read by a shell over there. */
function runRemote(walker: Walker, call: Call, options: Options, rest: readonly Field[]): Handled {
  if (!has(options, "N"))
    walker.runText(call, rest.map((field) => field.text).join(" "), new Environment(), "ssh");
  return { output: undefined };
}

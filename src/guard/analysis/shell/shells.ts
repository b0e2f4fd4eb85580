import { Environment } from "./environment.js";
import { type Field, startsUnknown } from "./fields.js";
import { has, readOptions } from "./options.js";
import type { Call, Walker } from "./walker.js";

/** Names of programs that run shell text. */
export const SHELLS: ReadonlySet<string> = new Set([
  "sh",
  "bash",
  "rbash",
  "dash",
  "ash",
  "zsh",
  "ksh",
  "ksh93",
  "mksh",
  "lksh",
  "pdksh",
  "yash",
  "posh",
  "fish",
  "csh",
  "tcsh",
]);

/** True for a path that names standard input, from wherever and however it is written. */
export function isStdin(text: string): boolean {
  return text === "-" || /(?:^|\/)(?:stdin|fd\/[./]*0)$/.test(text);
}

/** True for a path that names another descriptor: what it holds is not followed. */
export function isDescriptor(text: string): boolean {
  return /(?:^|\/)fd\/[./]*\d+$/.test(text) && !isStdin(text);
}

const POSIX_SHELLS = new Set(["sh", "dash", "ash", "posh"]);

/** `sh -c text`, a text on standard input, or a file. */
export function runShell(walker: Walker, outer: Call, name: string): void {
  const call: Call = { ...outer, posix: POSIX_SHELLS.has(name) };
  walker.emit(call);
  const options = readOptions(separated(call.fields.slice(1)), {
    short: "oO",
    long: ["--rcfile", "--init-file", "--init-command", "--command"],
    plus: true,
  });
  for (const { name: option, value } of options.given) {
    // fish
    if ((option === "--command" || option === "--init-command") && value !== undefined)
      walker.runText(call, value.text, new Environment(), `${name} -c`);
    if (value?.content !== undefined) runInput(walker, call, value, new Environment(), name);
  }
  // A lone dash ends the options.
  const operands = options.operands[0]?.text === "-" ? options.operands.slice(1) : options.operands;
  const [first, ...rest] = operands;
  if (operands.some((field, index) => field.pattern && index === 0)) walker.emitUnknown(call, name);
  if (has(options, "c")) {
    if (first === undefined) return;
    const environment = new Environment();
    environment.zero = rest[0];
    environment.positional = rest.slice(1);
    // With a word in front that may be an option, any of the following may be the text.
    if (options.uncertain || startsUnknown(first)) walker.emitUnknown(call, `${name} -c`);
    walker.runText(call, first.text, environment, `${name} -c`);
  } else if (first === undefined || has(options, "s")) {
    runInput(walker, call, undefined, new Environment(), name);
  } else {
    if (options.uncertain) walker.emitUnknown(call, name);
    runInput(walker, call, first, new Environment(), name);
  }
}

/** `-oc pipefail` as `-c -o pipefail`: the names come behind the whole word. */
function separated(args: readonly Field[]): Field[] {
  return args.flatMap((field) => {
    const letters = /^-([A-Za-z]*[oO][A-Za-z]+)$/.exec(field.text)?.[1];
    if (letters === undefined) return [field];
    const others = letters.replaceAll(/[oO]/g, "");
    const named = letters.replaceAll(/[^oO]/g, "");
    return [`-${others}`, ...[...named].map((letter) => `-${letter}`)].map((text) => ({ ...field, text }));
  });
}

/** Runs what a shell reads from a file, where its content can be told: `<(…)` or standard input. */
export function runInput(
  walker: Walker,
  call: Call,
  file: Field | undefined,
  environment: Environment,
  via: string,
): void {
  const content = file?.content;
  if (content !== undefined) {
    const from: Call = {
      ...call,
      reads: [...call.reads, ...content.from.filter((each) => !call.reads.includes(each))],
    };
    if (content.text === undefined) walker.emitUnknown(from, via, "<(…)");
    else walker.runText(from, content.text, environment, via, "<(…)");
    return;
  }
  if (file !== undefined && !isStdin(file.text)) {
    walker.runFile(call, file.text, "shell");
    // Another descriptor may hold anything.
    if (isDescriptor(file.text) || /\/fd\//.test(file.text)) walker.emitUnknown(call, via, file.text);
    return;
  }
  if (call.stdin.kind === "file" && call.stdin.path !== undefined)
    walker.runFile(call, call.stdin.path, "shell");
  // A program starts it without a text: what it writes into it is not followed.
  if (call.byProgram === true && call.stdin.kind === "inherited") walker.emitUnknown(call, via);
  if (call.stdin.kind !== "content") return;
  const { text } = call.stdin.content;
  if (text === undefined) walker.emitUnknown(call, via, call.stdin.via);
  // What is read as commands is not there to be read again.
  else walker.runText({ ...call, stdin: { kind: "inherited" } }, text, environment, via, call.stdin.via);
}

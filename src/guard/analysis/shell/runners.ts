import type { Field } from "./fields.js";
import { isDescriptor, isStdin } from "./shells.js";
import type { Call } from "./walker.js";

/** Arguments by which a program runs commands in a way that is not looked into. */
const ARGUMENTS: readonly (readonly [RegExp, RegExp])[] = [
  [/^g?make$/, /^--ev|^-[a-z]*E|^(?:SHELL|CC|CXX|LD|AR)=.*[\s;&|]|^SHELL=|=.*\$[({]?shell|^\w+!=/],
  [/^gdb$/, /^--?(?:ex|iex|e?i?x|eval|init|command)/],
  [/^(?:r?vim?|nvim|vimdiff|g?view|ex|gvim)$/, /^(?:-c|--c|\+.|-[a-z]*[sS]|-u)/],
  [/^emacs$/, /^--?(?:eval|exec|batch|f|funcall|l|load|script|x)/],
  [/^(?:gcc|g\+\+|cc|c\+\+|clang(?:\+\+)?)(?:-[\d.]+)?$/, /^-(?:wrapper|-wrapper|specs|-specs|fplugin)/],
  [/^(?:ssh|autossh|scp|sftp|rsync|ssh-copy-id)$/, /(?:proxy|local|knownhosts|remote)command/i],
  [/^less$/, /^\+.*[!|]/],
  [/^man$/, /^-H.|^--html=/],
  [/^git$/, /^--(?:sendmail|access)-\w+=|^--smtp-server=\//],
  [/^(?:screen|tmux|capsh|start-stop-daemon)$/, /./],
  [/^ip$/, /^exec$/],
  [/^(?:apt(?:-get)?|aptitude|dpkg)$/, /invoke|DPkg::|^--(?:pre|post|status)/i],
  [/^(?:npm|pnpm|yarn)$/, /script-shell/],
  [/^systemd-run$/, /./],
  [/^m4$/, /syscmd/],
  [
    /^(?:sqlite3|psql|mysql|gnuplot|dc|octave)$/,
    /\.shell|\.system|\\!|system|^!|\bshell\b|\bprogram\s+['$]/i,
  ],
  [/^(?:expect|guile|julia|ghc|elixir|sbcl|racket|swipl|erl|tclsh|osascript)$/, /^--?(?:c|e|g|eval|run)/],
  [/^(?:socat|nc|ncat|netcat)$/, /^-[a-z]*[ec]|^--(?:sh-)?exec|^(?:EXEC|SYSTEM|SHELL):/i],
];
/** Programs whose standard input may hold commands, and what those look like. */
const INPUT: readonly (readonly [RegExp, RegExp])[] = [
  [/^(?:red|ed|ex|vim?|nvim)$/, /!/],
  [/^m4$/, /syscmd|define|include|indir|changequote|changecom/],
  [/^gdb$/, /./],
  [/^(?:more|less)$/, /^\s*[!|]/m],
  [
    /^(?:sqlite3|psql|mysql|gnuplot|dc|expect|tclsh|guile|julia)$/,
    /\.sh|\.system|\\!|system|!|exec|spawn|run/,
  ],
];
/** Options of these name a file with commands. */
const FILES = /^(?:g?make|gdb|ex|vim?|nvim|m4)$/;

/** True when a program is told to run something that is not looked into. */
export function runsCommandsOfItsOwn(call: Call, name: string): boolean {
  const args = call.fields.slice(1);
  const matches = (list: typeof ARGUMENTS, found: (pattern: RegExp) => boolean) =>
    list.some(([program, pattern]) => program.test(name) && found(pattern));
  if (matches(ARGUMENTS, (pattern) => args.some(({ text }) => pattern.test(text)))) return true;
  if (FILES.test(name) && args.some(readsWritten)) return true;
  const { stdin } = call;
  if (stdin.kind !== "content") return false;
  return matches(INPUT, (pattern) => stdin.content.text === undefined || pattern.test(stdin.content.text));
}

/** A file that the text itself has written: standard input, a descriptor, `<(…)`. */
function readsWritten({ text, content }: Field): boolean {
  const file = text.replace(/^(?:-[A-Za-z]|--?[a-z]+=)/, "");
  return content !== undefined || isStdin(text) || isStdin(file) || isDescriptor(file);
}

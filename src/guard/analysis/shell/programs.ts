import { Environment } from "./environment.js";
import { type Field, isKnown, UNKNOWN, UNKNOWN_WORDS } from "./fields.js";
import { has, optionValue, readOptions } from "./options.js";
import type { Call, Walker } from "./walker.js";

/** False: it has nothing of its own to run in this form. */
type Program = (walker: Walker, call: Call, args: readonly Field[]) => unknown;

export function isSpecialProgram(name: string): boolean {
  return PROGRAMS.has(name) || COMMAND_OPTIONS.has(name);
}

/** Runs a program that has its own way of saying what else to run; false when the name is none of them. */
export function runSpecialProgram(walker: Walker, call: Call, name: string): boolean {
  const run = PROGRAMS.get(name);
  if (run === undefined) {
    const options = COMMAND_OPTIONS.get(name);
    if (options === undefined) return false;
    walker.emit(call);
    runOptionValues(walker, call, name, options);
    return true;
  }
  return run(walker, call, call.fields.slice(1)) !== false;
}

const PROGRAMS: ReadonlyMap<string, Program> = new Map<string, Program>([
  ["xargs", runXargs],
  ["find", runFind],
  ["fd", runFd],
  ["fdfind", runFd],
  ["watch", runWatch],
  ["parallel", runParallel],
  ["flock", runFlock],
  ["su", runSu],
  ["runuser", runSu],
  ["script", runScriptProgram],
  ["git", runGit],
  ["at", runAt],
  ["batch", runAt],
  [
    "crontab",
    (walker, call) => {
      walker.emit(call);
      for (const { text: file } of call.fields.slice(1)) walker.runFile(call, file, "shell");
      // Each line of a table begins with its times.
      if (call.stdin.kind === "content") walker.emitUnknown(call, "crontab", call.stdin.via);
    },
  ],
  ...["npx", "pnpx", "bunx", "uvx"].map((name) => [name, packageRunner(name, [])] as const),
  ["npm", packageRunner("npm", ["exec", "x"])],
  ["pnpm", packageRunner("pnpm", ["exec", "dlx"])],
  ["yarn", packageRunner("yarn", ["exec", "dlx"])],
  ["bun", packageRunner("bun", ["x"])],
  ["pipx", packageRunner("pipx", ["run"])],
  ["uv", packageRunner("uv", ["tool run", "x"])],
]);

/** Options whose value is a shell text. One dash: also attached; two: also after "=". */
const COMMAND_OPTIONS: ReadonlyMap<string, readonly string[]> = new Map([
  [
    "tar",
    [
      "-I",
      "-F",
      "--use-compress-program",
      "--to-command",
      "--info-script",
      "--new-volume-script",
      "--rsh-command",
      "--checkpoint-action",
    ],
  ],
  [
    "gtar",
    [
      "-I",
      "-F",
      "--use-compress-program",
      "--to-command",
      "--info-script",
      "--new-volume-script",
      "--rsh-command",
      "--checkpoint-action",
    ],
  ],
  ["bsdtar", ["--use-compress-program"]],
  ["rsync", ["-e", "--rsh", "--rsync-path"]],
  ["scp", ["-S"]],
  ["rg", ["--pre", "--hostname-bin"]],
  ["sftp", ["-S", "-D"]],
  ["cpio", ["--rsh-command"]],
  ["wget", ["--use-askpass"]],
  ["tcpdump", ["-z"]],
  ["zip", ["-TT", "--unzip-command"]],
  ["split", ["--filter"]],
  ["sort", ["--compress-program"]],
  ["man", ["-P", "--pager"]],
]);

const PACKAGE_OPTIONS = {
  short: "pcw",
  long: ["--package", "--call", "--workspace", "--from", "--with", "--python", "--spec", "--prefix"],
};

/** Runs a program of a package by its name: `npm exec curl`, `npx curl@8`. */
function packageRunner(name: string, subcommands: readonly string[]): Program {
  return (walker, call, args) => {
    let options = readOptions(args, PACKAGE_OPTIONS);
    if (subcommands.length > 0) {
      const words = options.operands.map((field) => field.text);
      const subcommand = subcommands.find((one) => one === words[0] || one === `${words[0]} ${words[1]}`);
      const unknown = words[0] !== undefined && !isKnown(words[0]);
      if (subcommand === undefined && !unknown && (name === "bun" || name === "uv")) return false;
      walker.emit(call);
      runOptionValues(walker, call, name, ["-c", "--call"]);
      if (unknown) walker.emitUnknown(call, name);
      // `npm pkg set scripts.x=…`
      for (const script of words.filter((word) => /^scripts\.[\w:-]+=/.test(word)))
        walker.runText(call, script.slice(script.indexOf("=") + 1), new Environment(), `${name} pkg set`);
      if (subcommand === undefined) return;
      options = readOptions(options.operands.slice(subcommand.split(" ").length), PACKAGE_OPTIONS);
    } else {
      walker.emit(call);
      runOptionValues(walker, call, name, ["-c", "--call"]);
    }
    const [program, ...rest] = options.operands;
    if (program === undefined) return;
    const version = program.text.indexOf("@", 1);
    const plainName = version === -1 ? program.text : program.text.slice(0, version);
    walker.runFields(call, [{ ...program, text: plainName }, ...rest], {}, name);
  };
}

function text(walker: Walker, call: Call, field: Field | undefined, via: string): void {
  if (field !== undefined) walker.runText(call, field.text, new Environment(), via);
}

function runOptionValues(walker: Walker, call: Call, name: string, options: readonly string[]): void {
  const args = call.fields.slice(1);
  if (/^g?tar$/.test(name)) runTarLetters(walker, call, args);
  args.forEach((field, index) => {
    for (const option of options) {
      const long = option.startsWith("--");
      let value: Field | undefined;
      if (field.text === option) value = args[index + 1];
      else if (long && isCutShort(field.text, option)) {
        const equals = field.text.indexOf("=");
        value = equals === -1 ? args[index + 1] : { ...field, text: field.text.slice(equals + 1) };
      } else if (!long && option.length === 2 && field.text.startsWith(option))
        value = { ...field, text: field.text.slice(2) };
      if (value === undefined) continue;
      if (option !== "--checkpoint-action") text(walker, call, value, `${name} ${option}`);
      else if (value.text.startsWith("exec=")) {
        text(walker, call, { ...value, text: value.text.slice(5) }, `${name} ${option}=exec`);
      }
    }
  });
}

/** `--filt=x` for `--filter=x`. */
function isCutShort(text: string, option: string): boolean {
  const name = text.split("=", 1)[0]!;
  return name.length > 3 && option.startsWith(name);
}

/** Letters of tar that stand together: `-cIprogram`, `cI program`. */
function runTarLetters(walker: Walker, call: Call, args: readonly Field[]): void {
  args.forEach((field, index) => {
    const letters = /^-([A-Za-z]{2,}.*)$/s.exec(field.text)?.[1];
    const at = letters === undefined ? -1 : letters.search(/[bCfgHKLNTVXIF]/);
    if (letters !== undefined && at > 0 && /[IF]/.test(letters[at]!)) {
      const rest = letters.slice(at + 1);
      text(walker, call, rest === "" ? args[index + 1] : { ...field, text: rest }, `tar -${letters[at]}`);
    }
    if (index === 0 && /^[A-Za-z]*[IF]/.test(field.text)) walker.emitUnknown(call, "tar");
  });
}

const XARGS = {
  short: "adEILnPs",
  attached: "eil",
  long: ["--arg-file", "--delimiter", "--max-args", "--max-procs", "--max-chars", "--process-slot-var"],
};

function runXargs(walker: Walker, call: Call, args: readonly Field[]): void {
  const options = readOptions(args, XARGS);
  const placeholder = has(options, "I", "i", "--replace")
    ? (optionValue(options, "I", "i", "--replace")?.text ?? "{}")
    : undefined;
  const command = options.operands.length === 0 ? [{ text: "echo", pattern: false }] : options.operands;
  if (options.uncertain) walker.emitUnknown(call, "xargs");
  const fields =
    placeholder === undefined
      ? [...command, { text: UNKNOWN_WORDS, pattern: false }]
      : command.map((field) => ({ ...field, text: field.text.replaceAll(placeholder, UNKNOWN) }));
  walker.runFields(call, fields, { stdin: { kind: "file" } }, "xargs");
}

const MAX_ACTIONS = 32;

/** Each `-exec … ;` and the like. */
function runFind(walker: Walker, call: Call, args: readonly Field[]): void {
  walker.emit(call);
  let actions = 0;
  for (let index = 0; index < args.length; index++) {
    const action = args[index]!.text;
    if (!/^-(?:exec|execdir|ok|okdir)$/.test(action)) continue;
    const from = index + 1;
    actions += 1;
    if (actions > MAX_ACTIONS) {
      walker.problem(call.place, `find with more than ${MAX_ACTIONS} actions`);
      return;
    }
    // The word may also be the value of another test, so the next action counts wherever it stands.
    let end = from;
    while (
      end < args.length &&
      args[end]!.text !== ";" &&
      !(args[end]!.text === "+" && args[end - 1]?.text === "{}")
    ) {
      end++;
    }
    const fields = args
      .slice(from, end)
      .map((field) => ({ ...field, text: field.text.replaceAll("{}", UNKNOWN) }));
    walker.runFields(call, fields, {}, `find ${action}`);
  }
  // An unquoted unknown word may be an -exec of its own.
  if (args.some((field) => field.text.includes(UNKNOWN_WORDS))) walker.emitUnknown(call, "find");
}

function runFd(walker: Walker, call: Call, args: readonly Field[]): void {
  walker.emit(call);
  const at = args.findIndex((field) => /^(?:-x|-X|--exec|--exec-batch)$/.test(field.text));
  if (at === -1) return;
  const fields = args.slice(at + 1).filter((field) => field.text !== ";");
  const replaced = fields.map((field) => ({
    ...field,
    text: field.text.replaceAll(/\{[./]{0,2}\}/g, UNKNOWN),
  }));
  walker.runFields(call, [...replaced, { text: UNKNOWN_WORDS, pattern: false }], {}, "fd -x");
}

function runWatch(walker: Walker, call: Call, args: readonly Field[]): void {
  walker.emit(call);
  const options = readOptions(args, { short: "nq", attached: "d", long: ["--interval", "--equexit"] });
  if (has(options, "x", "--exec")) walker.runFields(call, options.operands, {}, "watch");
  else text(walker, call, joined(options.operands), "watch");
}

/** Without a command the values after `:::` are commands; so are the lines of standard input. */
function runParallel(walker: Walker, call: Call, args: readonly Field[]): void {
  walker.emit(call);
  const options = readOptions(args, {
    short: "jnNLsSaCdEI",
    long: [
      "--jobs",
      "--max-args",
      "--delay",
      "--timeout",
      "--sshlogin",
      "--arg-file",
      "--colsep",
      "--joblog",
      "--results",
      "--tmpdir",
    ],
  });
  const at = options.operands.findIndex((field) => /^:::/.test(field.text));
  const command = at === -1 ? options.operands : options.operands.slice(0, at);
  const values = at === -1 ? [] : options.operands.slice(at + 1);
  if (command.length > 0) {
    const filled = `${joined(command)!.text} ${UNKNOWN}`.replaceAll(/\{[^{}\s]{0,8}\}/g, UNKNOWN);
    // The values stand in quotes there; only a command made of them is unknown.
    walker.runQuotedText(call, filled, new Environment(), "parallel");
  } else if (values.length === 0) {
    walker.emitUnknown(call, "parallel");
  }
  if (command.length === 0) for (const value of values) text(walker, call, value, "parallel");
}

function runFlock(walker: Walker, call: Call, args: readonly Field[]): void {
  walker.emit(call);
  const options = readOptions(args, { short: "wE", long: ["--wait", "--timeout", "--conflict-exit-code"] });
  const [, ...rest] = options.operands;
  const at = rest.findIndex((field) => field.text === "-c" || field.text === "--command");
  if (at === 0) text(walker, call, rest[1], "flock -c");
  else walker.runFields(call, rest, {}, "flock");
}

function runSu(walker: Walker, call: Call, args: readonly Field[]): void {
  walker.emit(call);
  const at = args.findIndex((field) => /^(?:-c|--command|--session-command)$/.test(field.text));
  const attached = args.find((field) => /^--(?:session-)?command=/.test(field.text));
  if (at !== -1) text(walker, call, args[at + 1], "su -c");
  else if (attached !== undefined) {
    text(walker, call, { ...attached, text: attached.text.slice(attached.text.indexOf("=") + 1) }, "su -c");
  } else if (args.some((field) => field.text === "-u")) {
    const options = readOptions(args, { short: "ugGs" });
    walker.runFields(call, options.operands, {}, "runuser");
  }
}

function runScriptProgram(walker: Walker, call: Call, args: readonly Field[]): void {
  walker.emit(call);
  const options = readOptions(args, {
    short: "cEIOTBmo",
    long: ["--command", "--log-out", "--log-in", "--log-io"],
  });
  const trailing = args.findIndex((field) => field.text === "-c" || field.text === "--command");
  text(
    walker,
    call,
    optionValue(options, "c", "--command") ?? (trailing === -1 ? undefined : args[trailing + 1]),
    "script -c",
  );
}

const GIT_COMMAND_KEYS =
  /^(?:core\.(?:pager|editor|sshcommand|askpass|fsmonitor)|pager\..*|sequence\.editor|diff\.external|gpg\.program|credential\.(?:.*\.)?helper|.*\.(?:textconv|clean|smudge|process|driver|cmd|command))$/i;

/** Settings that name files with settings or commands. */
const GIT_FILE_KEYS = /^(?:core\.hookspath|include\.|includeif\.|init\.templatedir)/i;

function runGit(walker: Walker, call: Call, args: readonly Field[]): void {
  walker.emit(call);
  const options = readOptions(args, {
    short: "cC",
    long: ["--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix"],
  });
  for (const { name, value } of options.given) {
    if (name === "--exec-path" || name === "--config-env") walker.emitUnknown(call, `git ${name}`);
    if (name !== "c" || value === undefined) continue;
    if (GIT_FILE_KEYS.test(value.text)) walker.emitUnknown(call, "git -c");
    const equals = value.text.indexOf("=");
    const key = value.text.slice(0, equals);
    const setting = value.text.slice(equals + 1);
    if (setting.startsWith("!")) text(walker, call, { ...value, text: setting.slice(1) }, `git -c ${key}`);
    else if (GIT_COMMAND_KEYS.test(key)) text(walker, call, { ...value, text: setting }, `git -c ${key}`);
  }
  const [subcommand, ...rest] = options.operands;
  const words = rest.map((field) => field.text);
  if (subcommand?.text === "bisect" && words[0] === "run")
    walker.runFields(call, rest.slice(1), {}, "git bisect run");
  if (subcommand?.text === "submodule" && words.includes("foreach")) {
    const command = rest
      .slice(words.indexOf("foreach") + 1)
      .filter((field) => !/^--?(?:recursive|quiet|q)$/.test(field.text));
    text(walker, call, joined(command), "git submodule foreach");
  }
  if (subcommand?.text === "config") runGitConfig(walker, call, rest);
  if (words.some((word) => /^--(?:template|open-files)/.test(word))) walker.emitUnknown(call, "git");
  if (subcommand?.text === "grep" && words.some((word) => /^-[A-Za-z]*O./.test(word)))
    walker.emitUnknown(call, "git grep -O");
  if (subcommand?.text === "difftool")
    runOptionValues(walker, { ...call, fields: options.operands }, "git difftool", ["-x", "--extcmd"]);
  if (subcommand?.text === "filter-branch") walker.emitUnknown(call, "git filter-branch");
  if (subcommand?.text === "clone")
    runOptionValues(walker, { ...call, fields: options.operands }, "git clone", ["-u"]);
  if (subcommand?.text === "clone" && words.some((word) => /^(?:-c|--conf)/.test(word)))
    walker.emitUnknown(call, "git clone -c");
  if (subcommand?.text === "rebase")
    runOptionValues(walker, { ...call, fields: options.operands }, "git rebase", ["-x", "--exec"]);
  if (/^(?:clone|fetch|pull|push|ls-remote|archive|fetch-pack)$/.test(subcommand?.text ?? "")) {
    runOptionValues(walker, { ...call, fields: options.operands }, "git", [
      "--upload-pack",
      "--receive-pack",
      "--exec",
    ]);
    for (const { text: url } of rest)
      if (url.startsWith("ext::"))
        text(walker, call, { text: url.slice(5).replace(/%(.)/g, "$1"), pattern: false }, "git ext::");
  }
}

/** A setting that makes git run something later. */
function runGitConfig(walker: Walker, call: Call, args: readonly Field[]): void {
  args.forEach((field, index) => {
    const value = args[index + 1];
    if (GIT_FILE_KEYS.test(field.text) || !isKnown(field.text)) walker.emitUnknown(call, "git config");
    else if (value?.text.startsWith("!") === true)
      text(walker, call, { ...value, text: value.text.slice(1) }, `git config ${field.text}`);
    else if (value !== undefined && GIT_COMMAND_KEYS.test(field.text))
      text(walker, call, value, `git config ${field.text}`);
  });
}

/** Commands for later come on standard input. */
function runAt(walker: Walker, call: Call): void {
  walker.emit(call);
  const file = optionValue(readOptions(call.fields.slice(1), { short: "fqt" }), "f");
  if (file !== undefined) walker.runFile(call, file.text, "shell");
  if (call.stdin.kind !== "content") return;
  const { text: input } = call.stdin.content;
  if (input === undefined) walker.emitUnknown(call, "at", call.stdin.via);
  else
    walker.runText({ ...call, stdin: { kind: "inherited" } }, input, new Environment(), "at", call.stdin.via);
}

function joined(fields: readonly Field[]): Field | undefined {
  return fields.length === 0
    ? undefined
    : { text: fields.map((field) => field.text).join(" "), pattern: false };
}

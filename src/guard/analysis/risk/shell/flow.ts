import { isSecretCommand, isSecretVariable } from "../../program/environment.js";
import { isSecretPath } from "../../rules/path-rules.js";
import type { ShellCommand } from "../../shell/shell-program.js";

/** Where the input and the words of a command come from. */
export interface Flow {
  /** Names of the commands that print it; SECRET where one of them prints a secret. */
  readonly sources: readonly string[];
  /** What words that only the run knows may be: what a loop goes through, what `find` looks below. */
  readonly words: readonly string[];
}

export const SECRET = "(secret)";
const NOTHING: Flow = { sources: [], words: [] };
const MAX_SOURCES = 32;
const MAX_LINE = 4096;
/** A header or an option in which a credential belongs. */
const LOGIN =
  /(?:-H|--header)[= ]*(["'])(?:authorization|[\w-]*(?:token|key|cookie|auth)[\w-]*):[^"']*\1|(?:-u|--user|--oauth2-bearer|--password)[= ](?:"[^"]*"|'[^']*'|\S+)/gi;
const SENDERS = new Set(["curl", "wget", "http", "https", "xh"]);
const FETCHES_TOKEN = /grant_type=|\/oauth|\/token\b/;

/** Follows variables, substitutions, loops and files from command to command, in the order of the text. */
export class ShellFlow {
  private readonly variables = new Map<string, Flow>();
  private readonly files = new Map<string, Flow>();
  private readonly substituted = new Map<number, ShellCommand[]>();
  private readonly partner: ShellCommand[] = [];
  private readonly withoutLogin = new Map<number, string>();

  constructor(
    private readonly lines: readonly string[],
    private readonly commands: readonly ShellCommand[],
  ) {
    for (const command of commands) {
      if (command.via.includes("coproc")) this.partner.push(command);
      if (!command.via.some((step) => /^[`$<]/.test(step))) continue;
      const others = this.substituted.get(command.line) ?? [];
      if (others.length < MAX_SOURCES) this.substituted.set(command.line, [...others, command]);
    }
    lines.forEach((line, index) => {
      this.assign(line.slice(0, MAX_LINE), index + 2);
    });
  }

  /** `command` is the one at this place of the list. */
  of(command: ShellCommand, index: number): Flow {
    const direct = joined(command.reads.slice(0, MAX_SOURCES).map((one) => this.printedBy(one)));
    const known = [...command.args, ...command.redirects.map(({ target }) => target)];
    const files = known.flatMap((word) => this.files.get((word ?? "").replace(/^.*@/, "")) ?? []);
    const open = known.includes(undefined) || /^(?:.*sh|eval|source)?$/.test(command.name ?? "");
    const partner = command.redirects.some(
      ({ operator, target }) => operator.endsWith("&") && target === undefined,
    )
      ? this.partner.map((one) => this.printedBy(one))
      : [];
    const found = open && command.via.includes("find -exec") ? this.searchedFrom(index) : NOTHING;
    const flow = joined([direct, ...files, ...partner, found, open ? this.inText(command, index) : NOTHING]);
    this.remember(command, flow);
    return flow;
  }

  /** The places of the `find` that runs the command at this place of the list. */
  private searchedFrom(index: number): Flow {
    const before = this.commands.slice(Math.max(0, index - MAX_SOURCES), index);
    const search = before.findLast(({ name }) => name === "find");
    return search === undefined ? NOTHING : { sources: [], words: this.printedBy(search).words };
  }

  /** What a line gives a variable: `x=$(…)`, `for x in …`. */
  private assign(line: string, number: number): void {
    for (const { 1: name, 2: value, index } of line.matchAll(/\b([A-Za-z_]\w*)=["']?((?:\$\(|`)?)/g)) {
      if (value === "") continue;
      const end = line.indexOf(value === "`" ? "`" : ")", index + name!.length + 3);
      const inside = (this.substituted.get(number) ?? []).filter(
        ({ column }) => column > index && (end === -1 || column <= end + 1),
      );
      this.variables.set(name!, joined(inside.map((one) => this.printedBy(one))));
    }
    for (const [, name, word] of line.matchAll(/\b(\w+)=["']?\$\{\w+:?[-=]([^}"']+)\}/g))
      this.variables.set(name!, { sources: [], words: [word!] });
    for (const [, name, list] of line.matchAll(/\bfor\s+(\w+)\s+in\s+([^;]*)/g)) {
      const inside = list!.includes("$(") ? (this.substituted.get(number) ?? []) : [];
      const printed = joined(inside.map((one) => this.printedBy(one)));
      const words = list!.replace(/["']|\$\([^)]*\)/g, "").split(/\s+/);
      this.variables.set(name!, joined([printed, { sources: [], words: words.filter((one) => one !== "") }]));
    }
  }

  /** The variables and substitutions between this command and the next one of its line. */
  private inText(command: ShellCommand, index: number): Flow {
    const line = (this.lines[command.line - 2] ?? "").slice(0, MAX_LINE);
    const plain = SENDERS.has(command.name ?? "") ? this.plainOf(command.line, line) : line;
    const inner = this.substituted.get(command.line) ?? [];
    const next = this.commands
      .slice(index + 1, index + MAX_SOURCES)
      .find((one) => one.line === command.line && one.column > command.column && !inner.includes(one));
    const start = command.column - 1;
    const text = plain.slice(start, next === undefined ? undefined : next.column - 1);
    const found: Flow[] = [];
    for (const [, name] of text.matchAll(/\$\{?([A-Za-z_]\w*)/g)) {
      found.push(this.variables.get(name!) ?? NOTHING);
      if (name === "HOME") found.push({ sources: [], words: ["~"] });
      if (name === "PPID") found.push({ sources: ["ps"], words: [] });
      if (isSecretVariable(name!) && !FETCHES_TOKEN.test(line)) found.push({ sources: [SECRET], words: [] });
    }
    if (SENDERS.has(command.name ?? ""))
      for (const [, name] of text.matchAll(/(?:-\w*[oO]|--output(?:-document)?)[= ]"?\$\{?(\w+)/g))
        this.variables.set(name!, { sources: [command.name!], words: [] });
    for (const one of inner)
      if (one !== command && isInside(one, command) && plain[one.column - 1] !== " ")
        if (one.column > start && (next === undefined || one.column < next.column || inner.includes(command)))
          found.push(this.printedBy(one));
    return joined(found);
  }

  private plainOf(number: number, line: string): string {
    const plain = this.withoutLogin.get(number) ?? line.replace(LOGIN, (found) => " ".repeat(found.length));
    this.withoutLogin.set(number, plain);
    return plain;
  }

  /** What a command prints comes from itself and from what it reads. */
  private printedBy(command: ShellCommand): Flow {
    const { name, args, reads } = command;
    const words = [name ?? "", ...args.map((arg) => arg ?? "")];
    const secret = isSecretCommand(words.join(" ")) || words.slice(1).some(isTelling);
    const own = secret ? [...decoding(command), SECRET] : decoding(command);
    const fetched = CODE.test(name ?? "") && /https?:\/\//.test(words.join(" ")) ? ["curl"] : [];
    const listed = LISTING.test(name ?? "") ? args.filter((arg) => arg !== undefined && isPath(arg)) : [];
    const above = reads.slice(0, MAX_SOURCES).map((one) => (one === command ? NOTHING : this.shallow(one)));
    return joined([{ sources: [...own, ...fetched], words: listed as string[] }, ...above]);
  }

  private shallow(command: ShellCommand): Flow {
    return this.printedBy({ ...command, reads: [] });
  }

  /** Where its output goes, and which variables it fills. */
  private remember(command: ShellCommand, flow: Flow): void {
    const { name, args, redirects, assignments } = command;
    const printed = joined([flow, this.shallow(command)]);
    if (printed.sources.length + printed.words.length === 0) return;
    for (const { operator, target } of redirects)
      if (target !== undefined && operator.includes(">")) this.files.set(target, printed);
    if (name === "tee" || name === "tar" || name === "zip" || name === "cp")
      for (const arg of args) if (arg !== undefined && isPath(arg)) this.files.set(arg, printed);
    if (name !== "read" && name !== "mapfile" && name !== "readarray") return;
    for (const { name: variable } of assignments) this.variables.set(variable, flow);
  }
}

/** A substitution stands inside of a command whose words it makes; an unknown command is what it prints. */
function isInside(inner: ShellCommand, { name, via }: ShellCommand): boolean {
  return name === undefined || inner.via.length > via.length;
}

/** A file whose content must not leave this machine. */
function isTelling(word: string): boolean {
  return isSecretPath(word) || /^\/etc\/passwd$|_history$/.test(word);
}

const LISTING = /^(?:find|ls|grep|rg|egrep|cat|tar|du)$/;
const CODE = /^(?:python[\d.]*|node|perl|ruby|php|deno|bun)$/;

function isPath(word: string): boolean {
  return /^[~/]|^\../.test(word);
}

function joined(flows: readonly Flow[]): Flow {
  const some = flows.filter((flow) => flow.sources.length + flow.words.length > 0);
  if (some.length <= 1) return some[0] ?? NOTHING;
  return {
    sources: [...new Set(some.flatMap(({ sources }) => sources))].slice(0, MAX_SOURCES),
    words: [...new Set(some.flatMap(({ words }) => words))].slice(0, MAX_SOURCES),
  };
}

/** base64 and its like only count when they decode. */
function decoding({ name, args }: ShellCommand): string[] {
  if (name === undefined) return [];
  const decodes = args.some((word) => word !== undefined && /^-[a-zA-Z]*[dDr]|^--dec|^enc$/.test(word));
  const plain = ["base64", "base32", "xxd", "openssl", "tr", "od", "gpg", "perl", "printf"].includes(name);
  if (name === "printf")
    return args.some((word) => word !== undefined && /\\x[0-9a-f]{2}|\\[0-7]{3}/i.test(word)) ? [name] : [];
  if (name === "tr") return args.length === 2 ? [name] : [];
  return plain && !decodes && name !== "openssl" ? [] : [name];
}

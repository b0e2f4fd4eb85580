import type { Match } from "../rules/findings.js";
import { isCommandVariable } from "../shell/command-variables.js";
import { GIVEN_BY_TEXT } from "./evaluator.js";
import type { OtherCall, ProgramFacts } from "./facts.js";
import type { FlatTree } from "./flat-tree.js";
import { type FunctionTable, isStarting, type KnownFunction } from "./known-functions.js";
import type { Loops } from "./loops.js";
import {
  type Arguments,
  argument,
  type KnownCall,
  type ProcessStart,
  startsOf,
  unknownStart,
  type WrittenFile,
} from "./process-start.js";
import type { ProgramEvaluator } from "./program-evaluator.js";
import { commandTexts, type FileOfCall, filesOf } from "./texts.js";
import { allTexts, certainText, HOLE, MARKS, UNKNOWN, type Value } from "./value.js";

export const HIDING = MARKS.built | MARKS.decoded;
export const HIDDEN_NAME: Match = {
  rule: "hidden-name",
  level: "high",
  why: "Reaches something by a name that cannot be read in the code.",
};
export const HUGE_ALLOCATION: Match = {
  rule: "huge-allocation",
  level: "high",
  why: "Takes more memory than a sandbox should have.",
};
const NO_KEYWORDS: ReadonlyMap<string, Value> = new Map();
const MAX_HANDED = 16;
const MAX_PARTS = 64;
function textOf(start: ProcessStart): string | undefined {
  return start.kind === "text" ? start.text : "";
}
const LISTENING_PATCH: Match = {
  rule: "monkey-patch",
  level: "high",
  why: "Puts a function into a module that hands on what it is given.",
};

const ADDRESS = /["'`](?:\w+:\/\/[\w$]|\d{1,3}(?:\.\d{1,3}){3})/;

/** Goes through the tree of a program once and collects its facts. A language says what its nodes mean. */
export abstract class ProgramReader {
  protected readonly calls: KnownCall[] = [];
  protected readonly possibleCalls: KnownCall[] = [];
  protected readonly otherCalls: OtherCall[] = [];
  protected readonly starts: ProcessStart[] = [];
  protected readonly imports: { module: string; offset: number }[] = [];
  protected readonly mentions: { known: KnownFunction; offset: number }[] = [];
  protected readonly signs: { match: Match; offset: number }[] = [];
  protected readonly inputs: { value: Value; offset: number }[] = [];
  /** Without a text: what is written into an opened file. */
  private readonly files: FileOfCall[] = [];
  private readonly pieces: Value[] = [];
  private loosened: ProcessStart | undefined;
  private readonly parts: { from: number; to: number; match: Match; when: (call: KnownCall) => boolean }[] =
    [];

  constructor(
    protected readonly language: ProgramFacts["language"],
    protected readonly tree: FlatTree,
    protected readonly evaluator: ProgramEvaluator,
    protected readonly table: FunctionTable,
    protected readonly loops: Loops,
  ) {}

  read(): ProgramFacts {
    const { tree, evaluator, calls, possibleCalls, otherCalls, starts, imports, mentions, signs, inputs } =
      this;
    for (let node = 0; node < tree.size; node++) this.visit(node, tree.kind(node));
    for (const { from, to, match, when } of this.parts) {
      const call = calls.find((one) => one.offset >= from && one.offset < to && when(one));
      if (call !== undefined) signs.push({ match, offset: call.offset });
    }
    const { loosened } = this;
    // What a text that runs as code gives names to matters to the others.
    if (loosened !== undefined && starts.some(({ kind, via }) => kind !== "code" || via !== loosened.via))
      starts.push(loosened);
    const open = starts.some(
      (start) => (start.kind === "argv" ? start.argv[0] : textOf(start)) === undefined,
    );
    const incomplete = tree.truncated ? "too-long" : evaluator.gaveUp ? "too-complex" : undefined;
    return {
      ...{
        language: this.language,
        calls,
        possibleCalls,
        otherCalls,
        starts,
        imports,
        mentions,
        signs,
        inputs,
      },
      ...{
        written: this.written(),
        commandTexts: open ? commandTexts(tree, (node) => this.valueOf(node)) : [],
        errorAt: tree.errorAt,
        incomplete,
        installScript: INSTALLS.test(tree.text),
      },
    };
  }

  /** Whatever is written into one opened file may be in any of them. */
  private written(): WrittenFile[] {
    const known = this.pieces.map((piece) => certainText(piece));
    const all = known.length === 0 || known.includes(undefined) ? undefined : known.join("");
    return this.files.map((file) => (file.opened === true ? { path: file.path, text: all } : file));
  }

  /** Here the program may give its names other values, or processes other variables: any that it starts may be another. */
  protected loosen(node: number, via: string): void {
    this.loosened ??= unknownStart(this.tree.start(node), via);
  }

  /** Names that are given a value here, as variables of a process may be. */
  protected readKeys(node: number, keys: readonly (string | undefined)[] | undefined): void {
    const variable = keys?.find((key) => key !== undefined && key.length < 80 && isCommandVariable(key));
    if (variable !== undefined) this.loosen(node, variable);
  }

  protected abstract visit(node: number, kind: string): void;
  /** Functions whose meaning lies in a name that they are given, or in one number. */
  protected abstract readName(name: string, node: number, given: Arguments): void;
  /** Where a value goes that is not called. */
  protected abstract useOf(node: number, parent: number): Use;

  /** Says something of a part of the program in which there is such a call. */
  protected watch(part: number, match: Match, when: (call: KnownCall) => boolean): void {
    const from = this.tree.start(part);
    if (this.parts.length < MAX_PARTS)
      this.parts.push({ from, to: from + this.tree.source(part).length, match, when });
  }

  /** A function of a module is replaced by one of the program's own, which sends what it sees to another host. */
  protected readPatch(target: number, value: number): void {
    const names = this.valueOf(target).names.filter((name) => /^[a-z][\w.-]*$/i.test(name));
    if (names.length === 0 || value === -1) return;
    for (const name of this.valueOf(value).names) {
      const definition = /^<def (\d+)>$/.exec(name)?.[1];
      // What it is given may be an address too; only an address of its own counts.
      if (definition !== undefined && ADDRESS.test(this.tree.source(Number(definition))))
        this.watch(Number(definition), LISTENING_PATCH, ({ known }) => known.sends === true);
    }
  }

  /** A function that answers requests must not run what they say. */
  protected readHandler({ names }: Value): void {
    for (const name of names) {
      const definition = /^<def (\d+)>$/.exec(name)?.[1];
      if (definition !== undefined) this.watch(Number(definition), REMOTE_COMMAND, isOpen);
    }
  }

  protected isServing({ names }: Value): boolean {
    return names.some((name) => SERVES.test(name));
  }

  protected sign(match: Match, node: number): void {
    this.signs.push({ match, offset: this.tree.start(node) });
  }

  protected valueOf(node: number): Value {
    return node < 0 ? UNKNOWN : this.evaluator.evaluate(node);
  }

  protected readLoop(loop: number): void {
    const growth = this.loops.growth(loop);
    if (growth !== undefined) this.sign(growth, loop);
  }

  protected readCall(node: number): void {
    const { tree, evaluator, table } = this;
    const callee = evaluator.calleeOf(node);
    if (callee === -1) return;
    const done = new Set<KnownFunction>();
    for (const target of evaluator.targetsOf(node)) {
      this.readName(target.name, node, target);
      if (DESTROYS.test(target.name)) this.sign(DESTRUCTION, node);
      if (SERVES.test(target.name)) for (const handler of target.args) this.readHandler(handler);
      const anything = LEADS_ANYWHERE.test(target.name) || GIVEN_BY_TEXT.test(target.name);
      if (anything || isUnknownMember(target.name, table))
        this.starts.push(unknownStart(tree.start(node), target.name));
      const known = table.find(target.name);
      if (known === undefined || done.has(known) || !this.applies(known, target.name, node)) continue;
      done.add(known);
      this.apply(known, target.name, node, target);
    }
    const given = evaluator.argumentsOf(node);
    const method = this.memberOf(callee);
    this.readKeys(node, [...given.keywords.keys()]);
    for (const [key, value] of given.keywords)
      if (OTHER_PROGRAM.test(key) && ![...done].some(isStarting))
        for (const text of value.texts)
          this.starts.push({ at: tree.start(node), via: key, kind: "argv", argv: [text, undefined] });
    if (!READS.test(method ?? ""))
      this.readKeys(
        node,
        given.args.slice(0, 2).flatMap(({ texts }) => texts),
      );
    if (method !== undefined && DESTROYS.test(`.${method}`)) this.sign(DESTRUCTION, node);
    if (method === "drop_all" && PRODUCTION.test(tree.text)) this.sign(DESTRUCTION, node);
    if (method !== undefined && ![...done].some(isStarting)) {
      const known = table.method(method);
      if (known !== undefined && (done.size === 0 || isStarting(known))) {
        done.add(known);
        this.apply(known, method, node, given);
      }
    }
    if (/^(?:write|end|writelines)$/.test(method ?? "")) this.pieces.push(given.args[0] ?? UNKNOWN);
    this.handOn(node, given);
    if (done.size === 0) this.readTexts(node, method ?? this.valueOf(callee).names[0] ?? "", given);
    if (done.size === 0)
      this.otherCalls.push({
        names: this.valueOf(callee).names,
        method,
        args: given.args,
        from: this.valueOf(tree.child(callee, "object")).marks,
        offset: tree.start(node),
      });
  }

  /** A text that is code which starts a process, given to a function that may run it: a template, a debugger's command. */
  private readTexts(node: number, name: string, { args, keywords }: Arguments): void {
    if (PRINTS.test(name)) return;
    const at = this.tree.start(node);
    if (args.some(({ texts }) => texts.some((one) => STARTING_MODULE.test(one))))
      this.starts.push(unknownStart(at, name || "a call"));
    for (const code of [...args, ...keywords.values()].flatMap((value) => allTexts(value, 16)))
      if (STARTS_BY_TEXT.test(code)) this.starts.push({ at, via: name || "a call", kind: "code", code });
  }

  /** Whether an entry of the table is meant by a call of this form. */
  protected applies(_known: KnownFunction, _name: string, _node: number): boolean {
    return true;
  }

  /** The constant name of the member that an expression takes out of an object; undefined: it is no member. */
  protected abstract memberOf(node: number): string | undefined;

  protected apply(known: KnownFunction, name: string, node: number, { args, keywords }: Arguments): void {
    const call = this.callOf(known, name, node, { args, keywords });
    const started = startsOf(call);
    this.calls.push(call);
    this.starts.push(...started);
    this.files.push(...filesOf(call));
    // Data that calls functions when it is unpacked, and that came from elsewhere.
    const data = known.unpacks === undefined ? UNKNOWN : argument(call, known.unpacks);
    if ((data.marks & (MARKS.network | MARKS.decoded)) !== 0)
      this.starts.push(unknownStart(call.offset, name));
    // exec("c = 'curl'"): a text that runs here may give names of the program other values.
    if (started.some((one) => one.kind === "code" && ASSIGNS.test(one.code ?? ""))) this.loosen(node, name);
  }

  private callOf(known: KnownFunction, name: string, node: number, { args, keywords }: Arguments): KnownCall {
    const { tree, evaluator, loops } = this;
    const receiver = this.valueOf(tree.child(evaluator.calleeOf(node), "object"));
    return {
      known,
      name,
      args,
      keywords,
      receiver,
      offset: tree.start(node),
      endless: loops.isEndless(node),
    };
  }

  /** A function that is handed to another one will be called with what goes along with it. */
  protected handOn(node: number, { args, keywords }: Arguments, receiver: readonly Value[] = []): void {
    const all = [...receiver, ...args, ...keywords.values()].slice(0, MAX_HANDED);
    for (const value of all) {
      if (value.names.length === 0) continue;
      const others = all
        .filter((one) => one !== value)
        .flatMap((one) => [one, ...(one.items?.slice(0, MAX_HANDED) ?? [])]);
      for (const other of others) {
        for (const target of this.evaluator.reached(value, { args: [other], keywords: NO_KEYWORDS })) {
          const known = this.table.find(target.name);
          if (known === undefined || (!isStarting(known) && known.paths === undefined)) continue;
          this.possibleCalls.push(this.callOf({ ...known, level: "safe" }, target.name, node, target));
        }
      }
    }
  }

  /** What an expression names that is not called here. */
  protected readMention(node: number, alias = false): void {
    const { tree, table } = this;
    const value = this.valueOf(node);
    const { names } = value;
    if (names.length === 0) return;
    const reached = this.evaluator
      .reached(value, { args: [], keywords: NO_KEYWORDS })
      .map(({ name }) => name);
    const handed = [...new Set([...names, ...reached])].filter((name) => {
      const known = table.find(name);
      if (known === undefined)
        return isUnknownMember(name, table) || (table.canStart(name) && !QUIET_MODULES.has(name));
      return isStarting(known) || (known.rule === "dynamic-import" && !name.endsWith(")"));
    });
    if (handed.length > 0 && this.isHandedOn(node))
      for (const name of handed) {
        this.starts.push(unknownStart(tree.start(node), name));
        const known = table.find(name);
        if (known !== undefined) this.mentions.push({ known, offset: tree.start(node) });
      }
    if (alias) return;
    for (const name of names) {
      const known = table.find(name);
      if (known !== undefined && known.called !== true && !isStarting(known))
        this.mentions.push({ known, offset: tree.start(node) });
    }
  }

  /** A function or module that goes where calls of it are not followed. */
  private isHandedOn(node: number): boolean {
    for (let at = node, up = 0; up < MAX_UP; up++) {
      const parent = this.tree.parent(at);
      const use = parent === -1 ? "handed on" : this.useOf(at, parent);
      if (use !== "passed up") return use === "handed on";
      at = parent;
    }
    return true;
  }

  /** A member whose name was put together to hide it, or is known only when it runs. */
  protected isHidden(key: Value): boolean {
    return key.texts.length === 0 || key.texts.every((name) => name.includes(HOLE));
  }
}

const INSTALLS = /\b(?:pre|post)install\b|\b(?:post(?:Create|Start|Attach)|onCreate|initialize)Command\b/;
/** Names of what answers requests. */
const SERVES =
  /^(?:flask\.|fastapi\.|aiohttp\.web\.|bottle\.|sanic\.|starlette\.|express\b|fastify\b|koa\b|hono\.|https?\.createServer|Deno\.serve|Bun\.serve)/;
const REMOTE_COMMAND: Match = {
  rule: "remote-command",
  level: "high",
  why: "Runs what a request asks for.",
};

/** What it starts is not all in the program. */
function isOpen(call: KnownCall): boolean {
  return startsOf(call).some((start) => {
    const words = start.kind === "argv" ? start.argv : [start.kind === "text" ? start.text : start.code];
    return words.some((word) => word === undefined || word.includes(HOLE));
  });
}

const PRODUCTION =
  /\b(?:postgres\w*|mysql|mssql|oracle|mariadb)(?:\+\w+)?:\/\/(?![^"'\s]*(?:localhost|127\.0\.0\.1|test))/;
const DESTROYS =
  /\[\](?:\..*)?\.(?:delete|terminate|destroy|drop\w*)$|\.(?:drop_?[dD]atabase|flush_?[aA]ll|terminate_instances|delete_(?:bucket|namespace|db_instance|db_cluster|cluster|stack|vpc|resource_group))$|\b(?:Delete(?:Bucket|DBInstance|DBCluster|Cluster|Stack|Table|Vpc|Volume|Snapshot)|TerminateInstances|ScheduleKeyDeletion)Command$/;
const DESTRUCTION: Match = {
  rule: "service-destruction",
  level: "high",
  why: "Destroys machines, or everything that a service holds.",
};

/** Options of libraries that name the program which they start. */
const OTHER_PROGRAM = /^(?:exec|executable|binary|browser)_?[pP]ath$/;
const STARTS_BY_TEXT =
  /\b(?:os|posix|subprocess|pty)\s*\.\s*(?:system|popen|exec\w+|spawn\w*|run|call|check_\w+|Popen)\s*\(|__import__\s*\(|\b(?:exec|spawn)(?:File)?(?:Sync)?\s*\(\s*['"`]|['"]child_process['"]\s*\)/;
/** A module that does nothing else: who asks for it by its name loads it. */
const STARTING_MODULE = /^(?:node:)?child_process\/?$/;
const PRINTS =
  /(?:^|\.)(?:(?:un|do)?[mM]ock|to\w+|has|get|set|add|delete|print|log|info|debug|warn(?:ing)?|error|exception|write\w*|append|push|test|match|search|find\w*|includes|replace\w*|compile|endswith|startswith)$/;

/** followed: a name that the evaluator knows; passed up: what stands around it has the same value. */
export type Use = "followed" | "handed on" | "passed up";

/** Methods that ask for a variable, and do not set it. */
const READS =
  /^(?:get|getenv|pop|has|includes|startswith|startsWith|print|log|info|debug|warn|error|unset\w*|delete)$/;
const ASSIGNS = /[^=!<>]=[^=>]/;
const MAX_UP = 64;
/** Modules that are no danger when only they are handed on. */
const QUIET_MODULES: ReadonlySet<string> = new Set(["vm", "webbrowser"]);
/** Chains of attributes after which nothing tells what is called. */
const LEADS_ANYWHERE =
  /__subclasses__\(\)$|__(?:bases?|mro)__.*__subclasses__\(\)\[\]$|\.__(?:globals|builtins)__\.|\.f_(?:globals|builtins|locals)\.|\bget_(?:objects|referrers)\(\)$/;

/** A member of a module that can start processes, by a name that is known only when it runs. */
function isUnknownMember(name: string, table: FunctionTable): boolean {
  return name.endsWith(".?") && table.canStart(name.slice(0, -2));
}

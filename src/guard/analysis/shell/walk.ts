import { MAX_ANALYZED_SHELL_CHARACTERS } from "../../../kit/code-limits.js";
import type { WorkBudget } from "../../../kit/parser/index.js";
import { unescapeBackslashes } from "./ansi-c.js";
import { assignedIn } from "./assigned.js";
import { findBombs } from "./bombs.js";
import { readsAssignments, runBuiltin } from "./builtins.js";
import { COMMAND_VARIABLES, LOADER_VARIABLES, PROMPT_VARIABLES, runsUnseen } from "./command-variables.js";
import { Environment, type ShellFunction } from "./environment.js";
import { type Expander, evaluate, expandValue, expandWord } from "./expand.js";
import { baseName, type Field, isKnown, known } from "./fields.js";
import { Findings, type Position } from "./findings.js";
import { outputOf } from "./output.js";
import { parseExpansions, parseShell } from "./parse.js";
import { mayRunWords } from "./quiet-programs.js";
import { type Redirected, redirect, writesElsewhere } from "./redirected.js";
import type { ShellAssignment } from "./shell-program.js";
import {
  type Assignment,
  type Command,
  type Item,
  type Redirect,
  type Script,
  ShellSyntaxError,
} from "./tree.js";
import type { Call, Context, InlineLanguage, Walker } from "./walker.js";
import { runWrapper } from "./wrappers.js";
import { asOriginal, type FileRun, isRenamed, readerOf, WrittenFiles } from "./written-files.js";

/** The longest program in a language that is only scanned. */
const MAX_SCANNED_LENGTH: Readonly<Partial<Record<InlineLanguage, number>>> = {
  awk: 4096,
  sed: 4096,
  perl: 8192,
  ruby: 8192,
  php: 8192,
  lua: 8192,
  r: 8192,
};
/** Texts within texts: `sh -c "sh -c …"`. */
const MAX_DEPTH = 12;
/** Commands that are walked, counting each time that a function or a loop's body is. */
const MAX_STEPS = 20_000;
const MAX_FOR_VALUES = 16;
/** Each is parsed on its own. */
const MAX_PROGRAMS = 100;
/** Of the commands before it in a pipeline, a command remembers this many. */
const MAX_READS = 64;

/** Units of work. */
const COST = { command: 300, field: 40, name: 20, letter: 30, text: 300 } as const;

export interface InlineCode {
  readonly language: InlineLanguage;
  readonly code: string;
  readonly call: Call;
  /** It is the text that was given first, so places in it are places there. */
  readonly whole: boolean;
}

/** Follows a text as a shell would, and notes every command on any of the ways through it. */
export class ShellWalk extends Findings implements Walker {
  /** Programs in other languages that were found on the way. */
  readonly code: InlineCode[] = [];
  readonly files = new WrittenFiles();
  private steps = 0;
  private exhausted = false;
  private programs = 0;
  private readonly running: string[] = [];
  private readonly expandingAliases = new Set<string>();
  private readonly uncalled = new Map<Command, { name: string; context: Context }>();

  constructor(
    position: Position,
    readonly work: WorkBudget,
  ) {
    super(position);
  }

  /** Walks a whole text. */
  start(text: string, call: Call): void {
    this.runText(call, text, call.environment);
    this.finish();
  }

  /** What has run a file which was written by now; functions that are never called: a name made at run time may call them. */
  finish(): void {
    this.finishFunctions();
    for (let runs = this.files.take(this.work); runs.length > 0; runs = this.files.take(this.work)) {
      for (const run of runs) this.runWritten(run);
      this.finishFunctions();
    }
  }

  private runWritten({ call, path, language, text, copyOf }: ReturnType<WrittenFiles["take"]>[number]): void {
    this.work.spend(COST.text);
    const byName = language === undefined;
    if (copyOf !== undefined) {
      if (byName && isRenamed(path, copyOf)) this.runFields(call, asOriginal(copyOf, call.fields), {}, path);
    } else if (byName && !path.includes("/")) return;
    else if (text === undefined) this.emitUnknown(call, path);
    else {
      const reader = language === undefined ? readerOf(text, path, call.fields) : undefined;
      const environment = new Environment();
      environment.positional = undefined;
      if (reader !== undefined) this.runFields(call, reader, {}, path);
      else if (language === undefined || language === "shell") this.runText(call, text, environment, path);
      else this.runCode(call, language, text, path);
    }
  }

  runFile(call: Call, path: string, language: FileRun["language"]): void {
    this.files.run(call, path, language);
  }

  private finishFunctions(): void {
    for (let next = this.takeUncalled(); next !== undefined; next = this.takeUncalled()) {
      const environment = this.fork(next.context.environment);
      environment.forget();
      this.runCommand(next.body, {
        ...next.context,
        environment,
        via: [...next.context.via, `function ${next.name}`],
      });
    }
  }

  private takeUncalled() {
    for (const [body, { name, context }] of this.uncalled) {
      this.uncalled.delete(body);
      return { body, name, context };
    }
    return undefined;
  }

  // Texts

  runText(call: Call, text: string, environment: Environment, ...via: readonly string[]): string | undefined {
    const output = this.walkText(call, text, environment, via);
    if (isKnown(text)) return output;
    // What is put in may hold commands of its own.
    this.emitUnknown(call, ...via);
    environment.forget();
    return undefined;
  }

  runQuotedText(call: Call, text: string, environment: Environment, ...via: readonly string[]): void {
    this.walkText(call, text, environment, via);
  }

  private walkText(
    call: Call,
    text: string,
    environment: Environment,
    via: readonly string[],
  ): string | undefined {
    if (call.depth >= MAX_DEPTH) {
      this.problem(call.place, `commands are nested deeper than ${MAX_DEPTH} levels`);
      return undefined;
    }
    if (text.length > MAX_ANALYZED_SHELL_CHARACTERS) {
      this.problem(
        call.place,
        `a text longer than ${MAX_ANALYZED_SHELL_CHARACTERS / 1024} KiB, which is not looked into`,
      );
      return undefined;
    }
    this.work.spend(COST.letter * text.length);
    const top = call.depth === 0;
    const { script, problems } = parseShell(text, top ? undefined : () => call.place, call.posix);
    for (const { place, message } of problems) {
      this.problem(place, top ? message : `in ${[...call.via, ...via].join(", ")}: ${message}`);
    }
    const context: Context = {
      environment,
      via: [...call.via, ...via],
      stdin: call.stdin,
      redirects: call.redirects,
      reads: call.reads,
      depth: call.depth + 1,
      ...(call.byProgram && { byProgram: true }),
    };
    for (const { kind, place } of findBombs(script)) this.bomb(kind, place);
    const output = this.runScript(script, context);
    return problems.length === 0 ? output : undefined;
  }

  expandText(call: Call, text: string, ...via: readonly string[]): void {
    this.work.spend(COST.text + COST.letter * text.length);
    if (call.depth >= MAX_DEPTH || !/[$`]/.test(text)) return;
    const context = { ...call, via: [...call.via, ...via], depth: call.depth + 1 };
    try {
      evaluate(
        this.expander(context, call.place),
        parseExpansions(text, () => call.place),
      );
    } catch (error) {
      // Not something that a shell would expand, so nothing runs.
      if (!(error instanceof ShellSyntaxError)) throw error;
    }
  }

  runCode(call: Call, language: InlineLanguage, code: string, ...via: readonly string[]): void {
    this.programs += 1;
    if (this.programs > MAX_PROGRAMS) {
      if (this.programs === MAX_PROGRAMS + 1)
        this.problem(call.place, `more than ${MAX_PROGRAMS} programs in other languages`);
      return;
    }
    const longest = MAX_SCANNED_LENGTH[language];
    if (longest !== undefined && code.length > longest) {
      this.problem(call.place, `${language} longer than ${longest / 1024} KiB, which is not looked into`);
      return;
    }
    this.code.push({
      language,
      code,
      call: { ...call, via: [...call.via, ...via], depth: call.depth + 1 },
      whole: false,
    });
    if (!isKnown(code)) this.emitUnknown(call, ...via);
  }

  // Scripts

  private runScript(script: Script, context: Context): string | undefined {
    let output: string | undefined = "";
    for (const item of script.items) {
      const printed = this.runItem(item, context);
      const certain = item.join === ";" && !item.background;
      output = certain && output !== undefined && printed !== undefined ? output + printed : undefined;
    }
    return output;
  }

  private runItem(item: Item, context: Context): string | undefined {
    if (item.background) return this.runPipeline(item.stages, this.inSubshell(context));
    if (item.join === ";") return this.runPipeline(item.stages, context);
    const skipped = this.fork(context.environment);
    const output = this.runPipeline(item.stages, context);
    this.merge(context.environment, skipped);
    return output;
  }

  private runPipeline(stages: readonly Command[], context: Context): string | undefined {
    if (stages.length === 1) return this.runCommand(stages[0]!, context);
    let { stdin, reads } = context;
    let output: string | undefined;
    for (const stage of stages) {
      const first = this.commands.length;
      output = this.runCommand(stage, { ...this.inSubshell(context), stdin, reads });
      const from = this.commands.slice(first);
      reads = [...reads, ...from].slice(-MAX_READS);
      stdin = { kind: "content", via: "pipe", content: { text: output, from } };
    }
    return output;
  }

  private inSubshell(context: Context): Context {
    return { ...context, environment: this.fork(context.environment) };
  }

  private fork(environment: Environment): Environment {
    this.work.spend(COST.name * environment.size);
    return environment.fork();
  }

  private merge(environment: Environment, other: Environment): void {
    this.work.spend(COST.name * (environment.size + other.size));
    environment.merge(other);
  }

  // Commands

  private runCommand(command: Command, outer: Context): string | undefined {
    this.work.spend(COST.command);
    this.steps += 1 + outer.environment.functions.size / 64;
    if (this.steps > MAX_STEPS) {
      if (!this.exhausted) this.problem(command.place, `more than ${MAX_STEPS} commands`);
      this.exhausted = true;
      return undefined;
    }
    if (command.kind === "simple") return this.runSimple(command, outer);
    const { context, own } = this.redirect(command.redirects, outer, command.place);
    const before = this.commands.length;
    const output = this.runCompound(command, context);
    this.files.redirect(own, output);
    if (own.length > 0 && this.commands.length === before)
      this.emitNothing(asCall({ ...context, redirects: own }, command.place));
    return writesElsewhere(own) ? undefined : output;
  }

  private runCompound(command: Exclude<Command, { kind: "simple" }>, context: Context): string | undefined {
    const { environment } = context;
    const expander = this.expander(context, command.place);
    switch (command.kind) {
      case "group":
        return this.runScript(command.body, command.subshell ? this.inSubshell(context) : context);
      case "if": {
        const ways: Environment[] = [];
        for (const branch of command.branches) {
          this.runScript(branch.condition, context);
          ways.push(this.runWay(branch.body, context));
        }
        if (command.otherwise !== undefined) ways.push(this.runWay(command.otherwise, context));
        for (const way of ways) this.merge(environment, way);
        return undefined;
      }
      case "case": {
        evaluate(expander, command.subject);
        const ways: Environment[] = [];
        for (const branch of command.branches) {
          for (const pattern of branch.patterns) evaluate(expander, pattern);
          // With ";&" a branch goes on where the one before it ended.
          for (const way of ways) this.merge(environment, way);
          ways.push(this.runWay(branch.body, context));
        }
        for (const way of ways) this.merge(environment, way);
        return undefined;
      }
      case "while":
        this.loosen([command.condition, command.body], environment);
        this.runScript(command.condition, context);
        this.merge(environment, this.runWay(command.body, context));
        return undefined;
      case "for":
        this.runFor(command, context);
        return undefined;
      case "evaluate":
        for (const word of command.words) evaluate(expander, word);
        if (command.body !== undefined) {
          this.loosen([command.body], environment);
          this.merge(environment, this.runWay(command.body, context));
        }
        return undefined;
      case "function":
        environment.define(command.name, command.body);
        this.uncalled.set(command.body, { name: command.name, context });
        return "";
      case "coproc":
        this.runCommand(command.body, {
          ...this.inSubshell(context),
          via: [...context.via, "coproc"],
          // Whoever writes into it is not followed.
          stdin: { kind: "content", via: "coproc", content: { text: undefined, from: [] } },
        });
        return undefined;
    }
  }

  /** One of several ways: what it sets is merged by the caller. */
  private runWay(body: Script, context: Context): Environment {
    const inner = this.inSubshell(context);
    this.runScript(body, inner);
    return inner.environment;
  }

  /** What a loop's body sets may already be set when it begins. */
  private loosen(scripts: readonly Script[], environment: Environment): void {
    const names = assignedIn(scripts, environment, this.work);
    if (names === undefined) environment.forget();
    else for (const name of names) environment.set(name, undefined);
  }

  private runFor(command: Extract<Command, { kind: "for" }>, context: Context): void {
    const { environment } = context;
    const expander = this.expander(context, command.place);
    const values = command.values?.flatMap((word) => expandWord(expander, word)) ?? environment.positional;
    this.loosen([command.body], environment);
    const followed =
      values !== undefined &&
      values.length <= MAX_FOR_VALUES &&
      values.every((field) => isKnown(field.text) && !field.pattern);
    for (const value of followed ? values.map((field) => field.text) : [undefined]) {
      const inner = this.inSubshell(context);
      inner.environment.set(command.variable, value);
      this.setByLoop(command, value, inner);
      this.runScript(command.body, inner);
      this.merge(environment, inner.environment);
    }
    environment.set(command.variable, undefined);
  }

  private setByLoop(
    command: Command & { variable: string },
    value: string | undefined,
    context: Context,
  ): void {
    const { variable: name } = command;
    const call = { ...asCall(context, command.place), assignments: [{ name, value }] };
    this.runVariable(call, name, value);
    if (LOADER_VARIABLES.has(name)) this.emitNothing(call);
  }

  // Simple commands

  private runSimple(command: Extract<Command, { kind: "simple" }>, outer: Context): string | undefined {
    const first = this.commands.length;
    const { context, own } = this.redirect(command.redirects, outer, command.place);
    const expander = this.expander(context, command.place);
    const assignments = command.assignments.map((each) => this.assign(each, expander));
    const fields = command.words.flatMap((word) => expandWord(expander, word));
    this.work.spend(COST.field * fields.length);
    const made = this.commands.slice(first);
    const reads = [...context.reads, ...fields.flatMap((field) => field.content?.from ?? [])];
    const call: Call = { ...context, reads, fields, place: command.place, assignments, made, inShell: true };
    this.runVariables(call);
    if (fields.length === 0) {
      for (const { name, value } of assignments) context.environment.set(name, value);
      const matters = assignments.some(({ name }) => LOADER_VARIABLES.has(name));
      if (own.length > 0 || matters) this.emitNothing({ ...call, redirects: own });
      // A variable that is read-only ends the shell here; `$(<file)` reads a file.
      return made.length + assignments.length + own.length === 0 ? "" : undefined;
    }
    this.runAlias(command, call);
    const output = this.runAssigned(call);
    this.files.redirect(own, output);
    return writesElsewhere(own) ? undefined : output;
  }

  /** A builtin sees the assignments in front of it: `x=curl eval '$x'`. */
  private runAssigned(call: Call): string | undefined {
    const way = call.assignments.length === 0 ? undefined : readsAssignments(call.fields[0]!.text);
    if (way === undefined) return this.run(call);
    const { environment, assignments } = call;
    const before = assignments.map(({ name }) => [name, environment.get(name)] as const);
    for (const { name, value } of assignments) environment.set(name, value);
    const output = this.run(call);
    for (const [name, value] of before) environment.set(name, way === "stay" ? undefined : value);
    return output;
  }

  private assign(assignment: Assignment, expander: Expander): ShellAssignment {
    const values = assignment.words.map((word) => expandValue(expander, word));
    const value = assignment.plain ? known(values.at(-1) ?? "") : undefined;
    return { name: assignment.name, value };
  }

  /** Assignments that make the shell or a program run something. */
  private runVariables(call: Call): void {
    for (const { name, value } of call.assignments) this.runVariable(call, name, value);
  }

  /** What setting a variable makes run. */
  runVariable(call: Call, name: string, value: string | undefined): void {
    if (runsUnseen(name, value)) this.emitUnknown(call, name);
    if (PROMPT_VARIABLES.has(name)) {
      if (value === undefined) this.emitUnknown(call, name);
      else {
        this.expandText(call, value, name);
        // A prompt's backslashes are read before its substitutions.
        if (value.includes("\\")) this.expandText(call, unescapeBackslashes(value), name);
      }
    }
    if (!COMMAND_VARIABLES.has(name)) return;
    if (value === undefined) this.emitUnknown(call, name);
    else if (value !== "") this.runText(call, value, new Environment(), name);
  }

  /** An alias is text in front of the rest. Not every shell expands it here, so the name counts as well. */
  private runAlias(command: Extract<Command, { kind: "simple" }>, call: Call): void {
    const word = command.words[0]?.parts;
    const part = word?.length === 1 ? word[0] : undefined;
    if (part?.kind !== "text" || part.quoted || !call.environment.aliases.has(part.text)) return;
    const name = part.text;
    if (this.expandingAliases.has(name)) return;
    this.expandingAliases.add(name);
    for (const value of call.environment.aliases.get(name) ?? []) {
      const next = command.words[1]?.parts[0];
      // After a blank the next word may be an alias too.
      const goesOn =
        /\s$/.test(value ?? "") && next?.kind === "text" && call.environment.aliases.has(next.text);
      if (value === undefined || goesOn) this.emitUnknown(call, `alias ${name}`);
      if (value !== undefined)
        this.runText(call, value + command.tail, this.fork(call.environment), `alias ${name}`);
    }
    this.expandingAliases.delete(name);
  }

  /** Runs a command whose words are known as far as they can be. */
  private run(call: Call): string | undefined {
    this.work.spend(COST.command + COST.field * call.fields.length + COST.name * call.reads.length);
    this.steps += 1;
    const name = call.fields[0]!.text;
    const defined = call.inShell ? call.environment.functions.get(name) : undefined;
    if (defined !== undefined) {
      const output = this.callFunction(name, defined, call);
      if (defined.certain) return output;
    }
    const base = baseName(call.fields[0]!);
    if (base === undefined) {
      this.emitUnknown(call);
      if (call.inShell) call.environment.forget();
      return undefined;
    }
    if (call.inShell && !name.includes("/")) {
      const handled = runBuiltin(this, call, base);
      if (handled !== undefined) return handled.output;
    }
    this.files.run(call, name, undefined);
    this.files.command(base, call);
    const wrapped = runWrapper(this, call, base);
    if (wrapped !== undefined) return wrapped.output;
    this.emit(call);
    // A file that the text makes for it may say what else to run.
    if (mayRunWords(base) && call.fields.some(({ content }) => content !== undefined))
      this.emitUnknown(call, base);
    return this.outputOf(call);
  }

  outputOf(call: Call): string | undefined {
    const [name, ...args] = call.fields;
    // A function of the same name may be what runs.
    const shadowed = name === undefined || call.environment.functions.has(name.text);
    return shadowed ? undefined : outputOf(baseName(name) ?? "", args, call.stdin);
  }

  runFields(
    call: Call,
    fields: readonly Field[],
    changes: Partial<Call>,
    ...via: readonly string[]
  ): string | undefined {
    if (fields.length === 0) return undefined;
    if (call.via.length > 64) {
      this.problem(call.place, "a command stands behind more than 64 others");
      return undefined;
    }
    return this.run({ ...call, inShell: false, ...changes, fields, via: [...call.via, ...via] });
  }

  private callFunction(name: string, { body }: ShellFunction, call: Call): string | undefined {
    const times = this.running.filter((each) => each === name).length;
    if (times > 1 || this.running.length > 16) return undefined;
    const { environment } = call;
    const { positional } = environment;
    this.uncalled.delete(body);
    this.running.push(name);
    environment.hidden.push(new Map());
    environment.positional = times > 0 ? undefined : call.fields.slice(1);
    for (const { name: variable, value } of call.assignments) environment.set(variable, value);
    const output = this.runCommand(body, { ...call, via: [...call.via, `function ${name}`] });
    for (const [variable, value] of environment.hidden.pop() ?? []) environment.set(variable, value);
    for (const { name: variable } of call.assignments) environment.set(variable, undefined);
    environment.positional = positional;
    this.running.pop();
    return output;
  }

  // Words and redirections

  private expander(context: Context, place: number): Expander {
    return {
      environment: context.environment,
      work: this.work,
      substitute: (script, via) => {
        const first = this.commands.length;
        const inner = { ...this.inSubshell(context), via: [...context.via, via], redirects: [] };
        const text = this.runScript(script, inner);
        return { text, from: this.commands.slice(first) };
      },
      expandAgain: (text) => this.expandText(asCall(context, place), text, "arithmetic"),
      problem: (what) => this.problem(place, what),
    };
  }

  private redirect(redirects: readonly Redirect[], outer: Context, place: number): Redirected {
    return redirect(redirects, outer, this.expander(outer, place));
  }
}

/** A context as a call without words. */
function asCall(context: Context, place: number): Call {
  return { ...context, fields: [], place, assignments: [], made: [], inShell: false };
}

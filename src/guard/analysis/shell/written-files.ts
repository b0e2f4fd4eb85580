import type { WorkBudget } from "../../../kit/parser/index.js";
import { type Field, isKnown, plain } from "./fields.js";
import type { ShellRedirect } from "./shell-program.js";
import type { Call, InlineLanguage } from "./walker.js";

/** What a file holds that the text itself makes: a text, or a copy of a program; neither: not known. */
interface Version {
  readonly text?: string | undefined;
  readonly copyOf?: string;
}

/** A place where a file is run. */
export interface FileRun {
  readonly call: Call;
  readonly path: string;
  /** What reads it; undefined: its first line says. */
  readonly language: InlineLanguage | "shell" | undefined;
}

const MAX_VERSIONS = 16;

/** What is written into files and which files run, in whatever order, by their names without directories. */
export class WrittenFiles {
  private readonly versions = new Map<string, readonly Version[]>();
  /** The same command in several places is one. */
  private readonly runs = new Map<string, FileRun & { readonly taken: Set<Version> }>();

  write(path: string, text: string | undefined, appends = false): void {
    const all = this.versions.get(nameOf(path)) ?? [];
    const last = appends ? all.at(-1) : undefined;
    const before = last === undefined ? all : all.slice(0, -1);
    const whole =
      last === undefined || text === undefined
        ? text
        : last.text === undefined
          ? undefined
          : last.text + text;
    // Of so many nothing is known.
    this.versions.set(nameOf(path), before.length >= MAX_VERSIONS ? [{}] : [...before, { text: whole }]);
  }

  /** Standard output that goes to files. */
  redirect(own: readonly ShellRedirect[], output: string | undefined): void {
    for (const { operator, target } of own)
      if (target !== undefined && /^(?!0*2\D).*>[>|]?$/.test(operator))
        this.write(target, /^(?:0*1|&)?>/.test(operator) ? output : undefined, operator.endsWith(">>"));
  }

  /** Programs that write what they are given, or give a file another name. */
  command(name: string, { fields, stdin }: Call): void {
    const words = fields.slice(1).map(({ text }) => text);
    const operands = words.filter((word) => !word.startsWith("-"));
    if (name === "tee") {
      const text = stdin.kind === "content" ? stdin.content.text : undefined;
      for (const path of operands) this.write(path, text, words.includes("-a"));
    }
    for (const [index, word] of words.entries()) {
      const given = name === "dd" ? /^of=(.+)/.exec(word)?.[1] : undefined;
      const after =
        /^(?:sort|curl|wget)$/.test(name) && /^-[a-zA-Z]*[oO]$/.test(word) ? words[index + 1] : undefined;
      for (const path of [given, after]) if (path !== undefined && isKnown(path)) this.write(path, undefined);
    }
    if (!/^(?:g?cp|mv|ln|install)$/.test(name)) return;
    const to = operands.at(-1);
    for (const from of operands.slice(0, -1)) this.copy(from, to!);
  }

  copy(from: string, to: string): void {
    const known = this.versions.get(nameOf(from)) ?? [isKnown(from) ? { copyOf: from } : {}];
    for (const path of [to, from]) if (isKnown(path)) this.versions.set(nameOf(path), known);
  }

  run(call: Call, path: string, language: FileRun["language"]): void {
    if (!isKnown(path)) return;
    const key = [language, path, ...call.fields.map(({ text }) => text)].join("\0");
    if (!this.runs.has(key)) this.runs.set(key, { call, path, language, taken: new Set() });
  }

  /** The runs of files that have been written by now, each with what such a file may hold, and each once. */
  take(work: WorkBudget): (FileRun & Version)[] {
    work.spend(this.runs.size);
    const found: (FileRun & Version)[] = [];
    for (const { taken, ...run } of this.versions.size === 0 ? [] : this.runs.values())
      for (const version of this.versions.get(nameOf(run.path)) ?? []) {
        if (taken.has(version)) continue;
        taken.add(version);
        found.push({ ...run, ...version });
      }
    return found;
  }
}

/** What a file with such a text starts when it is run by its name: `#!/usr/bin/env python3`; undefined: a shell reads it. */
export function readerOf(text: string, path: string, [, ...rest]: readonly Field[]): Field[] | undefined {
  const words = /^#!\s*(\S+)(?:[ \t]+(\S.*?))?[ \t]*(?:\n|$)/.exec(text)?.slice(1);
  if (words === undefined) return undefined;
  return [...words.flatMap((word) => word ?? []).map(plain), plain(path), ...rest];
}

/** Another name for a program, not only another place. */
export function isRenamed(path: string, copyOf: string): boolean {
  return nameOf(path) !== nameOf(copyOf);
}

/** Words with the program in front of them that they are a copy of. */
export function asOriginal(copyOf: string, [first, ...rest]: readonly Field[]): readonly Field[] {
  return first === undefined ? [] : [{ ...first, text: copyOf }, ...rest];
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

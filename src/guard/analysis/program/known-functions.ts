import type { Match } from "../rules/findings.js";
import type { RiskLevel } from "../rules/levels.js";
import type { Access } from "../rules/path-rules.js";

/** Which argument: by place, by keyword, by either, or what the method is called on. */
export type ArgumentRef = number | string | readonly [number, string];
export const SELF = "(self)";

/** The words of a text, for long lists of names. */
export function words(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

/** How a function is told what to start. */
type StartForm =
  /** A shell's text, or a list of words: `subprocess.run`. */
  | "command"
  /** The same, but anything that is not text means something else: any object's `system("…")`. */
  | "command-if-text"
  /** A program and the list of its words, its own name first: `os.execv`. */
  | "program-list"
  /** A program and then its words, its own name first: `os.execl`. */
  | "program-words"
  /** Every argument is a word. */
  | "words"
  /** A program, a list of its words, options: `child_process.spawn`. */
  | "spawn"
  /** A script for another copy of the interpreter: `child_process.fork`. */
  | "fork"
  /** An internal module by its name: `process.binding`. */
  | "binding"
  /** Cannot be told from the arguments. */
  | "unknown";

/** A function, method or module that code can reach for: what its arguments are, and how bad that is. The most specific name wins. */
export interface KnownFunction extends Match {
  /** "os.system"; "subprocess.*" for everything below; "*.to_csv" for a method of anything. */
  readonly names: readonly string[];
  /** Its mere mention is nothing; it must be called. */
  readonly called?: true;
  /** It starts a process, and the arguments from this one on say which. */
  readonly starts?: readonly [StartForm, ArgumentRef];
  /** What the command reads as its input. */
  readonly input?: ArgumentRef;
  /** This argument is code. */
  readonly code?: ArgumentRef;
  /** So is this one: what runs before it. */
  readonly alsoCode?: ArgumentRef;
  readonly language?: "python" | "javascript";
  /** This argument is data that may run code when it is read. */
  readonly unpacks?: ArgumentRef;
  /** This argument is the number of the process that it signals. */
  readonly signals?: ArgumentRef;
  /** Code only when it is text (setTimeout takes functions too), or when an option says so (a worker's `eval`). */
  readonly codeIf?: "text" | "eval";
  readonly paths?: readonly (readonly [ArgumentRef, Access])[];
  /** The mode of an opened file, which turns reading into writing. */
  readonly mode?: ArgumentRef;
  /** What it is given leaves this machine. */
  readonly sends?: true;
  /** How bad it is in a loop without an end. */
  readonly endless?: RiskLevel;
  /** How bad from this amount on. */
  readonly amount?: readonly [ArgumentRef, number];
  /** Marks of what it returns. */
  readonly returns?: number;
}

/** One entry of a table of known functions. */
export function known(
  level: RiskLevel,
  rule: string,
  why: string,
  names: readonly string[],
  more: Omit<KnownFunction, keyof Match | "names"> = {},
): KnownFunction {
  return { rule, level, why, names, ...more };
}

/** One entry of a table of modules. */
export function imported(
  level: RiskLevel,
  rule: string,
  why: string,
  modules: readonly string[],
): ModuleRule {
  return { rule, level, why, modules };
}

/** Importing it tells what the code is about to do. */
export interface ModuleRule extends Match {
  readonly modules: readonly string[];
}

/** All of these in one chain of attributes. */
export interface ChainRule extends Match {
  readonly all: readonly string[];
}

/** Rules that only together mean something. */
export interface CombinationRule extends Match {
  readonly all: readonly (readonly string[])[];
}

/** Finds the most specific entry of a qualified name. */
export interface FunctionTable {
  find(name: string): KnownFunction | undefined;
  /** The entry of a method, whatever it is called on. */
  method(name: string): KnownFunction | undefined;
  /** There is an entry for the module or for something in it. */
  knows(module: string): boolean;
  /** Something directly in the module starts processes or runs code. */
  canStart(module: string): boolean;
}

export function createFunctionTable(functions: readonly KnownFunction[]): FunctionTable {
  const exact = new Map<string, KnownFunction>();
  const below = new Map<string, KnownFunction>();
  const methods = new Map<string, KnownFunction>();
  const modules = new Set<string>();
  const starting = new Set<string>();
  for (const one of functions) {
    for (const name of one.names) {
      if (name.startsWith("*.")) methods.set(name.slice(2), one);
      else if (name.endsWith(".*")) below.set(name.slice(0, -2), one);
      else exact.set(name, one);
      for (let at = name.indexOf("."); at > 0; at = name.indexOf(".", at + 1)) modules.add(name.slice(0, at));
      if (isStarting(one)) starting.add(name.slice(0, Math.max(0, name.lastIndexOf("."))));
    }
  }
  return {
    find(name) {
      const known = exact.get(name);
      if (known !== undefined) return known;
      for (let at = name.lastIndexOf("."); at > 0; at = name.lastIndexOf(".", at - 1)) {
        const found = below.get(name.slice(0, at));
        if (found !== undefined) return found;
      }
      // `f = loop().subprocess_shell`: what only one kind of object has.
      const method = methods.get(/\(\)\.(\w+)$/.exec(name)?.[1] ?? "");
      return method !== undefined && isStarting(method) ? method : undefined;
    },
    method: (name) => methods.get(name),
    knows: (module) => modules.has(module),
    canStart: (module) => starting.has(module) && module !== "" && module !== "*",
  };
}

/** It starts a process by itself, or runs what may start one. */
export function isStarting({ starts, code, codeIf }: KnownFunction): boolean {
  return starts !== undefined || (code !== undefined && codeIf === undefined);
}

import type { Match } from "../risk/findings.js";
import type { RiskLevel } from "../risk/levels.js";
import type { Access } from "../risk/path-rules.js";

/** Which argument: by place, by keyword, by either, or what the method is called on. */
export type Place = number | string | readonly [number, string];
export const SELF = "(self)";

/** The words of a text, for long lists of names. */
export function words(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

/** A function, method or module that code can reach for. The most specific name wins. */
export interface ReachRule extends Match {
  /** "os.system"; "subprocess.*" for everything below; "*.to_csv" for a method of anything. */
  readonly names: readonly string[];
  /** Its mere mention is nothing; it must be called. */
  readonly called?: true;
  /** This argument is a command: text for a shell, or a list of words. */
  readonly command?: Place;
  /** From this place on, arguments are the words of a command. */
  readonly words?: number;
  /** What the command reads as its input. */
  readonly input?: Place;
  /** This argument is code. */
  readonly code?: Place;
  readonly language?: "python" | "javascript";
  /** Code only when it is text: setTimeout takes functions too. */
  readonly codeIfText?: true;
  readonly paths?: readonly (readonly [Place, Access])[];
  /** The mode of an opened file, which turns reading into writing. */
  readonly mode?: Place;
  /** What it is given leaves this machine. */
  readonly sends?: true;
  /** How bad it is in a loop without an end. */
  readonly endless?: RiskLevel;
  /** How bad from this amount on. */
  readonly amount?: readonly [Place, number];
  /** Marks of what it returns. */
  readonly returns?: number;
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

/** Finds the most specific rule of a qualified name. */
export interface RuleTable {
  find(name: string): ReachRule | undefined;
  /** The rule of a method, whatever it is called on. */
  method(name: string): ReachRule | undefined;
  /** A rule exists for the module or for something in it. */
  knows(module: string): boolean;
}

export function createRuleTable(rules: readonly ReachRule[]): RuleTable {
  const exact = new Map<string, ReachRule>();
  const below = new Map<string, ReachRule>();
  const methods = new Map<string, ReachRule>();
  const modules = new Set<string>();
  for (const rule of rules) {
    for (const name of rule.names) {
      if (name.startsWith("*.")) methods.set(name.slice(2), rule);
      else if (name.endsWith(".*")) below.set(name.slice(0, -2), rule);
      else exact.set(name, rule);
      for (let at = name.indexOf("."); at > 0; at = name.indexOf(".", at + 1)) modules.add(name.slice(0, at));
    }
  }
  return {
    find(name) {
      const known = exact.get(name);
      if (known !== undefined) return known;
      for (let at = name.lastIndexOf("."); at > 0; at = name.lastIndexOf(".", at - 1)) {
        const rule = below.get(name.slice(0, at));
        if (rule !== undefined) return rule;
      }
      return undefined;
    },
    method: (name) => methods.get(name),
    knows: (module) => modules.has(module),
  };
}

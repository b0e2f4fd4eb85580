import type { Field } from "./fields.js";
import type { Command } from "./tree.js";

/** What is followed at most; more variables than this are unknown. */
const MAX_NAMES = 256;
const MAX_VALUE_LENGTH = 65_536;

export interface ShellFunction {
  readonly body: Command;
  /** False: only one of the ways through the text defines it. */
  readonly certain: boolean;
}

/** What a shell text has set so far. A variable that is missing or undefined is known only when it runs. */
export class Environment {
  readonly variables: Map<string, string | undefined>;
  readonly functions: Map<string, ShellFunction>;
  readonly aliases: Map<string, string | undefined>;
  /** `$1` and so on; undefined: not known. */
  positional: readonly Field[] | undefined;
  /** `$0`, where `sh -c` was given one. */
  zero: Field | undefined;
  /** Variables with an attribute that changes what is put into them: `declare -l`. */
  readonly odd: Set<string>;
  /** What `local` has hidden in the functions that are running. */
  readonly hidden: Map<string, string | undefined>[] = [];

  constructor(from?: Environment) {
    this.variables = new Map(from?.variables ?? [["IFS", " \t\n"]]);
    this.functions = new Map(from?.functions);
    this.aliases = new Map(from?.aliases);
    this.positional = from?.positional;
    this.zero = from?.zero;
    this.odd = new Set(from?.odd);
  }

  /** A copy for a subshell or for one of several ways. */
  fork(): Environment {
    return new Environment(this);
  }

  get(name: string): string | undefined {
    return this.variables.get(name);
  }

  set(name: string, value: string | undefined): void {
    const fits = this.variables.has(name) || this.variables.size < MAX_NAMES;
    if (!fits) return;
    const follow = value !== undefined && value.length <= MAX_VALUE_LENGTH && !this.odd.has(name);
    this.variables.set(name, follow ? value : undefined);
  }

  define(name: string, body: Command): void {
    this.functions.set(name, { body, certain: true });
  }

  alias(name: string, value: string | undefined): void {
    this.aliases.set(name, value);
  }

  /** Remembers what `local` hides until the function returns. */
  hide(name: string): void {
    const frame = this.hidden.at(-1);
    if (frame !== undefined && !frame.has(name)) frame.set(name, this.get(name));
  }

  /** Nothing about variables is known any more. */
  forget(): void {
    for (const name of this.variables.keys()) this.variables.set(name, undefined);
    this.variables.set("IFS", undefined);
    this.positional = undefined;
  }

  /** What holds whichever of the two ways was taken. */
  merge(other: Environment): void {
    for (const name of [...this.variables.keys(), ...other.variables.keys()]) {
      if (this.variables.get(name) !== other.variables.get(name)) this.variables.set(name, undefined);
    }
    for (const [name, found] of other.functions) {
      if (this.functions.get(name)?.body !== found.body)
        this.functions.set(name, { ...found, certain: false });
    }
    for (const [name, found] of this.functions) {
      if (!other.functions.has(name)) this.functions.set(name, { ...found, certain: false });
    }
    for (const name of other.odd) this.odd.add(name);
    for (const [name, value] of other.aliases) this.aliases.set(name, value);
    if (this.positional !== other.positional) this.positional = undefined;
  }
}

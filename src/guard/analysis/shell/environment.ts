import type { Field } from "./fields.js";
import type { Command } from "./tree.js";

/** What is followed at most; more variables than this are unknown. */
const MAX_NAMES = 256;
const MAX_VALUE_LENGTH = 8192;
/** Variables that the shell sets by itself, whatever a text puts into them. */
const VOLATILE =
  /^(?:_|REPLY|OPTARG|OPTIND|MAPFILE|FUNCNAME|BASH.*|COPROC.*|DIRSTACK|EPOCH.*|GROUPS|LINENO|PIPESTATUS|RANDOM|SECONDS|SHELLOPTS|SRANDOM|COMP_.*|READLINE_.*|HISTCMD|E?UID|PPID|OLDPWD)$/;

export interface ShellFunction {
  readonly body: Command;
  /** False: only one of the ways through the text defines it. */
  readonly certain: boolean;
}

/** What a shell text has set so far. A variable that is missing or undefined is known only when it runs. */
export class Environment {
  readonly variables: Map<string, string | undefined>;
  readonly functions: Map<string, ShellFunction>;
  /** Every value that an alias was given: which of them holds depends on when a line is read. */
  readonly aliases: Map<string, readonly (string | undefined)[]>;
  /** `$1` and so on; undefined: not known. */
  positional: readonly Field[] | undefined;
  /** `$0`, where `sh -c` was given one. */
  zero: Field | undefined;
  /** Variables with an attribute that changes what is put into them: `declare -l`. */
  readonly odd: Set<string>;
  /** One variable may stand for another, so that none is followed any more. */
  lost: boolean;
  /** What `local` has hidden in the functions that are running. */
  readonly hidden: Map<string, string | undefined>[] = [];

  constructor(from?: Environment) {
    this.variables = new Map(from?.variables ?? [["IFS", " \t\n"]]);
    this.functions = new Map(from?.functions);
    this.aliases = new Map(from?.aliases);
    this.positional = from?.positional;
    this.zero = from?.zero;
    this.odd = new Set(from?.odd);
    this.lost = from?.lost ?? false;
  }

  /** How much a copy copies. */
  get size(): number {
    return 8 + this.variables.size + this.functions.size + this.aliases.size + this.odd.size;
  }

  /** A copy for a subshell or for one of several ways. */
  fork(): Environment {
    return new Environment(this);
  }

  get(name: string): string | undefined {
    return this.lost || VOLATILE.test(name) ? undefined : this.variables.get(name);
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

  /** False when there are more than are followed. */
  alias(name: string, value: string | undefined): boolean {
    const values = this.aliases.get(name) ?? [];
    if (values.includes(value)) return true;
    if (values.length >= 8 || this.aliases.size >= MAX_NAMES) return false;
    this.aliases.set(name, [...values, value]);
    return true;
  }

  /** Remembers that what is put into a variable is changed; with too many of them none is followed. */
  markOdd(name: string): void {
    if (this.odd.size >= MAX_NAMES) this.lost = true;
    else this.odd.add(name);
  }

  /** Remembers what `local` hides until the function returns. */
  hide(name: string): void {
    const frame = this.hidden.at(-1);
    if (frame !== undefined && !frame.has(name)) frame.set(name, this.get(name));
  }

  /** Nothing about variables is known any more. */
  forget(): void {
    for (const name of this.variables.keys()) this.variables.set(name, undefined);
    for (const frame of this.hidden) for (const name of frame.keys()) frame.set(name, undefined);
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
    for (const [name, values] of other.aliases) {
      const own = this.aliases.get(name) ?? [];
      if (own !== values) this.aliases.set(name, [...own, ...values.filter((value) => !own.includes(value))]);
    }
    this.lost ||= other.lost;
    if (this.positional !== other.positional) this.positional = undefined;
  }
}

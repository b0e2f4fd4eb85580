import type { WorkBudget } from "../../../kit/parser/index.js";
import { isSecretPath } from "../rules/path-rules.js";
import { marksOfOutput, variable } from "./environment.js";
import type { KnownFunction } from "./known-functions.js";
import { argument, type KnownCall } from "./process-start.js";
import type { Binding, Scopes } from "./scopes.js";
import {
  anyOf,
  concat,
  HOLE,
  MARKS,
  mark,
  marksOf,
  oneOf,
  text,
  UNKNOWN,
  unmark,
  type Value,
} from "./value.js";

const FOLDING_WORK = 40;
const MAX_DEPTH = 250;
const MAX_SUBSTITUTIONS = 8;
/** Characters of all folded texts together. */
const MAX_CHARACTERS = 2_000_000;
/** Foldings, of which a program without tricks needs one per node. */
const stepsFor = (size: number) => 100_000 + 2 * size;

/** Folds expressions to what is known about them, each once, within limits that hostile code cannot exceed. */
export abstract class Evaluator {
  private readonly known: (Value | undefined)[];
  private readonly names = new Map<string, Value>();
  private readonly busyNodes: Uint8Array;
  private readonly busyNames = new Set<string>();
  private readonly overrides: { name: string; value: Value }[] = [];
  private busy = 0;
  private depth = 0;
  private characters = 0;
  private steps: number;
  private circles = 0;
  private stopped = false;

  constructor(
    size: number,
    private readonly scopes: Scopes,
    private readonly work: WorkBudget,
  ) {
    this.known = new Array<Value | undefined>(size);
    this.busyNodes = new Uint8Array(size);
    this.steps = stepsFor(size);
  }

  /** What is known about an expression. */
  protected abstract fold(node: number): Value;
  /** What a definition is. */
  protected abstract definition(node: number): Value;

  /** Something was too deep or too much to be folded. */
  get gaveUp(): boolean {
    return this.stopped || this.scopes.overflowed;
  }

  /** Says that something was not folded because it is too much. */
  protected giveUp(): Value {
    this.stopped = true;
    return UNKNOWN;
  }

  private compute(node: number): Value {
    if (this.depth >= MAX_DEPTH || this.characters > MAX_CHARACTERS || this.steps <= 0) return this.giveUp();
    this.steps--;
    this.depth++;
    const value = this.fold(node);
    this.depth--;
    if ((value.marks & MARKS.lost) !== 0) this.stopped = true;
    let letters = 0;
    for (const text of value.texts) letters += text.length;
    this.characters += letters;
    this.work.spend(FOLDING_WORK + letters);
    return value;
  }

  /** Finds something out once. What depends on something that is still open is incomplete, and is not remembered. */
  protected remember<K, T>(map: Map<K, T>, key: K, find: () => T): T {
    if (this.overrides.length > 0) return find();
    const before = map.get(key);
    if (before !== undefined) return before;
    const circlesBefore = this.circles;
    const found = find();
    if (this.circles === circlesBefore || this.busy === 0) map.set(key, found);
    return found;
  }

  /** Finds a value out once; one that depends on itself is unknown while it is being found out. */
  evaluate(node: number): Value {
    if (node < 0) return UNKNOWN;
    const plain = this.overrides.length === 0;
    const before = plain ? this.known[node] : undefined;
    if (before !== undefined) return before;
    if (this.busyNodes[node] === 1) {
      this.circles++;
      return UNKNOWN;
    }
    this.busyNodes[node] = 1;
    this.busy++;
    const circlesBefore = this.circles;
    const found = this.compute(node);
    this.busyNodes[node] = 0;
    this.busy--;
    if (plain && (this.circles === circlesBefore || this.busy === 0)) this.known[node] = found;
    return found;
  }

  /** What something with these bindings may be; the key stands for it. */
  protected resolve(key: string, bindings: readonly Binding[]): Value {
    const before = this.overrides.length === 0 ? this.names.get(key) : undefined;
    if (before !== undefined) return before;
    if (this.busyNames.has(key)) {
      this.circles++;
      return UNKNOWN;
    }
    this.busyNames.add(key);
    this.busy++;
    const circlesBefore = this.circles;
    const of = (...ways: readonly Binding["how"][]) => bindings.filter(({ how }) => ways.includes(how));
    const values = (some: readonly Binding[]) => some.map((binding) => this.valueOfBinding(binding));
    const whole = oneOf(values(of("value", "element", "name", "function")));
    const found = changed(
      whole,
      values(of("append")),
      of("mark", "tail").map((one) => this.changeOf(one)),
    );
    this.busyNames.delete(key);
    this.busy--;
    if (this.overrides.length === 0 && (this.circles === circlesBefore || this.busy === 0))
      this.names.set(key, found);
    return found;
  }

  /** What is put into something changes it, or makes it longer. */
  private changeOf({ how, node }: Binding): number {
    return this.evaluate(node).marks | (how === "tail" ? MARKS.longer : MARKS.partial);
  }

  private valueOfBinding(binding: Binding): Value {
    switch (binding.how) {
      case "name":
        return binding.name ? { ...UNKNOWN, names: [binding.name] } : UNKNOWN;
      case "function":
        return this.definition(binding.node);
      case "element":
        return elementOf(this.evaluate(binding.node));
      default: {
        const value = this.evaluate(binding.node);
        // Of a pattern inside of a pattern, one member after the other.
        return (binding.name?.split("\0") ?? []).reduce((part, name) => this.partOf(part, name), value);
      }
    }
  }

  /** The part of a value that a pattern takes by a constant name. */
  protected partOf(value: Value, name: string): Value {
    return memberOf(value, name);
  }

  /** The value of a name as seen from a scope; undefined: the program never gives it one. */
  protected lookUp(scope: number, name: string): Value | undefined {
    const override = this.overrides.findLast((one) => one.name === name);
    if (override !== undefined) return override.value;
    const found = this.scopes.find(scope, name);
    return found === undefined ? undefined : this.resolve(`${found.scope} ${name}`, found.bindings);
  }

  /** Evaluates with a name standing for another value, as a comprehension does for each item. */
  protected evaluateWith(node: number, name: string, value: Value): Value {
    this.overrides.push({ name, value });
    const result = this.evaluate(node);
    this.overrides.pop();
    return result;
  }

  /** Evaluates what a function returns when it is called with these arguments. */
  protected evaluateCall(parameters: readonly string[], args: readonly Value[], find: () => Value): Value {
    const constant = args.some(
      ({ texts, numbers, items, names }) =>
        texts.length + numbers.length > 0 ||
        items !== undefined ||
        names.some((name) => name.startsWith("<def ")),
    );
    // Calls inside of calls are as many as there are ways through the program; a few levels tell enough.
    if (!constant || this.overrides.length + parameters.length > MAX_SUBSTITUTIONS) return find();
    const before = this.overrides.length;
    parameters.forEach((name, place) => {
      if (args[place] !== undefined) this.overrides.push({ name, value: args[place] });
    });
    const result = find();
    this.overrides.length = before;
    return result;
  }
}

/** A value with pieces put behind it and other things put into it. The order of these is not known. */
function changed(whole: Value, pieces: readonly Value[], changes: readonly number[]): Value {
  const marks = changes.reduce((all, one) => all | one, 0);
  if (pieces.length === 0) return marks === 0 ? whole : mark(whole, marks);
  const grown = pieces.reduce((sum, piece) => concat(sum, piece), whole);
  if (grown.items !== undefined) return mark(grown, marks | MARKS.longer);
  return mark(anyOf([grown, whole]), marks | MARKS.partial);
}

/** What one gets when going through a value. */
export function elementOf(value: Value): Value {
  if (value.items !== undefined) {
    // Going through a mapping gives its keys; which of both is meant, the name alone does not tell.
    const keys = (value.keys ?? []).map((key) => (key === undefined ? UNKNOWN : text(key)));
    const one = anyOf([...value.items, ...keys]);
    return { ...one, marks: one.marks | (value.marks & ~MARKS.built) };
  }
  const names = value.names.filter((name) => LISTED.test(name)).map((name) => `${name}[]`);
  return value.marks === 0 && names.length === 0 ? UNKNOWN : { ...UNKNOWN, names, marks: value.marks };
}

/** Lists whose items are worth a name: processes, what a service holds, and what a text gave. */
const LISTED =
  /^(?:.*\.__subclasses__|psutil\.process_iter|(?:boto3|google\.cloud|azure|kubernetes)\..{1,120}|eval|builtins\.eval|vm\.runIn\w+|.*(?:Function|constructor)\(\))\(\)$/;

/** What a text gave that ran as code: `eval("process")` may be anything. */
export const GIVEN_BY_TEXT =
  /^(?:eval|execScript|builtins\.(?:eval|exec)|vm\.runIn\w+|vm\.Script\(\)\.runIn\w+)\(\)|^(?:.*\.)?(?:\w*Function|constructor|compileFunction)\(\)\(\)/;

/** A member of a value, by a constant name. */
export function memberOf(value: Value, name: string): Value {
  if (value.names.some((all) => ENVIRONMENTS.has(all)) && !isMethod(name)) return variable(name);
  const own: Value[] = [];
  if (value.keys !== undefined && value.items !== undefined) {
    value.keys.forEach((key, index) => {
      if (key === name || key === undefined) own.push(value.items![index]!);
    });
  } else if (value.items !== undefined && /^\d{1,6}$/.test(name))
    own.push(value.items[Number(name)] ?? UNKNOWN);
  const names = value.names.filter((one) => one.length < MAX_NAME).map((one) => `${one}.${name}`);
  if (names.length > 0) own.push({ ...UNKNOWN, names });
  const rest = unmark(value, MARKS.built);
  const marks = value.items === undefined ? rest.marks : marksOf(own);
  const member = anyOf(own);
  return (member.marks | marks) === 0 ? member : { ...member, marks: member.marks | marks };
}

const ENVIRONMENTS: ReadonlySet<string> = new Set(["os.environ", "os.environb", "process.env"]);
/** Python's mapping has methods; a variable is written in capitals. */
function isMethod(name: string): boolean {
  return /^[a-z]/.test(name);
}

const MAX_NAME = 200;

/** Where the result of a call comes from. */
export function marksOfResult(
  known: KnownFunction,
  call: Pick<KnownCall, "args" | "keywords" | "receiver">,
): number {
  const opened = (known.paths ?? []).flatMap(([ref]) => argument(call, ref).texts);
  const marks = (known.returns ?? 0) | (opened.some(isSecretPath) ? MARKS.secret : 0);
  return known.starts === undefined ? marks : marks | marksOfOutput(commandOf(known, call));
}

/** The constant words of the command that a call starts, as one text. */
function commandOf(
  { starts }: KnownFunction,
  call: Pick<KnownCall, "args" | "keywords" | "receiver">,
): string {
  const first = argument(call, starts![1]);
  const words = first.items ?? [first, ...(call.args[1]?.items ?? [])];
  return words.map((word) => word.texts[0] ?? HOLE).join(" ");
}

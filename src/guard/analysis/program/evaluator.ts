import type { WorkBudget } from "../../../kit/parser/index.js";
import { isSecretPath } from "../risk/path-rules.js";
import { marksOfOutput, variable } from "./environment.js";
import type { KnownFunction } from "./known-functions.js";
import { argument, type KnownCall } from "./process-start.js";
import type { Binding, Scopes } from "./scopes.js";
import { anyOf, concat, HOLE, MARKS, mark, marksOf, oneOf, UNKNOWN, unmark, type Value } from "./value.js";

/** Folds expressions to what is known about them, each once, within limits that hostile code cannot exceed. */
export interface Evaluator {
  evaluate(node: number): Value;
  /** The value of a name as seen from a scope; undefined: the program never gives it one. */
  lookUp(scope: number, name: string): Value | undefined;
  /** What something with these bindings may be; the key stands for it. */
  resolve(key: string, bindings: readonly Binding[]): Value;
  /** Evaluates with a name standing for another value, as a comprehension does for each item. */
  evaluateWith(node: number, name: string, value: Value): Value;
  /** Evaluates what a function returns when it is called with these arguments. */
  evaluateCall(parameters: readonly string[], args: readonly Value[], find: () => Value): Value;
  /** Finds something out once, unless it is incomplete. */
  remember<K, T>(map: Map<K, T>, key: K, find: () => T): T;
  /** Says that something was not folded because it is too much. */
  giveUp(): Value;
  /** Something was too deep or too much to be folded. */
  readonly gaveUp: boolean;
}

const FOLDING_WORK = 40;
const MAX_DEPTH = 250;
const MAX_SUBSTITUTIONS = 8;
/** Characters of all folded texts together. */
const MAX_CHARACTERS = 2_000_000;
/** Foldings, of which a program without tricks needs one per node. */
const stepsFor = (size: number) => 100_000 + 2 * size;

export function createEvaluator(
  size: number,
  scopes: Scopes,
  fold: (node: number) => Value,
  ofFunction: (node: number) => Value,
  work: WorkBudget,
): Evaluator {
  const known = new Array<Value | undefined>(size);
  const names = new Map<string, Value>();
  const busyNodes = new Uint8Array(size);
  const busyNames = new Set<string>();
  let busy = 0;
  const overrides: { name: string; value: Value }[] = [];
  let depth = 0;
  let characters = 0;
  let steps = stepsFor(size);
  let circles = 0;
  let gaveUp = false;

  const compute = (node: number): Value => {
    if (depth >= MAX_DEPTH || characters > MAX_CHARACTERS || steps <= 0) {
      gaveUp = true;
      return UNKNOWN;
    }
    steps--;
    depth++;
    const value = fold(node);
    depth--;
    if ((value.marks & MARKS.lost) !== 0) gaveUp = true;
    let letters = 0;
    for (const text of value.texts) letters += text.length;
    characters += letters;
    work.spend(FOLDING_WORK + letters);
    return value;
  };

  /** What was found out while something it depends on was still open is incomplete, and is not remembered. */
  const remember = <K, T>(map: Map<K, T>, key: K, find: () => T): T => {
    if (overrides.length > 0) return find();
    const before = map.get(key);
    if (before !== undefined) return before;
    const circlesBefore = circles;
    const found = find();
    if (circles === circlesBefore || busy === 0) map.set(key, found);
    return found;
  };

  /** Finds a value out once; one that depends on itself is unknown while it is being found out. */
  const evaluate = (node: number): Value => {
    const plain = overrides.length === 0;
    const before = plain ? known[node] : undefined;
    if (before !== undefined) return before;
    if (busyNodes[node] === 1) {
      circles++;
      return UNKNOWN;
    }
    busyNodes[node] = 1;
    busy++;
    const circlesBefore = circles;
    const found = compute(node);
    busyNodes[node] = 0;
    busy--;
    if (plain && (circles === circlesBefore || busy === 0)) known[node] = found;
    return found;
  };

  const resolve = (key: string, bindings: readonly Binding[]): Value => {
    const before = overrides.length === 0 ? names.get(key) : undefined;
    if (before !== undefined) return before;
    if (busyNames.has(key)) {
      circles++;
      return UNKNOWN;
    }
    busyNames.add(key);
    busy++;
    const circlesBefore = circles;
    const of = (...ways: readonly Binding["how"][]) => bindings.filter(({ how }) => ways.includes(how));
    const whole = oneOf(of("value", "element", "name", "function").map(valueOfBinding));
    const found = changed(whole, of("append").map(valueOfBinding), of("mark", "tail").map(changeOf));
    busyNames.delete(key);
    busy--;
    if (overrides.length === 0 && (circles === circlesBefore || busy === 0)) names.set(key, found);
    return found;
  };

  /** What is put into something changes it, or makes it longer. */
  const changeOf = ({ how, node }: Binding): number =>
    evaluate(node).marks | (how === "tail" ? MARKS.longer : MARKS.partial);

  const valueOfBinding = (binding: Binding): Value => {
    switch (binding.how) {
      case "name":
        return binding.name ? { ...UNKNOWN, names: [binding.name] } : UNKNOWN;
      case "function":
        return ofFunction(binding.node);
      case "element":
        return elementOf(evaluate(binding.node));
      default: {
        const value = evaluate(binding.node);
        return binding.name === undefined ? value : memberOf(value, binding.name);
      }
    }
  };

  const evaluator: Evaluator = {
    evaluate,
    lookUp(scope, name) {
      for (let at = overrides.length - 1; at >= 0; at--) {
        if (overrides[at]!.name === name) return overrides[at]!.value;
      }
      const found = scopes.find(scope, name);
      return found === undefined ? undefined : resolve(`${found.scope} ${name}`, found.bindings);
    },
    resolve,
    evaluateWith(node, name, value) {
      overrides.push({ name, value });
      const result = evaluate(node);
      overrides.pop();
      return result;
    },
    evaluateCall(parameters, args, find) {
      const constant = args.some(
        ({ texts, numbers, items, names }) =>
          texts.length + numbers.length > 0 ||
          items !== undefined ||
          names.some((name) => name.startsWith("<def ")),
      );
      // Calls inside of calls are as many as there are ways through the program; a few levels tell enough.
      if (!constant || overrides.length + parameters.length > MAX_SUBSTITUTIONS) return find();
      const before = overrides.length;
      parameters.forEach((name, place) => {
        if (args[place] !== undefined) overrides.push({ name, value: args[place] });
      });
      const result = find();
      overrides.length = before;
      return result;
    },
    remember,
    giveUp() {
      gaveUp = true;
      return UNKNOWN;
    },
    get gaveUp() {
      return gaveUp || scopes.overflowed;
    },
  };
  return evaluator;
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
    const one = anyOf(value.items);
    return { ...one, marks: one.marks | (value.marks & ~MARKS.built) };
  }
  const names = value.names.filter((name) => LISTED.test(name)).map((name) => `${name}[]`);
  return value.marks === 0 && names.length === 0 ? UNKNOWN : { ...UNKNOWN, names, marks: value.marks };
}

/** Lists whose items are worth a name: processes, and what a service holds. */
const LISTED = /^(?:psutil\.process_iter|(?:boto3|google\.cloud|azure|kubernetes)\..{1,120})\(\)$/;

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

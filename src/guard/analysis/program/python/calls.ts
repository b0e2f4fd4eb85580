import { marksOfResult, memberOf } from "../evaluator.js";
import type { Arguments } from "../process-start.js";
import { type CallTarget, MAX_NAME, MAX_RETURNS, ProgramEvaluator } from "../program-evaluator.js";
import { anyOf, HOLE, list, MARKS, mark, marksOf, named, UNKNOWN, type Value } from "../value.js";
import { canonicalName, type PythonNames } from "./bindings.js";
import { FUNCTIONS, HOME_PATH, METHODS, moduleNamed, pathObject } from "./folding.js";
import { marked, markTree } from "./origins.js";

/** What a name gives that is known only when it runs. */
export const GIVEN = "builtins.eval()";
const PARTIAL = "<partial>";
const METHOD_CALLER = "operator.methodcaller()";
const MAX_PARTIAL = 4;

/** What Python's calls reach, and what they give. */
export abstract class PythonCalls extends ProgramEvaluator<PythonNames> {
  calleeOf(node: number): number {
    return this.tree.child(node, "function");
  }

  reached(found: Value, given: Arguments, depth = 0): CallTarget[] {
    const [first = UNKNOWN, ...bound] = found.items ?? [];
    return found.names.flatMap((name): CallTarget[] => {
      if (name === PARTIAL && depth < MAX_PARTIAL)
        return this.reached(first, { ...given, args: [...bound, ...given.args] }, depth + 1);
      if (name !== METHOD_CALLER) return [{ name, ...given }];
      const owner = given.args[0] ?? UNKNOWN;
      const members =
        first.texts.length === 0
          ? [this.unknownMember(owner)]
          : first.texts.map((one) => memberOf(owner, one));
      return members
        .flatMap((member) => member.names)
        .map((one) => ({ name: one, args: bound, keywords: given.keywords }));
    });
  }

  private memberNamed(owner: Value, name: string): Value {
    const member = memberOf(owner, name);
    return marked({ ...member, names: member.names.map(canonicalName) });
  }

  private memberBy(owner: Value, key: Value): Value {
    const members = key.texts.map((one) => this.memberNamed(owner, one));
    return anyOf(
      key.texts.length === 0 || key.texts.some((one) => one.includes(HOLE))
        ? [...members, this.unknownMember(owner)]
        : members,
    );
  }

  /** What a call of this name gives. */
  protected resultOf(
    name: string,
    node: number,
    args: readonly Value[],
    keywords: ReadonlyMap<string, Value>,
  ): Value | undefined {
    const member = this.memberResult(name, args);
    if (member === undefined && name.startsWith("<def ")) return this.returned(name, args);
    return (
      member ??
      this.builtinResult(name, node, args) ??
      this.foldedResult(name, node, args, keywords) ??
      this.unknownResult(name, node, args, keywords)
    );
  }

  /** A module's dictionary is the module: os.__dict__.get("system"). */
  private memberResult(name: string, args: readonly Value[]): Value | undefined {
    if (name.endsWith(".__getattribute__")) {
      // The class's own is given the object too.
      if (args.length > 1) return this.memberBy(args[0]!, args[1]!);
      return this.memberBy(named(name.slice(0, -".__getattribute__".length)), args[0] ?? UNKNOWN);
    }
    const dictionary = /^(.+)\.(?:get|pop|setdefault|__getitem__)$/.exec(name)?.[1];
    if (dictionary !== undefined && this.rules.canStart(dictionary) && this.rules.find(name) === undefined)
      return this.memberBy(named(dictionary), args[0] ?? UNKNOWN);
    const listing = /^(.+)\.(?:values|items)$/.exec(name)?.[1];
    if (listing === undefined || !this.rules.canStart(listing)) return undefined;
    return list([this.unknownMember(named(listing))]);
  }

  private builtinResult(name: string, node: number, args: readonly Value[]): Value | undefined {
    switch (name) {
      case "builtins.getattr":
      case "inspect.getattr_static":
        return anyOf([this.memberBy(args[0] ?? UNKNOWN, args[1] ?? UNKNOWN), args[2] ?? UNKNOWN]);
      case "pkgutil.resolve_name":
      case "pydoc.locate":
      case "pydoc.safeimport":
      case "django.utils.module_loading.import_string":
      case "werkzeug.utils.import_string": {
        const named = args[0]?.texts.filter((one) => !one.includes(HOLE)) ?? [];
        return named.length === 0
          ? { ...UNKNOWN, names: [GIVEN] }
          : { ...UNKNOWN, names: named.map((one) => canonicalName(one.replace(":", "."))) };
      }
      case "functools.partial":
      case "functools.partialmethod":
        return { ...named(PARTIAL), items: args, marks: marksOf(args) };
      case "operator.attrgetter":
      case "operator.itemgetter":
      case "operator.methodcaller":
        return { ...named(`${name}()`), items: args, marks: marksOf(args) };
      case "operator.attrgetter()":
      case "operator.itemgetter()": {
        const keys = this.evaluate(this.tree.child(node, "function")).items?.[0] ?? UNKNOWN;
        const owner = args[0] ?? UNKNOWN;
        const paths = keys.texts.map((path) =>
          path.split(".").reduce((sum, part) => this.memberNamed(sum, part), owner),
        );
        return anyOf(paths.length === 0 ? [this.unknownMember(owner)] : paths);
      }
      case "functools.reduce":
        // reduce(getattr, ["a", "b"], x) is x.a.b
        return args[0]?.names.includes("builtins.getattr") && args[2] !== undefined
          ? args[1]?.items?.slice(0, MAX_RETURNS).reduce((sum, key) => this.memberBy(sum, key), args[2])
          : undefined;
      case "builtins.__import__":
      case "importlib.import_module":
      case "importlib.__import__":
        return moduleNamed(args[0]);
      case "builtins.vars":
        return args.length === 0 ? named("vars()") : args[0];
      case "builtins.globals":
        return named("globals()");
      case "builtins.locals":
        return named("locals()");
      case "pathlib.Path":
      case "pathlib.PosixPath":
      case "pathlib.PurePath":
      case "pathlib.PurePosixPath":
        return pathObject(args);
      case "pathlib.Path.home":
        return HOME_PATH;
      case "pathlib.Path.cwd":
        return pathObject([]);
      case "builtins.type":
        return named("?.__class__");
      default:
        return undefined;
    }
  }

  private foldedResult(
    name: string,
    node: number,
    args: readonly Value[],
    keywords: ReadonlyMap<string, Value>,
  ): Value | undefined {
    const folded = FUNCTIONS.get(name)?.(args, keywords);
    if (folded !== undefined) return markTree(name, folded, args);
    // Methods of a path or of constants are folded by what they are called on.
    const method = name.startsWith("pathlib.Path().") ? METHODS.get(name.slice(15)) : undefined;
    if (method === undefined) return undefined;
    const self = this.evaluate(this.tree.child(this.tree.child(node, "function"), "object"));
    return markTree(name, method(self, args, keywords) ?? UNKNOWN, [self]);
  }

  private unknownResult(
    name: string,
    node: number,
    args: readonly Value[],
    keywords: ReadonlyMap<string, Value>,
  ): Value {
    const known = this.rules.find(name);
    // An answer is not what was sent.
    const taken = known?.sends === true ? 0 : marksOf(args) | marksOf([...keywords.values()]);
    const callee = this.tree.child(node, "function");
    const object = this.tree.kind(callee) === "attribute" ? this.tree.child(callee, "object") : -1;
    const own =
      known === undefined ? 0 : marksOfResult(known, { args, keywords, receiver: this.evaluate(object) });
    const marks = taken | own;
    const result = name.length < MAX_NAME ? named(`${name}()`) : UNKNOWN;
    return mark(result, marks & ~MARKS.built);
  }
}

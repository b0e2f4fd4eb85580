import type { WorkBudget } from "../../../kit/parser/index.js";
import { Evaluator } from "./evaluator.js";
import { type FlatTree, namedChildren, operatorOf } from "./flat-tree.js";
import type { FunctionTable } from "./known-functions.js";
import type { Arguments } from "./process-start.js";
import type { Scopes } from "./scopes.js";
import { anyOf, MARKS, mark, marksOf, named, oneOf, UNKNOWN, type Value } from "./value.js";

/** One function that a call may reach, with what it is then given. */
export interface CallTarget extends Arguments {
  readonly name: string;
}

/** What a program gives names to, collected before anything is looked up. */
export interface ProgramNames {
  readonly scopes: Scopes;
  scopeOf(node: number): number;
  /** Assignments to members of any object, by the member's name: one scope, 0. */
  readonly members: Scopes;
  /** Marks of how a list or mapping is changed, also through another name that stands for it. */
  changesOf(scope: number, name: string): number;
  /** Expressions that a function returns. */
  returnsOf(definition: number): readonly number[];
}

/** What a grammar calls the nodes that both languages fold alike. */
export interface EvaluatedSyntax {
  readonly operation: string;
  readonly spread: string;
  /** Builtin names that stay what they are, also where the program gives them a value. */
  readonly unmistakable: ReadonlySet<string>;
  identifierOf(source: string): string;
}

export const MAX_RETURNS = 8;
export const MAX_NAME = 200;
export const MAX_ARGUMENTS = 256;
const MAX_TERMS = 512;

/** Folds the expressions of a program; what both languages have in common. */
export abstract class ProgramEvaluator<Names extends ProgramNames = ProgramNames> extends Evaluator {
  private readonly given = new Map<number, Arguments>();

  constructor(
    protected readonly tree: FlatTree,
    protected readonly program: Names,
    protected readonly rules: FunctionTable,
    private readonly syntax: EvaluatedSyntax,
    work: WorkBudget,
  ) {
    super(tree.size, program.scopes, work);
  }

  /** The callee of a call; -1: none. */
  abstract calleeOf(call: number): number;
  /** What a value reaches when it is called with these arguments, also through wrappers such as `partial` or `apply`. */
  abstract reached(value: Value, given: Arguments): readonly CallTarget[];
  /** What a call of this name gives; undefined: nothing is known of it. */
  protected abstract resultOf(
    name: string,
    node: number,
    args: readonly Value[],
    keywords: ReadonlyMap<string, Value>,
  ): Value | undefined;
  protected abstract foldArguments(call: number): Arguments;
  protected abstract parametersOf(definition: number): readonly string[];
  /** A name that the program does not give a value to. */
  protected abstract free(name: string): Value;
  /** What is known about any value of this name, wherever it comes from. */
  protected abstract marked(value: Value): Value;
  protected abstract operated(operator: string, left: Value, right: Value): Value;

  argumentsOf(call: number): Arguments {
    return this.remember(this.given, call, () => this.foldArguments(call));
  }

  targetsOf(call: number): readonly CallTarget[] {
    return this.reached(this.evaluate(this.calleeOf(call)), this.argumentsOf(call));
  }

  /** What a value gives when it is called so, by a decorator or by a function that takes functions. */
  applied(found: Value, given: Arguments, node: number): Value {
    const targets = this.reached(found, given);
    return anyOf(
      targets.map(({ name, args, keywords }) => this.resultOf(name, node, args, keywords) ?? UNKNOWN),
    );
  }

  protected first(node: number): Value {
    return this.evaluate(namedChildren(this.tree, node)[0] ?? -1);
  }

  protected item(node: number): readonly Value[] {
    const value = this.evaluate(node);
    if (this.tree.kind(node) !== this.syntax.spread) return [value];
    return value.items ?? [{ ...UNKNOWN, marks: value.marks }];
  }

  protected identifier(node: number): Value {
    const name = this.syntax.identifierOf(this.tree.source(node));
    const scope = this.program.scopeOf(node);
    const value = this.lookUp(scope, name);
    if (value === undefined) return this.free(name);
    const found = this.program.scopes.find(scope, name);
    // What is put into something does not give a name its value: `Bun.write(…)`.
    if (found?.bindings.every(({ how }) => how === "append" || how === "mark" || how === "tail") === true) {
      const free = this.free(name);
      if (free !== UNKNOWN) return mark(free, value.marks);
    }
    const own = value.items === undefined ? value : mark(value, this.program.changesOf(scope, name));
    // `exec = exec` and `if 0: exec = print` change nothing: at the top such a name may always be the builtin one.
    const outermost = found?.scope === 0;
    return outermost && this.syntax.unmistakable.has(name) ? anyOf([this.free(name), own]) : this.marked(own);
  }

  protected assignedTo(name: string): Value {
    const found = this.program.members.find(0, name);
    // Another object's member may have the same name.
    return found === undefined ? UNKNOWN : mark(this.resolve(`.${name}`, found.bindings), MARKS.partial);
  }

  /** A long sum leans to the left: its terms are taken one by one, not by recursion. */
  protected binary(node: number): Value {
    const { tree } = this;
    const pending: { operator: string; right: number }[] = [];
    let left = node;
    while (left !== -1 && tree.kind(left) === this.syntax.operation) {
      // A visit of every part of a longer sum would cost the square of its length.
      if (pending.length >= MAX_TERMS) return this.giveUp();
      pending.push({ operator: operatorOf(tree, left), right: tree.child(left, "right") });
      left = tree.child(left, "left");
    }
    let value = this.evaluate(left);
    for (const { operator, right } of pending.reverse())
      value = this.operated(operator, value, this.evaluate(right));
    return value;
  }

  /** The results of everything that a call reaches. */
  protected resultsOf(node: number): Value[] {
    return this.targetsOf(node).flatMap(
      ({ name, args, keywords }) => this.resultOf(name, node, args, keywords) ?? [],
    );
  }

  /** What a function that is handed on makes flows into the result. */
  protected callbackMarks(args: readonly Value[]): number {
    const definitions = args.flatMap(({ names }) => names.filter((name) => name.startsWith("<def ")));
    return marksOf(
      definitions.slice(0, MAX_RETURNS).flatMap((name) => this.returnedBy(Number(name.slice(5, -1)))),
    );
  }

  private returnedBy(definition: number): Value[] {
    const returned = this.program.returnsOf(definition).slice(0, MAX_RETURNS);
    return returned.map((one) => this.evaluate(one));
  }

  /** What one of the program's own functions gives for these arguments. */
  protected returned(name: string, args: readonly Value[]): Value {
    const definition = Number(name.slice(5, -1));
    return this.evaluateCall(this.parametersOf(definition), args, () => oneOf(this.returnedBy(definition)));
  }

  /** A member by a name that is known only when it runs; of modules that matter. */
  protected unknownMember(owner: Value): Value {
    const members = owner.names.filter((name) => this.rules.canStart(name)).map((name) => `${name}.?`);
    return members.length === 0 ? UNKNOWN : named(...members);
  }
}

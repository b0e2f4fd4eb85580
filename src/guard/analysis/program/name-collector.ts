import { type FlatTree, namedChildren } from "./flat-tree.js";
import type { ProgramNames } from "./program-evaluator.js";
import { createScopes } from "./scopes.js";

export type How = "value" | "element" | "append";
export const MAX_PATTERN_DEPTH = 16;
export const MAX_PARAMETERS = 64;
const MAX_CHAINED = 64;
/** Hides a name further out without giving it a value. */
export const NOTHING = { how: "name", node: -1, name: "" } as const;

/** Goes through a program once and collects what it gives names to; what both languages have in common. */
export abstract class NameCollector implements ProgramNames {
  readonly scopes = createScopes();
  readonly members = createScopes();
  protected readonly scopeAt: Int32Array;
  /** Functions by the name that they are called by. */
  protected readonly functions = new Map<string, number[]>();
  /** The scope inside of a function. */
  protected readonly inner = new Map<number, number>();
  protected readonly calls: number[] = [];
  /** The scope of the node that is looked at. */
  protected scope = 0;
  protected readonly open: { end: number; scope: number }[] = [];
  private readonly returns = new Map<number, number[]>();
  private readonly definitions: { node: number; end: number }[] = [];

  constructor(protected readonly tree: FlatTree) {
    this.scopeAt = new Int32Array(tree.size);
  }

  protected abstract visit(node: number, kind: string): void;
  /** What is known only when everything has been seen. */
  protected abstract finish(): void;
  protected abstract name(node: number): string;

  collect(): this {
    const { tree, open, definitions } = this;
    for (let node = 0; node < tree.size; node++) {
      while (open.length > 0 && node >= open.at(-1)!.end) this.scope = open.pop()!.scope;
      while (definitions.length > 0 && node >= definitions.at(-1)!.end) definitions.pop();
      this.scopeAt[node] = this.scope;
      this.visit(node, tree.kind(node));
    }
    this.finish();
    return this;
  }

  scopeOf(node: number): number {
    return this.scopeAt[node]!;
  }

  returnsOf(definition: number): readonly number[] {
    return this.returns.get(definition) ?? [];
  }

  /** What follows is inside of a function or a class. */
  protected enter(node: number, isClass = false): void {
    const end = this.tree.after(node);
    this.open.push({ end, scope: this.scope });
    if (!isClass) this.definitions.push({ node, end });
    this.scope = this.scopes.open(this.scope, isClass);
    this.inner.set(node, this.scope);
  }

  /** The expression that the innermost function gives back here. */
  protected giveBack(value: number | undefined, definition = this.definitions.at(-1)?.node): void {
    if (value !== undefined && value !== -1 && definition !== undefined)
      push(this.returns, definition, value);
  }

  /** What is put into an object by one of its methods. */
  protected fill(call: number, object: number, given: readonly number[], how: "tail" | "mark"): void {
    if (this.tree.kind(object) !== "identifier") return;
    const home = this.scopes.find(this.scopeAt[call]!, this.name(object))?.scope ?? 0;
    for (const node of given) this.scopes.bind(home, this.name(object), { how, node });
  }

  /** a = b = c: what every target gets stands at the end. */
  protected valueAtEnd(node: number, kind: string): number {
    let value = node;
    for (let links = 0; value !== -1 && this.tree.kind(value) === kind && links < MAX_CHAINED; links++)
      value = this.tree.child(value, "right");
    return value;
  }

  /** The parameters of a function, so many of them at most. */
  protected parameterNodes(list: number): number[] {
    return list === -1 ? [] : namedChildren(this.tree, list).slice(0, MAX_PARAMETERS);
  }
}

export function push<K>(map: Map<K, number[]>, key: K, node: number): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [node]);
  else known.push(node);
}

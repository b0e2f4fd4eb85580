import { type FlatTree, namedChildren } from "./flat-tree.js";
import type { ProgramNames } from "./program-evaluator.js";
import { type Binding, createScopes } from "./scopes.js";
import { MARKS } from "./value.js";

export type How = "value" | "element" | "append";
export const MAX_PATTERN_DEPTH = 16;
const MAX_PARAMETERS = 64;
const MAX_CHAINED = 64;
const MAX_LINKED = 64;
const MAX_ESCAPED = 4096;
const MAX_RETURNED = 2;
/** Hides a name further out without giving it a value. */
export const NOTHING = { how: "name", node: -1, name: "" } as const;

/** Goes through a program once and collects what it gives names to; what both languages have in common. */
export abstract class NameCollector implements ProgramNames {
  readonly scopes = createScopes((scope, name, binding) => this.bound.push({ scope, name, ...binding }));
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
  private readonly bound: (Binding & { scope: number; name: string })[] = [];
  private readonly twins = new Twins();
  private readonly escaped: { scope: number; name: string }[] = [];
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
    const first = new Map<number, string>();
    for (const { scope, name, how, node } of this.bound) {
      const key = this.keyOf(scope, name);
      // a = b = []
      if (how === "value" && node >= 0) this.twins.join(first.get(node) ?? key, key);
      if (how === "value") first.set(node, key);
      if (how === "mark" || how === "append") this.twins.change(key, MARKS.partial);
      else if (how === "tail") this.twins.change(key, MARKS.longer);
      else if (how === "value" || how === "element") this.link(key, node, 0);
    }
    for (const { scope, name } of this.escaped) this.twins.change(this.keyOf(scope, name), MARKS.partial);
    return this;
  }

  changesOf(scope: number, name: string): number {
    return this.twins.changesOf(this.keyOf(scope, name));
  }

  private keyOf(scope: number, name: string): string {
    return `${this.scopes.find(scope, name)?.scope ?? 0} ${name}`;
  }

  /** A name that gets this value may stand for the same list as the names in it. */
  private link(key: string, node: number, depth: number): void {
    if (node < 0 || depth > MAX_RETURNED) return;
    const { tree } = this;
    const end = Math.min(tree.after(node), node + MAX_LINKED);
    for (let at = node; at < end; ) {
      const kind = tree.kind(at);
      if (kind === "identifier") this.twins.join(key, this.keyOf(this.scopeAt[at]!, this.name(at)));
      if (!/^(?:call|new_expression|call_expression|lambda)$|function/.test(kind)) {
        at++;
        continue;
      }
      // A function of the program's own may give back what it was given; others are known to make something new.
      const callee = tree.child(at, "function");
      if (callee !== -1)
        for (const definition of (this.functions.get(this.name(callee)) ?? []).slice(0, 4))
          for (const returned of this.returnsOf(definition)) this.link(key, returned, depth + 1);
      at = tree.after(at);
    }
  }

  /** The name at the beginning of a chain of members. */
  protected rootOf(node: number): number {
    let root = node;
    for (
      let links = 0;
      root !== -1 && this.tree.kind(root) !== "identifier" && links < MAX_CHAINED;
      links++
    ) {
      const object = this.tree.child(root, "object");
      root = object === -1 ? this.tree.child(root, "value") : object;
    }
    return root;
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

  /** A list or mapping that goes where it is not followed may be changed there. */
  protected escape(scope: number, node: number): void {
    if (node < 0 || this.escaped.length >= MAX_ESCAPED) return;
    const end = Math.min(this.tree.after(node), node + MAX_LINKED);
    for (let at = node; at < end; ) {
      const kind = this.tree.kind(at);
      if (kind === "identifier") this.escaped.push({ scope, name: this.name(at) });
      // What a member or another call gives is something else.
      at =
        /^(?:identifier|array|object|pair|list|tuple|dictionary|arguments|keyword_argument|\w*parenthesized\w*|spread_element|shorthand_\w+)$/.test(
          kind,
        )
          ? at + 1
          : this.tree.after(at);
    }
  }

  /** What is put into an object by one of its methods. */
  protected fill(scope: number, object: number, given: readonly number[], how: "tail" | "mark"): void {
    const root = this.rootOf(object);
    if (root === -1) return;
    const home = this.scopes.find(scope, this.name(root))?.scope ?? 0;
    for (const node of given.length === 0 ? [-1] : given)
      this.scopes.bind(home, this.name(root), { how, node });
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

/** Names that may stand for the same list or mapping, and how it is changed through any of them. */
class Twins {
  private readonly above = new Map<string, string>();
  private readonly changes = new Map<string, number>();

  private rootOf(key: string): string {
    let root = key;
    for (let next = this.above.get(root); next !== undefined; next = this.above.get(root)) {
      const further = this.above.get(next);
      if (further !== undefined) this.above.set(root, further);
      root = next;
    }
    return root;
  }

  join(one: string, other: string): void {
    const [a, b] = [this.rootOf(one), this.rootOf(other)];
    if (a === b) return;
    this.above.set(b, a);
    this.changes.set(a, this.changesOf(a) | (this.changes.get(b) ?? 0));
  }

  change(key: string, marks: number): void {
    const root = this.rootOf(key);
    this.changes.set(root, (this.changes.get(root) ?? 0) | marks);
  }

  changesOf(key: string): number {
    return this.changes.get(this.rootOf(key)) ?? 0;
  }
}

export function push<K>(map: Map<K, number[]>, key: K, node: number): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [node]);
  else known.push(node);
}

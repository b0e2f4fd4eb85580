/** One way a name gets its value. */
export interface Binding {
  /** value: of the node; element: an item of it; append: added to what it had; mark, tail: put into it, behind its end. */
  readonly how: "value" | "element" | "append" | "mark" | "tail" | "name" | "function";
  readonly node: number;
  /** For "name": what the name stands for, such as a module. For "value" of a pattern: the member taken. */
  readonly name?: string;
}

/** Names of a program by scope. Order of assignments does not count: a name may be anything it is ever given. */
export interface Scopes {
  /** The new scope's number; 0 is the outermost one, which exists. */
  open(parent: number, isClass?: boolean): number;
  bind(scope: number, name: string, binding: Binding): void;
  /** The bindings in the nearest scope that has any. */
  find(scope: number, name: string): { scope: number; bindings: readonly Binding[] } | undefined;
  /** There was more than is looked at. */
  readonly overflowed: boolean;
}

/** More ways than this to get a value are not looked at. */
const MAX_BINDINGS = 64;
/** From deeper inside, only the outermost names are seen. */
const MAX_LEVELS = 64;

export function createScopes(
  onBind: (scope: number, name: string, binding: Binding) => void = () => {},
): Scopes {
  const parents = [-1];
  const names: Map<string, Binding[]>[] = [new Map()];
  /** What a class gives names to is not seen from inside of its functions. */
  const classes = new Set<number>();
  let overflowed = false;
  return {
    get overflowed() {
      return overflowed;
    },
    open(parent, isClass = false) {
      parents.push(parent);
      if (isClass) classes.add(names.length);
      return names.push(new Map()) - 1;
    },
    bind(scope, name, binding) {
      onBind(scope, name, binding);
      const known = names[scope]!.get(name);
      if (known === undefined) names[scope]!.set(name, [binding]);
      else if (known.length < MAX_BINDINGS) known.push(binding);
      else overflowed = true;
    },
    find(scope, name) {
      let levels = 0;
      for (let at = scope; at !== -1; at = levels++ < MAX_LEVELS ? parents[at]! : at === 0 ? -1 : 0) {
        const bindings = at !== scope && classes.has(at) ? undefined : names[at]!.get(name);
        if (bindings !== undefined) return { scope: at, bindings };
      }
      return undefined;
    },
  };
}

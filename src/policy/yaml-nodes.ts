import { createRequire } from "node:module";
import type { Document, Node as YamlNode } from "yaml";

/** The largest policy that is read. */
export const MAX_POLICY_BYTES = 1024 * 1024;
/** A file that refers to one anchor more often than this is an attack, not a policy. */
const MAX_ALIASES = 50;
const MAX_NODES = 20_000;
const MAX_DEPTH = 16;

export interface Place {
  /** 1-based. */
  readonly line: number;
  readonly column: number;
}

/** A value of the file with its place. */
export type PolicyNode = { readonly place: Place } & (
  | {
      readonly kind: "map";
      readonly entries: readonly {
        readonly key: string;
        readonly place: Place;
        readonly value: PolicyNode;
      }[];
    }
  | { readonly kind: "list"; readonly items: readonly PolicyNode[] }
  | { readonly kind: "scalar"; readonly value: string | number | boolean | null }
);

export interface YamlProblem {
  readonly place: Place;
  readonly message: string;
}

type Library = typeof import("yaml");

const require = createRequire(import.meta.url);
/** Loaded with the first policy: it takes longer to load than most commands take to run. */
let library: Library | undefined;

/** Reads YAML without tags, with few aliases and unique keys; resolves to its root, or to what is wrong. */
export function readYaml(text: string): {
  readonly root: PolicyNode | undefined;
  readonly problems: readonly YamlProblem[];
} {
  const start: Place = { line: 1, column: 1 };
  if (Buffer.byteLength(text) > MAX_POLICY_BYTES) {
    return { root: undefined, problems: [{ place: start, message: "larger than 1 MiB" }] };
  }
  library ??= require("yaml") as Library;
  const counter = new library.LineCounter();
  const placeOf = (offset: number): Place => {
    const { line, col } = counter.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  try {
    const document = library.parseDocument(text, {
      schema: "core",
      resolveKnownTags: false,
      prettyErrors: false,
      logLevel: "error",
      stringKeys: true,
      lineCounter: counter,
    });
    // An unknown tag is only a warning for the library.
    const wrong = [...document.errors, ...document.warnings];
    if (wrong.length > 0) {
      const problems = wrong.map(({ message, pos }) => ({
        place: placeOf(pos[0]),
        message: `not valid YAML: ${firstLine(message)}`,
      }));
      return { root: undefined, problems };
    }
    const converter = new Converter(library, document, placeOf);
    const root = document.contents === null ? undefined : converter.convert(document.contents as YamlNode, 0);
    return { root, problems: converter.problems };
  } catch (error) {
    // Nesting that is too deep for the library's own recursion, for one.
    const message = error instanceof Error ? firstLine(error.message) : "it cannot be read";
    return { root: undefined, problems: [{ place: start, message: `not valid YAML: ${message}` }] };
  }
}

function firstLine(text: string): string {
  return text.split("\n")[0]!.slice(0, 200);
}

/** Copies the library's tree: aliases put in, everything counted. */
class Converter {
  readonly problems: YamlProblem[] = [];
  private nodes = 0;
  private aliases = 0;

  constructor(
    private readonly library: Library,
    private readonly document: Document,
    private readonly placeOf: (offset: number) => Place,
  ) {}

  convert(node: YamlNode | null | undefined, depth: number): PolicyNode {
    const { library } = this;
    const place = this.placeOf(node?.range?.[0] ?? 0);
    this.nodes += 1;
    if (this.nodes > MAX_NODES) return this.refuse(place, `more than ${MAX_NODES} values`);
    if (depth > MAX_DEPTH) return this.refuse(place, `nested deeper than ${MAX_DEPTH} levels`);
    if (library.isAlias(node)) return this.convertAlias(node, place, depth);
    if (library.isMap(node)) {
      const entries = node.items.map(({ key, value }) => ({
        key: library.isScalar(key) ? String(key.value) : "",
        place: this.placeOf(library.isNode(key) ? (key.range?.[0] ?? 0) : 0),
        value: library.isNode(value) ? this.convert(value, depth + 1) : emptyAt(place),
      }));
      return { kind: "map", place, entries };
    }
    if (library.isSeq(node)) {
      return {
        kind: "list",
        place,
        items: node.items.map((item) =>
          library.isNode(item) ? this.convert(item, depth + 1) : emptyAt(place),
        ),
      };
    }
    const value: unknown = library.isScalar(node) ? node.value : null;
    const plain = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
    return { kind: "scalar", place, value: plain ? value : null };
  }

  private convertAlias(node: Extract<YamlNode, { source: string }>, place: Place, depth: number): PolicyNode {
    this.aliases += 1;
    if (this.aliases > MAX_ALIASES) return this.refuse(place, `more than ${MAX_ALIASES} aliases`);
    const target = node.resolve(this.document);
    return target === undefined
      ? this.refuse(place, "an alias without an anchor")
      : this.convert(target, depth + 1);
  }

  private refuse(place: Place, message: string): PolicyNode {
    if (!this.problems.some((problem) => problem.message === message)) this.problems.push({ place, message });
    return emptyAt(place);
  }
}

function emptyAt(place: Place): PolicyNode {
  return { kind: "scalar", place, value: null };
}

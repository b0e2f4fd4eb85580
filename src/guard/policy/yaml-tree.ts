import { createRequire } from "node:module";
import type { Document, LineCounter, Node, ParsedNode, YAMLMap, YAMLSeq } from "yaml";
import type { PolicyProblem, RuleReference } from "./policy.js";

const require = createRequire(import.meta.url);
/** More are not kept: a hostile file may have as many as it has lines. */
const MAX_PROBLEMS = 200;

/** A parsed file that still knows where everything stands. Collects what is wrong with it. */
export class YamlTree {
  readonly problems: PolicyProblem[] = [];
  readonly #yaml: typeof import("yaml");
  readonly #lines: LineCounter;
  readonly #source: string;
  readonly root: Node | null;

  constructor(text: string, source: string) {
    // The library is loaded when there is a policy to read, not with everything else.
    this.#yaml = require("yaml") as typeof import("yaml");
    this.#lines = new this.#yaml.LineCounter();
    this.#source = source;
    this.root = this.#parse(text);
  }

  #parse(text: string): Node | null {
    try {
      const document: Document.Parsed = this.#yaml.parseDocument(text, {
        schema: "core",
        resolveKnownTags: false,
        prettyErrors: false,
        logLevel: "error",
        stringKeys: true,
        // The library compares each key with every other; ours looks it up.
        uniqueKeys: false,
        lineCounter: this.#lines,
      });
      // An unknown tag is only a warning for the library.
      for (const problem of [...document.errors, ...document.warnings].slice(0, 20)) {
        this.#add(problem.pos[0], "", `not valid YAML: ${problem.message}`);
      }
      this.#refuseAliasesAndTwins(document);
      return this.problems.length > 0 ? null : document.contents;
    } catch (error) {
      this.#add(0, "", `not valid YAML: ${error instanceof Error ? error.message : String(error)}`);
      return null;
    }
  }

  /** People read policies: a value is written where it applies. */
  #refuseAliasesAndTwins(document: Document.Parsed): void {
    const yaml = this.#yaml;
    yaml.visit(document, {
      Alias: (_, node) => {
        this.complain(node, "", "an alias (*name) is not allowed", "Write the value out.");
        return yaml.visit.BREAK;
      },
      Map: (_, { items }) => {
        const seen = new Set<unknown>();
        for (const { key } of items) {
          const name = yaml.isScalar(key) ? key.value : undefined;
          if (seen.has(name))
            this.complain(key, "", `not valid YAML: the key ${String(name)} stands here twice`);
          seen.add(name);
        }
      },
    });
  }

  /** The entries of a map, keys as they were written. Anything else is a problem, and has none. */
  entries(
    node: unknown,
    path: string,
  ): { readonly key: string; readonly at: Node; readonly value: Node | null }[] {
    if (!this.#yaml.isMap(node)) {
      this.complain(node, path, "expected a block of keys");
      return [];
    }
    return (node as YAMLMap<ParsedNode, ParsedNode | null>).items.map(({ key, value }) => ({
      key: this.#yaml.isScalar(key) ? String(key.value) : "",
      at: key,
      value: value ?? null,
    }));
  }

  /** The items of a list; undefined, with a problem, for anything else. */
  items(node: unknown, path: string): readonly Node[] | undefined {
    if (this.#yaml.isSeq(node)) return (node as YAMLSeq<Node>).items;
    this.complain(node, path, "expected a list");
    return undefined;
  }

  isMap(node: unknown): boolean {
    return this.#yaml.isMap(node);
  }

  isList(node: unknown): boolean {
    return this.#yaml.isSeq(node);
  }

  isNothing(node: unknown): boolean {
    return node === null || (this.#yaml.isScalar(node) && node.value === null);
  }

  /** The value of a scalar; undefined for a block or a list. */
  scalar(node: unknown): unknown {
    return this.#yaml.isScalar(node) ? node.value : undefined;
  }

  reference(node: unknown, path: string): RuleReference {
    const offset = this.#yaml.isNode(node) ? (node.range?.[0] ?? 0) : 0;
    const { line, col } = this.#lines.linePos(offset);
    return { path, source: this.#source, line: Math.max(line, 1), column: Math.max(col, 1) };
  }

  complain(node: unknown, path: string, message: string, hint?: string): void {
    if (this.problems.length >= MAX_PROBLEMS) return;
    const { line, column } = this.reference(node, path);
    this.problems.push({ line, column, path, message, ...(hint !== undefined && { hint }) });
  }

  #add(offset: number, path: string, message: string): void {
    const { line, col } = this.#lines.linePos(offset);
    this.problems.push({ line: Math.max(line, 1), column: Math.max(col, 1), path, message });
  }
}

import { nearest, parseDurationMs, parseSizeBytes } from "../config/index.js";
import { SandboxError } from "../errors.js";
import { visible } from "../visible.js";
import type { PolicyProblem } from "./problem.js";
import type { RuleList, RuleReference, Setting } from "./rule.js";
import type { Place, PolicyNode } from "./yaml-nodes.js";

const MAX_PROBLEMS = 200;
const MAX_ITEMS = 2_000;

export type MapNode = Extract<PolicyNode, { kind: "map" }>;
/** Reads one value; undefined after it has said what is wrong. */
export type Read<T> = (reader: Reader, node: PolicyNode, path: string) => T | undefined;

/** Gathers every problem of a file while it is read. */
export class Reader {
  readonly problems: PolicyProblem[] = [];
  private readonly lines: readonly string[];

  constructor(
    readonly source: string,
    text: string,
  ) {
    this.lines = text.split("\n");
  }

  problem(place: Place, path: string, message: string, hint?: string): undefined {
    if (this.problems.length >= MAX_PROBLEMS) return undefined;
    this.problems.push({ ...place, path, message, ...(hint !== undefined && { hint }) });
    return undefined;
  }

  rule(place: Place, path: string): RuleReference {
    const text = (this.lines[place.line - 1] ?? "").trim().slice(0, 120);
    return { path, source: this.source, ...place, text };
  }

  map(node: PolicyNode, path: string): MapNode | undefined {
    if (node.kind === "map") return node;
    return this.problem(node.place, path, `a block of keys was expected, not ${describe(node)}`);
  }

  /** Refuses keys that are not known, with the nearest one that is. */
  unknownKey(place: Place, path: string, key: string, known: Iterable<string>, what = "key"): void {
    const candidates = [...known];
    const near = nearest(key, candidates);
    const hint = near === undefined ? `Known: ${candidates.join(", ")}.` : undefined;
    this.problem(
      place,
      path,
      `unknown ${what} "${visible(key)}"${near === undefined ? "" : `; did you mean "${near}"?`}`,
      hint,
    );
  }

  setting<T>(node: PolicyNode, place: Place, path: string, read: Read<T>): Setting<T> | undefined {
    const value = read(this, node, path);
    return value === undefined ? undefined : { value, rule: this.rule(place, path) };
  }

  list<T>(node: PolicyNode, place: Place, path: string, read: Read<T>): RuleList<T> | undefined {
    if (node.kind !== "list")
      return this.problem(node.place, path, `a list was expected, not ${describe(node)}`);
    if (node.items.length > MAX_ITEMS)
      return this.problem(node.place, path, `more than ${MAX_ITEMS} entries`);
    const items = node.items.flatMap(
      (item, index) => this.setting(item, item.place, `${path}[${index}]`, read) ?? [],
    );
    return { rule: this.rule(place, path), items };
  }
}

/** What stands there, for a message. */
export function describe(node: PolicyNode): string {
  if (node.kind === "map") return "a block of keys";
  if (node.kind === "list") return "a list";
  return node.value === null ? "nothing" : visible(JSON.stringify(node.value).slice(0, 60));
}

export const readBoolean: Read<boolean> = (reader, node, path) => {
  if (node.kind === "scalar" && typeof node.value === "boolean") return node.value;
  return reader.problem(node.place, path, `true or false was expected, not ${describe(node)}`);
};

export const readText: Read<string> = (reader, node, path) => {
  if (node.kind === "scalar" && typeof node.value === "string") return node.value;
  const hint = node.kind === "scalar" && node.value !== null ? "Put it in quotes." : undefined;
  return reader.problem(node.place, path, `a text was expected, not ${describe(node)}`, hint);
};

/** One of a few words. */
export function readChoice<T extends string>(choices: readonly T[]): Read<T> {
  return (reader, node, path) => {
    const value = node.kind === "scalar" ? node.value : undefined;
    const found = choices.find((choice) => choice === value);
    if (found !== undefined) return found;
    const near = typeof value === "string" ? nearest(value, choices) : undefined;
    const suggestion = near === undefined ? "" : `; did you mean "${near}"?`;
    return reader.problem(
      node.place,
      path,
      `${choices.join(", ")} was expected, not ${describe(node)}${suggestion}`,
    );
  };
}

/** A number of at least `least` and at most `most`. */
export function readNumber(least: number, most: number, whole: boolean): Read<number> {
  return (reader, node, path) => {
    const value = node.kind === "scalar" ? node.value : undefined;
    const kind = whole ? "a whole number" : "a number";
    if (typeof value !== "number" || !Number.isFinite(value) || (whole && !Number.isInteger(value))) {
      return reader.problem(node.place, path, `${kind} was expected, not ${describe(node)}`);
    }
    if (value >= least && value <= most) return value;
    return reader.problem(node.place, path, `${kind} from ${least} to ${most} was expected, not ${value}`);
  };
}

/** A duration or a size with its unit; `of` turns it into ours. */
function readQuantity(parse: (value: string | number) => number): Read<number> {
  return (reader, node, path) => {
    const value = node.kind === "scalar" ? node.value : undefined;
    if (typeof value !== "string" && typeof value !== "number") {
      return reader.problem(node.place, path, `a number with a unit was expected, not ${describe(node)}`);
    }
    return attempt(reader, node, path, () => parse(value));
  };
}

export const readDurationMs: Read<number> = readQuantity(parseDurationMs);
export const readSizeBytes: Read<number> = readQuantity(parseSizeBytes);

/** A text that is compiled into something else. */
export function readCompiled<T>(what: string, compile: (text: string) => T): Read<T> {
  return (reader, node, path) => {
    const text = readText(reader, node, path);
    if (text === undefined) return undefined;
    return attempt(
      reader,
      node,
      path,
      () => compile(text),
      `"${visible(text.slice(0, 60))}" is not ${what}: `,
    );
  };
}

function attempt<T>(
  reader: Reader,
  node: PolicyNode,
  path: string,
  make: () => T,
  before = "",
): T | undefined {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    return reader.problem(node.place, path, before + error.message, error.hint);
  }
}

import type { Match } from "../rules/findings.js";
import type { FlatTree } from "./flat-tree.js";

/** What a language's loops look like. */
export interface LoopSyntax {
  isLoop(kind: string): boolean;
  isFunction(kind: string): boolean;
  /** Does this node end its loop, or wait for input, so that the loop is a service and not a bomb? */
  isExit(node: number): boolean;
  /** Does this node make something bigger? */
  isGrowth(node: number): boolean;
  /** Would the loop go on for ever, or nearly so, if nothing in it ended it? */
  neverStops(loop: number): boolean;
  /** It counts up to a number, however big: it may make things bigger. */
  isCounted(loop: number): boolean;
}

const MAX_UP = 64;
const MODULE = -1;

/** The nodes of each function, by the function, and the function of each node. */
interface NodeLists {
  readonly exits: ReadonlyMap<number, readonly number[]>;
  readonly growths: ReadonlyMap<number, readonly number[]>;
  readonly owners: Int32Array;
}

/**
 * Which loops nothing ends. Every question is answered from lists made once: loops inside of loops must not cost their
 * depth squared.
 */
export class Loops {
  readonly #tree: FlatTree;
  readonly #syntax: LoopSyntax;
  readonly #verdicts = new Map<number, boolean>();
  #lists: NodeLists | undefined;

  constructor(tree: FlatTree, syntax: LoopSyntax) {
    this.#tree = tree;
    this.#syntax = syntax;
  }

  /** The node is in a loop without an end. */
  isEndless(node: number): boolean {
    let up = 0;
    for (let at = this.#tree.parent(node); at !== -1 && up < MAX_UP; at = this.#tree.parent(at), up++) {
      const kind = this.#tree.kind(at);
      if (this.#syntax.isLoop(kind) && this.#isEndlessLoop(at)) return true;
      if (this.#syntax.isFunction(kind)) return this.#callsItself(at);
    }
    return false;
  }

  /** What a loop without an end does to the machine. */
  growth(loop: number): Match | undefined {
    if (this.#syntax.isCounted(loop) || !this.#isEndlessLoop(loop)) return undefined;
    return this.#has("growths", loop) ? ENDLESS_GROWTH : ENDLESS_LOOP;
  }

  #isEndlessLoop(loop: number): boolean {
    return this.#decide(loop, () => this.#syntax.neverStops(loop) && !this.#has("exits", loop));
  }

  /** A function that starts itself again whatever happens is a loop. */
  #callsItself(definition: number): boolean {
    const tree = this.#tree;
    return this.#decide(definition, () => {
      const title = tree.source(tree.child(definition, "name"));
      const body = tree.child(definition, "body");
      if (title === "" || this.#has("exits", body)) return false;
      for (let node = body; node < tree.after(definition); node++) {
        const isCall = tree.kind(node) === "identifier" && tree.source(node) === title;
        if (isCall && this.#isCertain(node, definition)) return true;
      }
      return false;
    });
  }

  #decide(node: number, find: () => boolean): boolean {
    const verdict = this.#verdicts.get(node) ?? find();
    this.#verdicts.set(node, verdict);
    return verdict;
  }

  /** Nothing but calls stands around it: neither a condition nor a timer. */
  #isCertain(node: number, definition: number): boolean {
    const tree = this.#tree;
    for (let at = tree.parent(node), up = 0; at !== definition; at = tree.parent(at), up++) {
      if (up > MAX_UP || at === -1 || CONDITION.test(tree.kind(at))) return false;
      if (/^call/.test(tree.kind(at)) && TIMER.test(tree.source(at))) return false;
    }
    return true;
  }

  #has(which: "exits" | "growths", loop: number): boolean {
    this.#lists ??= this.#collect();
    const nodes = this.#lists[which].get(this.#lists.owners[loop]!) ?? [];
    const next = nodes[firstAfter(nodes, loop)];
    return next !== undefined && next < this.#tree.after(loop);
  }

  #collect(): NodeLists {
    const exits = new Map<number, number[]>();
    const growths = new Map<number, number[]>();
    const owners = new Int32Array(this.#tree.size);
    const open: number[] = [];
    for (let node = 0; node < this.#tree.size; node++) {
      while (open.length > 0 && node >= this.#tree.after(open.at(-1)!)) open.pop();
      const owner = open.at(-1) ?? MODULE;
      owners[node] = owner;
      if (this.#syntax.isExit(node)) push(exits, owner, node);
      else if (this.#syntax.isGrowth(node)) push(growths, owner, node);
      if (this.#syntax.isFunction(this.#tree.kind(node))) open.push(node);
    }
    return { exits, growths, owners };
  }
}

const CONDITION = /^(?:if|for|while|try|conditional|ternary|switch|match|lambda|arrow)/;
const TIMER = /^(?:setTimeout|setInterval|(?:threading\.)?Timer|\w+\.after)\b/;

/** s += s, s = s + s */
export function doubles(tree: FlatTree, node: number): boolean {
  const [left, right] = [tree.child(node, "left"), tree.child(node, "right")];
  if (left === -1 || right === -1 || !/identifier/.test(tree.kind(left))) return false;
  const name = tree.source(left);
  const value = tree.source(right).replace(/\s/g, "");
  return value === `${name}+${name}` || (tree.kind(node).startsWith("augmented") && value === name);
}

function push(map: Map<number, number[]>, key: number, node: number): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [node]);
  else known.push(node);
}

/** The place of the first node behind this one, in a sorted list. */
function firstAfter(nodes: readonly number[], node: number): number {
  let low = 0;
  let high = nodes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (nodes[middle]! > node) high = middle;
    else low = middle + 1;
  }
  return low;
}

const ENDLESS_GROWTH: Match = {
  rule: "endless-growth",
  level: "high",
  why: "Takes more and more memory or space in a loop without an end.",
};
const ENDLESS_LOOP: Match = { rule: "endless-loop", level: "low", why: "A loop without an end." };

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

/** Which loops nothing ends. */
export interface Loops {
  /** The node is in a loop without an end. */
  isEndless(node: number): boolean;
  /** What a loop without an end does to the machine. */
  growth(loop: number): Match | undefined;
}

const MAX_UP = 64;
const MODULE = -1;

/** Every question is answered from lists made once: loops inside of loops must not cost their depth squared. */
export function createLoops(tree: FlatTree, syntax: LoopSyntax): Loops {
  const verdicts = new Map<number, boolean>();
  let lists: { exits: Map<number, number[]>; growths: Map<number, number[]>; owners: Int32Array } | undefined;

  const collect = () => {
    const exits = new Map<number, number[]>();
    const growths = new Map<number, number[]>();
    const owners = new Int32Array(tree.size);
    const open: number[] = [];
    for (let node = 0; node < tree.size; node++) {
      while (open.length > 0 && node >= tree.after(open.at(-1)!)) open.pop();
      const owner = open.at(-1) ?? MODULE;
      owners[node] = owner;
      if (syntax.isExit(node)) push(exits, owner, node);
      else if (syntax.isGrowth(node)) push(growths, owner, node);
      if (syntax.isFunction(tree.kind(node))) open.push(node);
    }
    return { exits, growths, owners };
  };

  const has = (which: "exits" | "growths", loop: number): boolean => {
    lists ??= collect();
    const nodes = lists[which].get(lists.owners[loop]!) ?? [];
    const next = nodes[firstAfter(nodes, loop)];
    return next !== undefined && next < tree.after(loop);
  };

  const isEndlessLoop = (loop: number): boolean => {
    const known = verdicts.get(loop);
    if (known !== undefined) return known;
    const verdict = syntax.neverStops(loop) && !has("exits", loop);
    verdicts.set(loop, verdict);
    return verdict;
  };

  /** A function that starts itself again whatever happens is a loop. */
  const callsItself = (definition: number): boolean => {
    const known = verdicts.get(definition);
    if (known !== undefined) return known;
    const title = tree.source(tree.child(definition, "name"));
    let found = false;
    if (title !== "" && !has("exits", tree.child(definition, "body")))
      for (let node = tree.child(definition, "body"); node < tree.after(definition) && !found; node++)
        found =
          tree.kind(node) === "identifier" && tree.source(node) === title && isCertain(node, definition);
    verdicts.set(definition, found);
    return found;
  };

  /** Nothing but calls stands around it: neither a condition nor a timer. */
  const isCertain = (node: number, definition: number): boolean => {
    for (let at = tree.parent(node), up = 0; at !== definition; at = tree.parent(at), up++) {
      if (
        up > MAX_UP ||
        at === -1 ||
        /^(?:if|for|while|try|conditional|ternary|switch|match|lambda|arrow)/.test(tree.kind(at))
      )
        return false;
      if (
        /^call/.test(tree.kind(at)) &&
        /^(?:setTimeout|setInterval|(?:threading\.)?Timer|\w+\.after)\b/.test(tree.source(at))
      )
        return false;
    }
    return true;
  };

  return {
    isEndless(node) {
      let up = 0;
      for (let at = tree.parent(node); at !== -1 && up < MAX_UP; at = tree.parent(at), up++) {
        const kind = tree.kind(at);
        if (syntax.isLoop(kind) && isEndlessLoop(at)) return true;
        if (syntax.isFunction(kind)) return callsItself(at);
      }
      return false;
    },
    growth(loop) {
      if (syntax.isCounted(loop) || !isEndlessLoop(loop)) return undefined;
      return has("growths", loop) ? ENDLESS_GROWTH : ENDLESS_LOOP;
    },
  };
}

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

import type { FlatTree } from "./flat-tree.js";
import { type ArgumentRef, SELF } from "./known-functions.js";
import { argument, isWriting, type KnownCall, type WrittenFile } from "./process-start.js";
import { certainText, HOLE, UNKNOWN, type Value } from "./value.js";

/** A file that a call writes; of an opened one the text comes later. */
export type FileOfCall = WrittenFile & { readonly opened?: boolean };

/** The files that a call writes or gives another name. */
export function filesOf(call: KnownCall): FileOfCall[] {
  const { known, name } = call;
  const [first, second] = known.paths ?? [];
  if (known.rule !== "file" || first === undefined) return [];
  const texts = (ref: ArgumentRef) => argument(call, ref).texts.filter((path) => !path.includes(HOLE));
  if (second !== undefined) {
    const isLink = first[0] === SELF && !/re(?:name|place)$/.test(name);
    const [from, to] = isLink ? [second[0], first[0]] : [first[0], second[0]];
    return texts(from).flatMap((copyOf) => texts(to).map((path) => ({ path, copyOf })));
  }
  if (!isWriting(call) && (known.mode !== undefined || first[1] !== "write")) return [];
  const at = first[0] === SELF ? 0 : 1;
  const body = Array.isArray(first[0]) && first[0][0] !== 0 ? UNKNOWN : argument(call, [at, "data"]);
  const file = { text: certainText(body), appends: /append/.test(name), opened: known.mode !== undefined };
  return texts(first[0]).map((path) => ({ path, ...file }));
}

const MAX_TEXTS = 64;
const MAX_COMMAND = 1000;
/** A program that does harm with what follows. */
const COMMAND_TEXT =
  /^\s*(?:sudo\s+)?(?:\/usr)?(?:\/bin\/)?(?:rm|curl|wget|nc|ncat|bash|sh|dd|mkfs\S*|chmod|chown|crontab|shred|scp|ssh)\s+\S/;

/** Constant texts of a program that look like commands. */
export function commandTexts(
  tree: FlatTree,
  fold: (node: number) => Value,
): { text: string; offset: number }[] {
  const found: { text: string; offset: number }[] = [];
  for (let node = 0; node < tree.size && found.length < MAX_TEXTS; node++)
    if (/^(?:template_)?string$/.test(tree.kind(node)))
      for (const text of fold(node).texts)
        if (text.length < MAX_COMMAND && COMMAND_TEXT.test(text))
          found.push({ text, offset: tree.start(node) });
  return found;
}

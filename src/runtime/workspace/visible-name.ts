import { visible } from "../../kit/escape-unsafe.js";

const MAX_SHOWN_CHARACTERS = 200;

/** A guest's file name for an error message: nothing in it acts on a terminal or hides. */
export function visibleName(name: string): string {
  if (name.length <= MAX_SHOWN_CHARACTERS) return visible(name);
  return `${visible(name.slice(0, MAX_SHOWN_CHARACTERS))}…`;
}

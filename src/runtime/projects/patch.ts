import { structuredPatch } from "diff";
import { bytes as sizeText } from "../../kit/format-quantity.js";
import type { ProjectChange, ProjectChanges } from "./find-changes.js";
import type { FileState } from "./project.js";
import type { ContentStore } from "./project-store.js";

/** Where contents are: those of before, and those of now. */
export interface Contents {
  readonly before: Pick<ContentStore, "readAll">;
  readonly after: Pick<ContentStore, "readAll">;
}

/** A larger file is named, and not shown. */
const MAX_TEXT_BYTES = 1024 * 1024;
/** Comparing is given up after so long, and the whole file is shown as replaced: a guest can make texts that take for ever. */
const MAX_COMPARE_MS = 500;
const MAX_COMPARE_ALL_MS = 10_000;

/** How much a change adds and takes away; undefined: it is no text. */
export interface LineCounts {
  readonly added: number;
  readonly removed: number;
}

/** One change as a part of a patch, as git writes it, and its counts. */
export interface ShownChange {
  readonly text: string;
  readonly lines: LineCounts | undefined;
}

/** Each change as a unified patch that `git apply` and `patch` take. The texts are a program's own words. */
export function* showChanges(
  { changes }: Pick<ProjectChanges, "changes">,
  contents: Contents,
): Generator<ShownChange> {
  const deadline = performance.now() + MAX_COMPARE_ALL_MS;
  for (const change of changes) {
    const timeout = Math.max(1, Math.min(MAX_COMPARE_MS, deadline - performance.now()));
    yield showChange(change, contents, timeout);
  }
}

function showChange(change: ProjectChange, contents: Contents, timeoutMs: number): ShownChange {
  const { before, after } = change;
  // Another kind of thing: what was there goes, and the other one comes.
  if (before !== undefined && after !== undefined && before.type !== after.type) {
    const [gone, made] = [
      showChange({ path: change.path, change: "deleted", before }, contents, timeoutMs),
      showChange({ path: change.path, change: "created", after }, contents, timeoutMs),
    ];
    return { text: gone.text + made.text, lines: sum(gone.lines, made.lines) };
  }
  const head = headOf(change);
  const [old, now] = [textOf(before, contents.before), textOf(after, contents.after)];
  if (old === undefined || now === undefined) return { text: head + binaryLine(change), lines: undefined };
  if (old === now) return { text: head, lines: { added: 0, removed: 0 } };
  return hunksOf(change, head, old, now, timeoutMs);
}

function hunksOf(
  change: ProjectChange,
  head: string,
  old: string,
  now: string,
  timeout: number,
): ShownChange {
  const found = structuredPatch("", "", old, now, "", "", { context: 3, timeout });
  const hunks = found?.hunks ?? [replacement(old, now)];
  const [from, to] = namesOf(change);
  let text = `${head}--- ${from}\n+++ ${to}\n`;
  let [added, removed] = [0, 0];
  for (const { oldStart, oldLines, newStart, newLines, lines } of hunks) {
    // As git does, an empty side starts at the line before.
    const start = (at: number, count: number) => (count === 0 ? Math.max(0, at - 1) : at);
    const ranges = `-${start(oldStart, oldLines)},${oldLines} +${start(newStart, newLines)},${newLines}`;
    text += `@@ ${ranges} @@\n`;
    for (const line of lines) {
      if (line.startsWith("+")) added++;
      else if (line.startsWith("-")) removed++;
      text += `${line}\n`;
    }
  }
  return { text, lines: { added, removed } };
}

/** All of the old text goes, all of the new one comes: right, if not short. */
function replacement(old: string, now: string) {
  const side = (text: string, sign: string) => {
    if (text === "") return [];
    const lines = text.split("\n");
    const isEnded = lines.at(-1) === "";
    if (isEnded) lines.pop();
    return [...lines.map((line) => sign + line), ...(isEnded ? [] : ["\\ No newline at end of file"])];
  };
  const [gone, come] = [side(old, "-"), side(now, "+")];
  const counted = (lines: readonly string[]) => lines.filter((line) => !line.startsWith("\\")).length;
  return {
    oldStart: 1,
    oldLines: counted(gone),
    newStart: 1,
    newLines: counted(come),
    lines: [...gone, ...come],
  };
}

/** Undefined: no text, or too much of it. */
function textOf(state: FileState | undefined, contents: Pick<ContentStore, "readAll">): string | undefined {
  if (state === undefined) return "";
  if (state.type === "symlink") return state.target;
  if (state.size > MAX_TEXT_BYTES) return undefined;
  const bytes = contents.readAll(state);
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function headOf({ path, before, after }: ProjectChange): string {
  const lines = [`diff --git ${quotePath(`a/${path}`)} ${quotePath(`b/${path}`)}`];
  if (before === undefined) lines.push(`new file mode ${modeOf(after)}`);
  else if (after === undefined) lines.push(`deleted file mode ${modeOf(before)}`);
  else if (modeOf(before) !== modeOf(after))
    lines.push(`old mode ${modeOf(before)}`, `new mode ${modeOf(after)}`);
  return `${lines.join("\n")}\n`;
}

function namesOf({ path, before, after }: ProjectChange): [string, string] {
  return [
    before === undefined ? "/dev/null" : quotePath(`a/${path}`),
    after === undefined ? "/dev/null" : quotePath(`b/${path}`),
  ];
}

function binaryLine(change: ProjectChange): string {
  const [from, to] = namesOf(change);
  const about = (state: FileState | undefined) =>
    state?.type === "file" ? `${sizeText(state.size)} sha256:${state.sha256.slice(0, 16)}` : "nothing";
  return `Binary files ${from} and ${to} differ\n# ${about(change.before)} -> ${about(change.after)}\n`;
}

function modeOf(state: FileState | undefined): string {
  if (state?.type === "symlink") return "120000";
  return state?.executable === true ? "100755" : "100644";
}

/** As git quotes names: nothing but printable ASCII is left as it is. */
function quotePath(path: string): string {
  if (/^[\x20\x21\x23-\x5b\x5d-\x7e]*$/.test(path)) return path;
  const special: Readonly<Record<string, string>> = { '"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t" };
  let quoted = "";
  for (const byte of Buffer.from(path)) {
    const character = String.fromCharCode(byte);
    const isPlain = byte >= 0x20 && byte < 0x7f;
    quoted += special[character] ?? (isPlain ? character : `\\${byte.toString(8).padStart(3, "0")}`);
  }
  return `"${quoted}"`;
}

function sum(one: LineCounts | undefined, other: LineCounts | undefined): LineCounts | undefined {
  if (one === undefined || other === undefined) return undefined;
  return { added: one.added + other.added, removed: one.removed + other.removed };
}

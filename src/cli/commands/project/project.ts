import { createInterface } from "node:readline/promises";
import { SandboxError } from "../../../kit/errors.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import type { SessionProjects, ShownChange, StagedChanges } from "../../../runtime/projects/index.js";
import type { GlobalOptions } from "../../definition/index.js";
import { Interrupt } from "../../input/index.js";
import { openManager, openSandbox, requireSession, tellLeftOut } from "../../open/index.js";
import { formatTable, jsonText, stderr, stdout } from "../../output/index.js";

export interface ProjectOptions extends GlobalOptions {
  readonly session: string;
  readonly target?: string;
  readonly backend?: string;
  readonly stat?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** `skerry diff`. */
export function diff(options: ProjectOptions): Promise<number> {
  return withProjects(options, async (projects) => {
    using staged = await projects.changes(options.target);
    if (options.json) await stdout.write(`${jsonText(toJson(staged))}\n`);
    else if (options.stat) await stdout.write(statText(staged));
    else await showPatch(staged);
    if (!options.json) await tellMore(staged);
    return 0;
  });
}

/** `skerry apply`: shows what it will write, asks, and writes exactly that. */
export function apply(options: ProjectOptions): Promise<number> {
  refuseSilence(options);
  return withProjects(options, async (projects, signal) => {
    using staged = await projects.changes(options.target);
    if (!options.json) {
      await showPatch(staged);
      await tellMore(staged);
      if (staged.changes.length === 0) await stderr.write("skerry: nothing has changed\n");
    }
    // What cannot be applied is refused before anybody is asked.
    const isWanted =
      staged.conflicts.length > 0 ||
      staged.changes.length === 0 ||
      (await isAgreed(options, signal, `Write ${filesText(staged)} to ${escapeUnsafe(staged.source)}?`));
    if (!isWanted) return 1;
    const applied = await staged.apply();
    if (options.json) await stdout.write(`${jsonText({ source: staged.source, ...applied })}\n`);
    else if (staged.changes.length > 0)
      await stderr.write(
        `skerry: ${applied.written.length} written, ${applied.removed.length} removed in ${escapeUnsafe(staged.source)}\n`,
      );
    return 0;
  });
}

/** `skerry discard`. */
export function discard(options: ProjectOptions): Promise<number> {
  refuseSilence(options);
  return withProjects(options, async (projects, signal) => {
    using staged = await projects.changes(options.target);
    if (!options.json) await stdout.write(statText(staged));
    const isWanted =
      staged.changes.length === 0 ||
      (await isAgreed(options, signal, `Drop the changes of ${filesText(staged)}?`));
    if (!isWanted) return 1;
    const discarded = await projects.discard(options.target);
    if (options.json) await stdout.write(`${jsonText({ discarded })}\n`);
    else await stderr.write(`skerry: ${discarded} ${discarded === 1 ? "file is" : "files are"} as before\n`);
    return 0;
  });
}

async function withProjects(
  options: ProjectOptions,
  use: (projects: SessionProjects, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  using interrupt = new Interrupt();
  await using manager = await openManager(options);
  requireSession(manager, options.session);
  const { projects } = await openSandbox(manager, options, interrupt.signal);
  const status = await use(projects, interrupt.signal);
  return interrupt.status ?? status;
}

/** Escaped for a person; a program gets a patch that `git apply` takes. */
async function showPatch(staged: StagedChanges): Promise<void> {
  for (const { text } of staged.show()) await stdout.write(stdout.isTerminal ? escapePatch(text) : text);
}

/** Nothing that a program wrote acts on the terminal. Tabs stay. */
function escapePatch(text: string): string {
  return text
    .split("\n")
    .map((line) => line.split("\t").map(escapeUnsafe).join("\t"))
    .join("\n");
}

const SIGNS = { created: "A", modified: "M", deleted: "D" } as const;

function statText(staged: StagedChanges): string {
  const shown = [...staged.show()];
  const rows = staged.changes.map(({ path, change }, index) => [
    SIGNS[change],
    escapeUnsafe(path),
    countText(shown[index]!),
  ]);
  return rows.length === 0 ? "" : formatTable(rows, ["left", "left", "left"]);
}

function countText({ lines }: ShownChange): string {
  return lines === undefined ? "binary" : `+${lines.added} -${lines.removed}`;
}

/** What the patch does not say: what acts outside, what cannot be applied, what stays inside. */
async function tellMore({ changes, conflicts, leftOut }: StagedChanges): Promise<void> {
  for (const { path, note } of changes) {
    if (note !== undefined) await stderr.write(`skerry: look at ${escapeUnsafe(path)}: ${note}\n`);
  }
  for (const { path, why } of conflicts)
    await stderr.write(`skerry: cannot apply: ${escapeUnsafe(path)} ${why}\n`);
  await tellLeftOut(leftOut);
}

function filesText({ changes }: StagedChanges): string {
  return changes.length === 1 ? "1 file" : `${changes.length} files`;
}

function refuseSilence({ json, yes }: ProjectOptions): void {
  if (json !== true || yes === true) return;
  throw new SandboxError("INVALID_ARGUMENT", "--json takes --yes: a program is not asked", {
    hint: "Look at the changes with skerry diff --json, then add --yes.",
  });
}

/** True: the person at the terminal, or the command line, says yes. */
async function isAgreed(
  { yes, session }: ProjectOptions,
  signal: AbortSignal,
  question: string,
): Promise<boolean> {
  if (yes === true) return true;
  const { stdin } = process;
  if (!stdin.isTTY || !stderr.isTerminal) {
    throw new SandboxError("CONFIRMATION_REJECTED", "Nobody is at a terminal to agree", {
      hint: `Add --yes once you have looked at: skerry diff --session ${session}`,
    });
  }
  const asking = createInterface({ input: stdin, output: process.stderr });
  try {
    return /^y(?:es)?$/i.test((await asking.question(`${question} [y/N] `, { signal })).trim());
  } finally {
    asking.close();
  }
}

function toJson(staged: StagedChanges) {
  const { id, source, target, changes, conflicts, leftOut } = staged;
  return {
    id,
    source,
    target,
    changes,
    conflicts,
    leftOut,
    patch: [...staged.show()].map(({ text }) => text).join(""),
  };
}

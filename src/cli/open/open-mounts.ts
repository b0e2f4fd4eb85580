import type { SandboxManager } from "../../core/manager/index.js";
import { escapeUnsafe } from "../../kit/escape-unsafe.js";
import { type CopiedIn, LEFT_OUT_WORDS, type LeftOut } from "../../runtime/projects/index.js";
import type { SandboxOptions } from "../definition/index.js";
import { sizeText, stderr } from "../output/index.js";
import { limitsOf } from "./open-sandbox.js";

const MOST_NAMES = 5;

/**
 * Copies the directories of `--mount` in, and says what of them stays outside. Resolves to the session that has them: the one
 * that was named, or one that goes with the manager. Without `--mount` it does nothing.
 */
export async function openMounts(
  manager: SandboxManager,
  options: SandboxOptions,
  role: string | undefined,
): Promise<string | undefined> {
  const { mount = [], session } = options;
  if (mount.length === 0) return session;
  const caller = role === undefined ? {} : { role };
  const sessionId =
    session ??
    (await manager.getSandbox("mount", { ephemeral: true, limits: limitsOf(options), ...caller })).sessionId;
  for (const copied of await manager.copyIn(sessionId, mount, caller)) await tell(copied, session);
  return sessionId;
}

async function tell(copied: CopiedIn, session: string | undefined): Promise<void> {
  const source = escapeUnsafe(copied.source);
  if (!copied.isCopied) {
    await stderr.write(
      `skerry: ${source} is in the session with changes, and was not copied again: skerry diff --session ${session}\n`,
    );
    return;
  }
  const where = copied.target === "" ? "the workspace" : escapeUnsafe(copied.target);
  const what = `${copied.files} ${copied.files === 1 ? "file" : "files"}, ${sizeText(copied.bytes)}`;
  await stderr.write(`skerry: copied ${source} into ${where}: ${what}\n`);
  await tellLeftOut(copied.leftOut);
}

/** How many of each kind, and the first names. */
export async function tellLeftOut(leftOut: readonly LeftOut[]): Promise<void> {
  const line = leftOutText(leftOut);
  if (line !== "") await stderr.write(`skerry: left out: ${line}\n`);
}

/** `secrets: 2 (.env, key.pem); git's own files: 1 (.git)`. */
function leftOutText(leftOut: readonly LeftOut[]): string {
  const byReason = new Map<LeftOut["why"], string[]>();
  for (const { path, why } of leftOut) byReason.set(why, [...(byReason.get(why) ?? []), path]);
  return [...byReason]
    .map(([why, paths]) => {
      const names = paths.slice(0, MOST_NAMES).map(escapeUnsafe).join(", ");
      return `${LEFT_OUT_WORDS[why]}: ${paths.length} (${names}${paths.length > MOST_NAMES ? ", …" : ""})`;
    })
    .join("; ");
}

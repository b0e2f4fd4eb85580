import { existsSync } from "node:fs";
import { join } from "node:path";
import type { BenchContext } from "./bench-context.js";

export const HUMANEVAL_PROGRAMS = 164;

/** Where HumanEval's problems are. */
export function humanevalFile(bench: BenchContext): string {
  return process.env["SKERRY_HUMANEVAL"] ?? join(bench.repository, "test", "data", "HumanEval.jsonl.gz");
}

/** Why there are none here; undefined: there are. */
export async function withoutHumaneval(bench: BenchContext): Promise<string | undefined> {
  const file = humanevalFile(bench);
  return existsSync(file) ? undefined : `there is no ${file}; SKERRY_HUMANEVAL can name another`;
}

/** Every so manieth, from each start: slices that are alike, and short enough that a burst of other work falls on both sides. */
export function slicesOf<T>(items: readonly T[], count: number): T[][] {
  return Array.from({ length: count }, (_, slice) => items.filter((_item, index) => index % count === slice));
}

/** Works through a list, so many at a time. */
export async function forEachOf<T>(
  items: readonly T[],
  atOnce: number,
  action: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const work = async () => {
    for (const item of rest) await action(item);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

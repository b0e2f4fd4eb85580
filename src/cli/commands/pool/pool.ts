import type { Paint } from "../../../guard/confirmation/index.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import { stateDirectoryOf } from "../../../kit/state-directory.js";
import { listPools, type RunningPool, type UnresponsivePool } from "../../../runtime/pool/index.js";
import type { GlobalOptions } from "../../definition/index.js";
import { readConfig } from "../../open/index.js";
import { jsonText, localTime, paintFor, stdout } from "../../output/index.js";

/** `skerry pool status`: every pool of this user's processes. */
export async function status(options: GlobalOptions & { readonly json?: boolean }): Promise<number> {
  const { sandbox } = await readConfig(options);
  const pools = await listPools(stateDirectoryOf(sandbox));
  if (options.json) {
    const plain = pools.map((pool) =>
      "status" in pool ? { ...pool, ...pool.status, status: undefined } : pool,
    );
    await stdout.write(`${jsonText(plain)}\n`);
  } else if (pools.length === 0) {
    await stdout.write(
      "no pools: a server with server.pool has one while it runs, or a program with a PoolManager\n",
    );
  } else {
    const paint = paintFor(stdout, options.color);
    await stdout.write(pools.map((pool) => describePool(pool, paint)).join("\n"));
  }
  return 0;
}

/** A few lines for a person. All text in it is another process's. */
export function describePool(pool: RunningPool | UnresponsivePool, paint: Paint): string {
  const title = (text: string) => paint("bold", `process ${pool.pid}: ${escapeUnsafe(text)}`);
  if (!("status" in pool)) return `${title("no answer")}\n  ${escapeUnsafe(pool.problem)}\n`;
  const { idle, acquiring, busy, resetting, leaving, waiting, instances, ...rest } = pool.status;
  const states = [
    `${idle} idle, ${acquiring} acquiring, ${busy} busy`,
    ...(resetting > 0 ? [`${resetting} resetting`] : []),
    ...(leaving > 0 ? [`${leaving} leaving`] : []),
  ].join(", ");
  const lines = [
    title(pool.backend),
    `${states}; at most ${rest.maxInstances}, ${rest.minInstances} kept ready`,
    `${waiting} waiting, ${rest.timeouts} timed out`,
    `${rest.hits} hits, ${rest.misses} misses; ${rest.created} made, ${rest.resets} resets, ${rest.failures} failures`,
    ...(instances.length > 0 ? [`ages ${describeAges(instances.map(({ ageMs }) => ageMs))}`] : []),
  ];
  const { lastFailure, nextAttemptAt } = rest;
  if (lastFailure !== undefined) {
    const { at, code, message } = lastFailure;
    const next =
      nextAttemptAt === undefined ? "" : `; next attempt ${localTime(nextAttemptAt.toISOString())}`;
    const what = `last failure ${localTime(at.toISOString())} ${code}: ${escapeUnsafe(message)}${next}`;
    lines.push(paint("yellow", what));
  }
  return `${lines.join("\n  ")}\n`;
}

function describeAges(ages: readonly number[]): string {
  const [youngest, oldest] = [Math.min(...ages), Math.max(...ages)].map(describeMs);
  return youngest === oldest ? `${oldest}` : `${youngest} to ${oldest}`;
}

function describeMs(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3600)} h`;
}

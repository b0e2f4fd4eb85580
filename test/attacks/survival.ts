import { spawnSync } from "node:child_process";
import type { ExecutionResult } from "../../src/index.js";
import type { RunningSandbox } from "../../src/manager.js";
import type { Context, Outcome } from "./attack.js";
import { watchHost } from "./host.js";

/** Ran to its end, or was ended for it; the sandbox, or a new one, and the host go on. */
export async function survives(
  context: Context,
  start: (sandbox: RunningSandbox) => PromiseLike<ExecutionResult>,
): Promise<Outcome> {
  const watch = watchHost();
  const result = await Promise.resolve(start(context.sandbox)).then(
    ({ reason, stdout }) => ({ reason, stdout: stdout.slice(0, 200) }),
    (error) => ({ reason: String(error.code), stdout: "" }),
  );
  const spawned = Date.now();
  spawnSync("true");
  const spawnMs = Date.now() - spawned;
  const next = context.sandbox.isRunning ? context.sandbox : await context.newSandbox();
  const answer = await next.exec(["echo", "next"], { timeoutMs: 5000 }).then(
    ({ stdout }) => stdout.trim(),
    // A sandbox that died of it is fine when a new one works.
    async () => (await (await context.newSandbox()).exec(["echo", "next"])).stdout.trim(),
  );
  const { grewMb, maxLagMs } = watch.stop();
  const { slowness } = context.facts;
  return { ...result, observed: { grewMb, maxLagMs: Math.round(maxLagMs / slowness), spawnMs, answer } };
}

/** The host, or the next sandbox, is not as it was. */
export const unwell = ({ observed }: Outcome) =>
  observed?.answer !== "next" ||
  Number(observed.maxLagMs) > 5000 ||
  Number(observed.spawnMs) > 10_000 ||
  Number(observed.grewMb) > 150;

import { basename } from "node:path";
import { z } from "zod";
import { isPeerGone, listLiveSockets, sendControlRequest } from "../../kit/control-socket.js";
import { ERROR_CODES, type ErrorCode } from "../../kit/errors.js";
import type { PoolStatus } from "./pool-lease.js";
import { MAX_LISTED, poolFolder } from "./pool-socket.js";

const MAX_ANSWER_BYTES = 1024 * 1024;

const count = z.int().nonnegative();
const text = z.string().max(4096);
const moment = z.iso.datetime().transform((value) => new Date(value));

/** What another process says of its pool. */
const answerSchema = z.object({
  backend: text,
  status: z.object({
    idle: count,
    acquiring: count,
    busy: count,
    resetting: count,
    leaving: count,
    waiting: count,
    minInstances: count,
    maxInstances: count,
    hits: count,
    misses: count,
    created: count,
    failures: count,
    resets: count,
    destroyed: count,
    timeouts: count,
    instances: z
      .array(
        z.object({
          id: text.optional(),
          state: z.enum(["idle", "acquiring", "busy", "resetting", "leaving"]),
          ageMs: z.number().nonnegative(),
          uses: count,
          sessionId: text.optional(),
        }),
      )
      .max(MAX_LISTED),
    lastFailure: z
      .object({ at: moment, code: z.enum(Object.keys(ERROR_CODES) as [ErrorCode]), message: text })
      .optional(),
    lastTimeoutAt: moment.optional(),
    nextAttemptAt: moment.optional(),
  }),
});

/** A pool of some process of this user. */
export interface RunningPool {
  readonly pid: number;
  readonly backend: string;
  readonly status: PoolStatus;
}

/** One that does not answer, or not sensibly. */
export interface UnresponsivePool {
  readonly pid: number;
  readonly problem: string;
}

/** Every pool of this user's processes, in their order. What they say is their own words. */
export async function listPools(stateDir: string): Promise<(RunningPool | UnresponsivePool)[]> {
  const answers = await Promise.all(listLiveSockets(poolFolder(stateDir)).map(ask));
  return answers.filter((answer) => answer !== undefined).sort((a, b) => a.pid - b.pid);
}

async function ask(path: string): Promise<RunningPool | UnresponsivePool | undefined> {
  const pid = Number(/^\d+/.exec(basename(path))?.[0]);
  try {
    const { answer, socket } = await sendControlRequest(
      path,
      { ask: "status" },
      { maxAnswerBytes: MAX_ANSWER_BYTES },
    );
    socket.destroy();
    const parsed = answerSchema.safeParse(answer);
    if (!parsed.success) return { pid, problem: "It answers with something that is not a pool's status" };
    return { pid, ...(parsed.data as Omit<RunningPool, "pid">) };
  } catch (error) {
    if (isPeerGone(error)) return undefined;
    return { pid, problem: error instanceof Error ? error.message : String(error) };
  }
}

import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import Docker from "dockerode";
import { PoolManager, type SandboxManager } from "skerry";
import type { Benchmark, Check } from "../benchmark.js";
import { median, timeMs } from "../measure.js";
import { countDescendants } from "../process-memory.js";
import { whyNotHere } from "../starts-here.js";
import type { Workbench } from "../workbench.js";

const CYCLES = 500;
const SESSIONS = 10;
const READY = 2;
/** A session that was used so often is deleted: its next use makes it anew. */
const USES = 5;
const GOAL = 1.5;
const MAX_GROWTH_PERCENT = 10;
const BACKENDS = ["bubblewrap", "docker", "gvisor"];

/** Says what it finds, and leaves something for whoever looks there next. */
const program = (name: string) => `
import os
for root in (".", "/tmp", "/dev/shm"):
    for found in sorted(os.listdir(root)):
        if found.startswith("left-by-"): print(found)
    open(os.path.join(root, "left-by-${name}"), "w").close()
`;

const THINGS = ["descriptors", "processes", "mounts", "containers"] as const;
/** Sandboxes may be spread over one launcher or over several, each with a descriptor for every slot. */
const LAUNCHERS_DESCRIPTORS = 32;

interface Left extends Readonly<Record<(typeof THINGS)[number], number>> {
  readonly memoryBytes: number;
}

export const poolSoak: Benchmark = {
  name: "pool-soak",
  what: `${CYCLES} times acquire, run, release over ${SESSIONS} sessions on each backend: the last fifth of them`,
  baseline: "the first fifth",
  unit: "ms",
  better: "lower",
  goal: GOAL,
  unavailable: (bench) => whyNotHere(bench, BACKENDS[0]!),
  async measure(bench) {
    const cycles = bench.rounds(CYCLES);
    const samples = { ours: [] as number[], baseline: [] as number[] };
    const checks: Check[] = [];
    for (const [index, backend] of BACKENDS.entries()) {
      if (index > 0 && (await whyNotHere(bench, backend)) !== undefined) continue;
      const soaked = await soak(bench, backend, cycles);
      const fifth = Math.ceil(cycles / 5);
      const [first, last] = [soaked.times.slice(0, fifth), soaked.times.slice(-fifth)];
      samples.baseline.push(...first);
      samples.ours.push(...last);
      checks.push(...soaked.checks, {
        what: `${backend}: last fifth against the first`,
        value: median(last) / median(first),
        unit: "",
        atMost: GOAL,
      });
    }
    return { ...samples, checks };
  },
};

async function soak(bench: Workbench, backend: string, cycles: number) {
  const before = await lookAround(bench);
  const pool = new PoolManager({
    backend,
    minInstances: READY,
    maxInstances: 2 * READY,
    preload: ["python"],
  });
  const manager = bench.manager({ pool });
  const times: number[] = [];
  let strangers = 0;
  const cycle = async (number: number) => {
    bench.signal.throwIfAborted();
    const time = await timeMs(async () => {
      strangers += await useOnce(manager, number);
    });
    times.push(time);
    bench.progress(times.length, cycles);
  };
  // What is made once and kept is no leak.
  const warmUp = Math.ceil(cycles / 5);
  for (let number = 0; number < warmUp; number++) await cycle(number);
  await atRest(pool);
  const warm = await lookAround(bench);
  for (let number = warmUp; number < cycles; number++) await cycle(number);
  await atRest(pool);
  const used = await lookAround(bench);
  await manager.close();
  const after = await lookAround(bench);
  return {
    times,
    checks: [
      { what: `${backend}: files of somebody else that were seen`, value: strangers, unit: "", atMost: 0 },
      ...THINGS.map((thing) => ({
        what: `${backend}: ${thing} more than after the warm-up`,
        value: used[thing] - warm[thing],
        unit: "",
        // At rest the pool may have more of them ready than before: those are counted in the end.
        atMost: thing === "descriptors" ? LAUNCHERS_DESCRIPTORS : thing === "processes" ? 4 * READY : READY,
      })),
      ...THINGS.map((thing) => ({
        what: `${backend}: ${thing} left in the end`,
        value: after[thing] - before[thing],
        unit: "",
        atMost: 0,
      })),
      {
        what: `${backend}: growth of this process's memory`,
        value: (used.memoryBytes / warm.memoryBytes - 1) * 100,
        unit: "%",
        atMost: MAX_GROWTH_PERCENT,
      },
    ],
  };
}

/** One cycle, in turn with and without a session; resolves to how much it saw that was not its own. */
async function useOnce(manager: SandboxManager, number: number): Promise<number> {
  const isThrownAway = number % 2 === 1;
  const visit = Math.floor(number / 2);
  const sessionId = `soak-${visit % SESSIONS}`;
  const name = isThrownAway ? `call-${number}` : sessionId;
  const result = await manager.execute({
    language: "python",
    code: program(name),
    ...(!isThrownAway && { sessionId }),
  });
  if (!result.success) throw new Error(`it ended with ${result.error}: ${result.stderr.slice(-2000)}`);
  if (!isThrownAway) {
    const isLast = Math.floor(visit / SESSIONS) % USES === USES - 1;
    await (isLast ? manager.deleteSession(sessionId) : manager.cleanupSession(sessionId));
  }
  return result.stdout.split("\n").filter((line) => line !== "" && line !== `left-by-${name}`).length;
}

async function atRest(pool: PoolManager): Promise<void> {
  for (;;) {
    const { idle, instances } = pool.status();
    if (idle >= READY && idle === instances.length) return;
    await sleep(20);
  }
}

/** What there is now. */
async function lookAround({ directory }: Workbench): Promise<Left> {
  // Launchers without a sandbox leave after two seconds, connections to a daemon that nobody uses after five.
  await sleep(6000);
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  await sleep(100);
  return {
    descriptors: readdirSync("/proc/self/fd").length,
    processes: await countDescendants(process.pid),
    mounts: readFileSync("/proc/self/mountinfo", "utf8").split(directory).length,
    containers: await countContainers(),
    memoryBytes: process.memoryUsage.rss(),
  };
}

/** Ours: a daemon may have others. */
async function countContainers(): Promise<number> {
  const containers = await new Docker().listContainers({ all: true }).catch(() => []);
  return containers.filter(({ Labels }) => Labels["dev.skerry.maker"]?.startsWith(`${process.pid}-`)).length;
}

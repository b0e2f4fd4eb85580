import type { SandboxManager } from "skerry";
import type { BenchContext } from "../bench-context.js";
import type { Benchmark, Check } from "../benchmark.js";
import { timeMs } from "../measure.js";
import { OwnContainers } from "../own-containers.js";
import { READY, ReadyPool } from "../ready-pool.js";
import { countResources, type ResourceCounts, THINGS, type Thing } from "../resource-counts.js";
import { unavailableReason } from "../unavailable-reason.js";

const CYCLES = 500;
const SESSIONS = 10;
/** More than there are processors, and as many as the pool may have sandboxes. */
const AT_ONCE = 2 * READY;
/** A session that was used so often is deleted: its next use creates it again. */
const USES = 5;
/** After so many uses by sessions, one without a session: only such sandboxes are used again. */
const BETWEEN = 5;
const WARM_UP = 30;
const MAX_GROWTH_PERCENT = 10;
const BACKENDS = ["bubblewrap", "srt", "docker", "gvisor"];
const IN_CONTAINERS = ["docker", "gvisor"];
/** A connection to the daemon that is just being used. */
const MORE_DESCRIPTORS = 2;

const FOUND = "left-by-";

/** Says what it finds, and leaves something for the next user to find. */
const program = (name: string) => `
import os
for root in (".", "/tmp", "/dev/shm"):
    for found in sorted(os.listdir(root)):
        if found.startswith("${FOUND}"): print(os.path.join(root, found))
    open(os.path.join(root, "${FOUND}${name}"), "w").close()
`;

export const poolSoak: Benchmark = {
  name: "pool-soak",
  what: `${CYCLES} times acquire, run, release over ${SESSIONS} sessions on each backend: the last fifth of them`,
  baseline: "the first fifth",
  unit: "ms",
  better: "lower",
  goal: null,
  unavailable: (bench) => unavailableReason(bench, BACKENDS[0]!),
  async measure(bench) {
    const cycles = bench.rounds(CYCLES);
    const samples = { ours: [] as number[], baseline: [] as number[] };
    const checks: Check[] = [];
    for (const backend of BACKENDS) {
      const reason = await unavailableReason(bench, backend);
      if (reason !== undefined) {
        checks.push({ what: `${backend}: not measured: ${reason}`, value: 1, unit: "", atMost: 0 });
        continue;
      }
      const containers = IN_CONTAINERS.includes(backend) ? await OwnContainers.watch() : undefined;
      try {
        const soak = new Soak(bench, backend, containers, cycles);
        checks.push(...(await soak.run()));
        const fifth = Math.ceil(cycles / 5);
        samples.baseline.push(...soak.times.slice(0, fifth));
        samples.ours.push(...soak.times.slice(-fifth));
      } finally {
        containers?.close();
      }
    }
    return { ...samples, checks };
  },
};

/** One backend's pool, from before it was there until it is gone. */
class Soak {
  /** Of the uses by sessions. */
  readonly times: number[] = [];
  readonly #bench: BenchContext;
  readonly #backend: string;
  readonly #containers: OwnContainers | undefined;
  readonly #cycles: number;
  /** Which uses of a session are over. */
  readonly #uses = new Array<number>(SESSIONS).fill(0);
  #next = 0;
  #running = 0;
  #together = 0;
  #sandboxes = 0;
  #strangers = 0;

  constructor(bench: BenchContext, backend: string, containers: OwnContainers | undefined, cycles: number) {
    this.#bench = bench;
    this.#backend = backend;
    this.#containers = containers;
    this.#cycles = cycles;
  }

  async run(): Promise<Check[]> {
    const look = () => countResources(this.#bench, this.#containers);
    const before = await look();
    const pool = new ReadyPool(this.#bench, this.#backend);
    await pool.rest();
    const fresh = { ...(await look()), instances: pool.status.instances.length };
    // What is made once and kept is no leak, nor is the memory that Node takes at first.
    await this.#useUntil(Math.max(WARM_UP, Math.ceil(this.#cycles / 5)), pool);
    await pool.rest();
    const warm = await look();
    await this.#useUntil(this.#cycles, pool);
    await pool.rest();
    const used = { ...(await look()), instances: pool.status.instances.length };
    const { timeouts, failures, resets } = pool.status;
    await pool.manager.close();
    const after = await look();

    const check = (what: string, value: number, atMost: number, unit = "") => ({
      what: `${this.#backend}: ${what}`,
      value,
      unit,
      atMost,
    });
    const things = THINGS.filter((thing) => thing !== "containers" || this.#containers !== undefined);
    return [
      check("files of other sessions that were seen, or own ones that were not", this.#strangers, 0),
      { what: `${this.#backend}: sessions at once`, value: this.#together, unit: "", atLeast: 2 },
      check("sandboxes at once", this.#sandboxes, 2 * READY),
      check("failures of the pool, and timeouts", failures + timeouts, 0),
      ...(this.#containers === undefined
        ? []
        : [{ what: `${this.#backend}: containers used again`, value: resets, unit: "", atLeast: 1 }]),
      ...things.map((thing) =>
        check(
          `${thing} at rest that its sandboxes do not explain`,
          used[thing] - before[thing] - explained(thing, before, fresh, used),
          thing === "descriptors" ? MORE_DESCRIPTORS : 0,
        ),
      ),
      ...things.map((thing) => check(`${thing} left in the end`, after[thing] - before[thing], 0)),
      check(
        "growth of this process's memory",
        (used.memoryBytes / warm.memoryBytes - 1) * 100,
        MAX_GROWTH_PERCENT,
        "%",
      ),
    ];
  }

  /** Several at once, each of another session. */
  async #useUntil(end: number, pool: ReadyPool): Promise<void> {
    const idle = Array.from({ length: SESSIONS }, (_, session) => session);
    const work = async () => {
      while (this.#next < end) {
        const number = this.#next++;
        const session = idle.shift()!;
        await this.#useBySession(session, pool);
        idle.push(session);
        if (number % BETWEEN === 0) await this.#useByNobody(number, pool);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }

  async #useBySession(session: number, pool: ReadyPool): Promise<void> {
    // Not those of another backend: sessions keep their files.
    const sessionId = `soak-${this.#backend}-${session}`;
    const use = this.#uses[session]!++ % USES;
    const time = await timeMs(async () => {
      this.#together = Math.max(this.#together, ++this.#running);
      // Its own file of last time is there, but nothing in what goes with the sandbox.
      await this.#lookInside(pool, sessionId, use === 0 ? [] : [`./${FOUND}${sessionId}`], { sessionId });
      this.#running--;
      await (use === USES - 1
        ? pool.manager.deleteSession(sessionId)
        : pool.manager.cleanupSession(sessionId));
    });
    this.times.push(time);
    this.#bench.progress(this.times.length, this.#cycles);
  }

  #useByNobody(number: number, pool: ReadyPool): Promise<void> {
    return this.#lookInside(pool, `call-${number}`, [], {});
  }

  async #lookInside(
    pool: ReadyPool,
    name: string,
    expected: readonly string[],
    call: Pick<Parameters<SandboxManager["execute"]>[0], "sessionId">,
  ): Promise<void> {
    this.#bench.signal.throwIfAborted();
    const result = await pool.manager.execute({ language: "python", code: program(name), ...call });
    if (!result.success) throw new Error(`it ended with ${result.error}: ${result.stderr.slice(-2000)}`);
    this.#sandboxes = Math.max(this.#sandboxes, pool.status.instances.length);
    const found = result.stdout.split("\n").filter(Boolean);
    this.#strangers += found.filter((path) => !expected.includes(path)).length;
    this.#strangers += expected.filter((path) => !found.includes(path)).length;
  }
}

/** How much of a thing so many sandboxes have: as unused sandboxes had, plus their launchers. */
function explained(
  thing: Thing,
  before: ResourceCounts,
  fresh: ResourceCounts & { readonly instances: number },
  now: ResourceCounts & { readonly instances: number },
): number {
  if (thing === "containers") return now.instances;
  const launchers = (there: ResourceCounts) =>
    thing === "processes" ? there.launchers : thing === "descriptors" ? there.launchersDescriptors : 0;
  const each = Math.max(0, fresh[thing] - before[thing] - launchers(fresh)) / fresh.instances;
  return Math.ceil(each * now.instances) + launchers(now);
}

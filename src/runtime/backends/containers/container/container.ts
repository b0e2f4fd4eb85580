import type Docker from "dockerode";
import { SandboxError } from "../../../../kit/errors.js";
import type { GuestConnection } from "../../../wire/index.js";
import type { ResourceUsage } from "../../backend.js";
import { greetGuest } from "../../start-guest.js";
import { callDaemon } from "../daemon/call-daemon.js";
import { explainDockerFailure } from "../daemon/connect.js";
import { type AttachedStreams, attach, openStreams } from "./attach.js";
import { ContainerCgroup, limitSocketMemory, removeGroupsOf } from "./container-cgroup.js";
import { containerOptions, mountedPaths } from "./container-options.js";
import type { ContainerPlan } from "./container-plan.js";
import { type FollowedKills, MemoryEvents } from "./memory-events.js";
import type { PendingRemovals } from "./pending-removals.js";
import { statsUsage } from "./stats-usage.js";
import { findUnexpectedChange, readWritableLayer } from "./writable-layer.js";

/** gVisor and a busy daemon take seconds, a cold disk more. */
const START_TIMEOUT_MS = 30_000;
const CALL_TIMEOUT_MS = 20_000;
const KILL_TIMEOUT_MS = 5000;
const STATS_TIMEOUT_MS = 3000;
/** Together ten seconds: so long a close waits for a stuck daemon. */
const LAST_WORDS_TIMEOUT_MS = 1000;
const LEAVE_TIMEOUT_MS = 1000;
const REMOVE_TIMEOUT_MS = 8000;
/** What a daemon elsewhere tells of a kill comes a moment after the end of what was killed. */
const LATE_EVENT_MS = 200;
const NOT_FOUND = 404;
const CONFLICT = 409;

/** One container with the guest as its first process, connected. */
export class Container {
  readonly plan: ContainerPlan;
  readonly id: string;
  readonly #container: Docker.Container;
  readonly #events: MemoryEvents;
  #run: Run;
  #isRemoved = false;

  private constructor(plan: ContainerPlan, container: Docker.Container, events: MemoryEvents, run: Run) {
    this.plan = plan;
    this.id = container.id;
    this.#container = container;
    this.#events = events;
    this.#run = run;
  }

  /** Makes it and starts it. When it throws nothing is left, or the leftovers have it. */
  static async start(
    docker: Docker,
    plan: ContainerPlan,
    pendingRemovals: PendingRemovals,
  ): Promise<Container> {
    plan.spec.signal?.throwIfAborted();
    const container = await makeContainer(docker, containerOptions(plan), pendingRemovals);
    try {
      const events = MemoryEvents.of(docker, plan.stateDir);
      return new Container(plan, container, events, await startRun(container, plan, events));
    } catch (error) {
      await pendingRemovals.remove({ remove: () => removeContainer(container) }).catch(() => undefined);
      if (plan.facts.isLocal) removeGroupsOf(container.id);
      throw error;
    }
  }

  get connection(): GuestConnection {
    return this.#run.connection;
  }

  /** Ends every process of it, and makes sure of that. What is left is as the image, or this throws. */
  async reset(): Promise<void> {
    const cgroup = await this.#run.cgroup;
    this.#run.connection.close();
    await killContainer(this.#container);
    const about = await callDaemon(CALL_TIMEOUT_MS, this.#container.inspect());
    const { State } = about;
    if (State.Running || State.Pid !== 0 || cgroup?.isEmpty === false) throw unclean("processes are left");
    const changes = await callDaemon(CALL_TIMEOUT_MS, readWritableLayer(this.#container, about));
    const strange = findUnexpectedChange(changes, mountedPaths(this.plan));
    if (strange !== undefined) throw unclean(`${strange} was changed`);
  }

  /** Starts it again after a reset, under another name. */
  async restart(plan: ContainerPlan): Promise<Container> {
    const { name } = containerOptions(plan);
    await callDaemon(CALL_TIMEOUT_MS, this.#container.rename({ name }));
    const run = await startRun(this.#container, plan, this.#events);
    return new Container(plan, this.#container, this.#events, run);
  }

  /** `wasKilled`: something has just been, and this may be why. */
  async memoryKills(wasKilled = false): Promise<number | undefined> {
    const run = this.#run;
    if (run.final !== undefined) return run.final;
    const count = (await run.cgroup)?.memoryKills();
    if (count !== undefined) run.memoryKills = count;
    else if (!this.#isRemoved) run.memoryKills = await this.#killsByDaemon(run, wasKilled);
    return run.final ?? run.memoryKills;
  }

  async #killsByDaemon(run: Run, wasKilled: boolean): Promise<number | undefined> {
    const known = run.memoryKills ?? 0;
    const followed = await run.followed;
    if (followed !== undefined && this.#events.isOpen) {
      if (wasKilled && followed.count <= known) await followed.next(LATE_EVENT_MS);
      if (!wasKilled || followed.count > known) return Math.max(known, followed.count);
    }
    try {
      const { State } = await callDaemon(STATS_TIMEOUT_MS, this.#container.inspect());
      return Math.max(known, State.OOMKilled ? 1 : 0);
    } catch {
      return run.memoryKills;
    }
  }

  /** Never throws. */
  async usage(): Promise<ResourceUsage | undefined> {
    try {
      const cgroup = await this.#run.cgroup;
      const found = await (cgroup === undefined ? this.#usageByDaemon() : cgroup.usage());
      if (found === undefined) return undefined;
      const { memoryMb, pids, cpus } = this.plan.spec.limits;
      this.#run.cpuTimeMs = Math.max(this.#run.cpuTimeMs, found.cpuTimeMs);
      return {
        ...found,
        cpuTimeMs: this.#run.cpuTimeMs,
        ...(memoryMb !== undefined && { memoryLimitBytes: Math.round(memoryMb * 1024 * 1024) }),
        ...(pids !== undefined && { pidsLimit: pids }),
        ...(cpus !== undefined && { cpus }),
      };
    } catch {
      return undefined;
    }
  }

  async #usageByDaemon(): Promise<Pick<ResourceUsage, "cpuTimeMs" | "memoryBytes" | "pids"> | undefined> {
    if (this.#isRemoved) return undefined;
    const stats = this.#container.stats({ stream: false, "one-shot": true });
    return statsUsage(await callDaemon(STATS_TIMEOUT_MS, stats));
  }

  /** Ends and removes it. Where the daemon cannot, the processes are ended here, if they are here, and it throws. */
  async remove(): Promise<void> {
    // The reason is only asked for after the end.
    await callDaemon(LAST_WORDS_TIMEOUT_MS, this.memoryKills()).catch(() => undefined);
    this.#isRemoved = true;
    const ended = this.#container.wait();
    this.#run.connection.close();
    // It ends with its input. To have it killed meanwhile is slower, and where gVisor has many processes to end at once,
    // containerd's shim is held up for ten seconds.
    await callDaemon(LEAVE_TIMEOUT_MS, ended).catch(() => undefined);
    try {
      await removeContainer(this.#container);
    } catch (error) {
      await this.#run.kill();
      throw error;
    }
  }
}

/** From one start to its end. */
interface Run {
  readonly connection: GuestConnection;
  /** Undefined: the container is not on this machine, or not in our sight. */
  readonly cgroup: Promise<ContainerCgroup | undefined>;
  /** What the daemon tells, where the groups are not in our sight. */
  readonly followed: Promise<FollowedKills | undefined>;
  memoryKills: number | undefined;
  /** The count after an end that was not ours. */
  final?: Promise<number | undefined>;
  cpuTimeMs: number;
  /** Ends it without the daemon, where it is in our sight. */
  kill(): Promise<void>;
}

async function makeContainer(
  docker: Docker,
  options: Docker.ContainerCreateOptions,
  pendingRemovals: PendingRemovals,
): Promise<Docker.Container> {
  const making = docker.createContainer(options);
  try {
    return await callDaemon(CALL_TIMEOUT_MS, making);
  } catch (error) {
    // It did not say no: it may have made it, or be about to.
    const { name } = options;
    if (statusOf((error as SandboxError).cause) === undefined && name !== undefined) {
      const remains = { remove: () => removeContainer(docker.getContainer(name)) };
      pendingRemovals.add(remains);
      making.then(
        () => pendingRemovals.remove(remains).catch(() => undefined),
        () => undefined,
      );
    }
    throw error;
  }
}

async function startRun(
  container: Docker.Container,
  plan: ContainerPlan,
  events: MemoryEvents,
): Promise<Run> {
  const { signal } = plan.spec;
  const connection = await callDaemon(CALL_TIMEOUT_MS, attach(container));
  const streams = openStreams(connection);
  try {
    signal?.throwIfAborted();
    const starting = { is: true };
    const greeting = greetGuest(streams, {
      timeoutMs: START_TIMEOUT_MS,
      signal,
      failed: whyEnded(container, streams, starting),
    });
    greeting.catch(() => undefined);
    if (plan.ownKernel !== undefined) streams.toGuest.write(withLength(plan.ownKernel.filter));
    await callDaemon(START_TIMEOUT_MS, container.start());
    const runner = await greeting;
    starting.is = false;
    let pid = 0;
    const cgroup = plan.facts.isLocal
      ? callDaemon(KILL_TIMEOUT_MS, container.inspect()).then(
          ({ State }) => {
            pid = State.Pid;
            return ContainerCgroup.find(container.id, State.Pid);
          },
          () => undefined,
        )
      : Promise.resolve(undefined);
    limitSocketMemory(plan, await cgroup);
    const kill = async () => {
      await cgroup;
      // A pid may have been used again: only one that is still in this container's group is meant.
      if (ContainerCgroup.find(container.id, pid) !== undefined) process.kill(pid, "SIGKILL");
    };
    const followed = cgroup.then((found) => (found === undefined ? events.follow(container.id) : undefined));
    const run: Run = { connection: runner, cgroup, followed, memoryKills: undefined, cpuTimeMs: 0, kill };
    runner.closed.then(async (reason) => {
      if (reason !== undefined) run.final = killsAtEnd(container, run);
      await run.final;
      const ended = await followed;
      if (ended !== undefined) events.end(container.id, ended);
    });
    return run;
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

function withLength(bytes: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32LE(bytes.length);
  return Buffer.concat([head, bytes]);
}

/** The kernel may have chosen the guest, or gVisor as a whole; the daemon knows when it has taken note of the end. */
async function killsAtEnd(container: Docker.Container, run: Run): Promise<number | undefined> {
  const before = run.memoryKills;
  const counted = (await run.cgroup)?.memoryKills() ?? before;
  // A busy daemon may take its time: what the kernel says is enough.
  if ((counted ?? 0) > (before ?? 0)) return counted;
  try {
    await callDaemon(STATS_TIMEOUT_MS, container.wait());
    const { State } = await callDaemon(STATS_TIMEOUT_MS, container.inspect());
    const told = (await run.followed)?.count ?? 0;
    return Math.max(counted ?? 0, told, State.OOMKilled ? 1 : 0);
  } catch {
    return counted;
  }
}

/** Why the guest did not get as far as to say hello. */
async function whyEnded(
  container: Docker.Container,
  streams: AttachedStreams,
  starting: { is: boolean },
): Promise<SandboxError> {
  await streams.ended;
  if (!starting.is) return new Promise(() => undefined);
  const state = await callDaemon(STATS_TIMEOUT_MS, container.inspect()).then(
    ({ State }) => State,
    (error: unknown) => explainDockerFailure(error),
  );
  if (state instanceof SandboxError) return state;
  if (state.OOMKilled) {
    return new SandboxError("SANDBOX_START_FAILED", "The container ran out of memory while it started", {
      hint: "limits.memory is too small.",
    });
  }
  const said = streams.complaints() || state.Error || `status ${state.ExitCode}`;
  return new SandboxError(
    "SANDBOX_START_FAILED",
    `The container ended while it started: ${said.replaceAll(/[^\x20-\x7e]+/g, " ").slice(0, 500)}`,
    { hint: "skerry doctor says what this host lacks." },
  );
}

async function killContainer(container: Docker.Container): Promise<void> {
  const ended = container.wait();
  ended.catch(() => undefined);
  // It may have ended by itself, since its input has.
  await callDaemon(KILL_TIMEOUT_MS, container.kill().catch(ignore(CONFLICT)));
  await callDaemon(KILL_TIMEOUT_MS, ended);
}

/** Idempotent: one that is gone is fine, and one that is already being removed is waited for. */
export async function removeContainer(container: Docker.Container): Promise<void> {
  const until = Date.now() + REMOVE_TIMEOUT_MS;
  let mustAsk = true;
  while (Date.now() < until) {
    if (mustAsk) mustAsk = await callDaemon(until - Date.now(), removeOrAskAgain(container));
    const inspected = container.inspect().then(() => true, ignore(NOT_FOUND));
    if ((await callDaemon(until - Date.now(), inspected)) !== true) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new SandboxError("BACKEND_UNAVAILABLE", "the Docker daemon did not remove a container in time");
}

/** Asks for its end. True: Podman was about to kill it when it ended by itself, and wants to be asked again. */
async function removeOrAskAgain(container: Docker.Container): Promise<boolean> {
  try {
    await container.remove({ force: true, v: true });
  } catch (error) {
    if (/container state improper/.test(String(error))) return true;
    ignore(NOT_FOUND, CONFLICT)(error);
  }
  return false;
}

function ignore(...statuses: number[]): (error: unknown) => void {
  return (error) => {
    if (!statuses.includes(statusOf(error) ?? 0)) throw error;
  };
}

/** The HTTP status of what the daemon refused. */
export function statusOf(error: unknown): number | undefined {
  const status = (error as { statusCode?: unknown } | undefined)?.statusCode;
  return typeof status === "number" ? status : undefined;
}

function unclean(why: string): SandboxError {
  return new SandboxError("INTERNAL", `The container cannot be used again: ${why}`);
}

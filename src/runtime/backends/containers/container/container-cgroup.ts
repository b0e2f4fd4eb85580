import { existsSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SandboxError } from "../../../../kit/errors.js";
import type { ResourceUsage } from "../../backend.js";
import type { Controller } from "../../linux/cgroup/cgroup-base.js";
import { readCgroupUsage } from "../../linux/cgroup/cgroup-usage.js";
import { readGroups, readMounts } from "../../linux/cgroup/host-groups.js";
import { socketMemory } from "../daemon/daemon-facts.js";
import { GROUP_OF_ALL } from "./container-options.js";
import type { ContainerPlan } from "./container-plan.js";

const CONTROLLERS: readonly Controller[] = ["memory", "cpu", "cpuacct", "pids"];

/** The groups that a local daemon made for a container, read from outside it. */
export class ContainerCgroup {
  readonly #version: 1 | 2;
  readonly #directories: ReadonlyMap<Controller, string>;

  private constructor(version: 1 | 2, directories: ReadonlyMap<Controller, string>) {
    this.#version = version;
    this.#directories = directories;
  }

  /** Undefined where that process is not the container's, as seen from here: then the daemon is elsewhere. */
  static find(containerId: string, pid: number, proc = "/proc"): ContainerCgroup | undefined {
    if (pid <= 0) return undefined;
    const groups = readGroups(proc, String(pid));
    const mounts = readMounts(proc);
    const directories = new Map<Controller, string>();
    for (const controller of CONTROLLERS) {
      const group = groups.get(controller);
      const mount = mounts.find((each) => each.type === "cgroup" && each.options.includes(controller));
      if (mount !== undefined && group?.includes(containerId)) {
        directories.set(controller, join(mount.path, group));
      }
    }
    if (directories.has("memory")) return new ContainerCgroup(1, directories);
    const unified = mounts.find((each) => each.type === "cgroup2");
    const group = groups.get("");
    if (unified === undefined || !group?.includes(containerId)) return undefined;
    const directory = join(unified.path, group);
    return new ContainerCgroup(2, new Map(CONTROLLERS.map((controller) => [controller, directory])));
  }

  /** How many processes the kernel killed here for want of memory; undefined when the group is gone. */
  memoryKills(): number | undefined {
    const file = this.#version === 1 ? "memory.oom_control" : "memory.events";
    const count = /^oom_kill (\d+)$/m.exec(read(join(this.#directories.get("memory")!, file)))?.[1];
    return count === undefined ? undefined : Number(count);
  }

  usage(): Promise<Pick<ResourceUsage, "cpuTimeMs" | "memoryBytes" | "pids"> | undefined> {
    return readCgroupUsage(this.#version, this.#directories);
  }

  /** Version 1 counts the buffers of sockets apart, and not at all unless they have a limit. False: it did not take. */
  limitSocketMemory(bytes: number): boolean {
    if (this.#version !== 1) return true;
    const file = this.fileOf("memory.kmem.tcp.limit_in_bytes");
    if (file === undefined) return false;
    try {
      writeFileSync(file, String(bytes));
    } catch {
      return false;
    }
    const limit = Number.parseInt(read(file), 10);
    return limit > 0 && limit <= bytes;
  }

  /** One of the memory group's files, where it has that. */
  fileOf(name: string): string | undefined {
    const file = join(this.#directories.get("memory")!, name);
    return existsSync(file) ? file : undefined;
  }

  /** True when no process is left in it. */
  get isEmpty(): boolean {
    return read(join(this.#directories.get("memory")!, "cgroup.procs")).trim() === "";
  }
}

/** Before any program runs. Docker's own setting for it was seen to do nothing. */
export function limitSocketMemory({ spec, facts }: ContainerPlan, cgroup: ContainerCgroup | undefined): void {
  const { memoryMb } = spec.limits;
  if (memoryMb === undefined || socketMemory(facts, process.getuid?.() === 0) !== "ours") return;
  if (cgroup?.limitSocketMemory(Math.floor((memoryMb * 1024 * 1024) / 4)) === true) return;
  throw new SandboxError(
    "SANDBOX_START_FAILED",
    "The memory that sockets take cannot be limited: the container's cgroup is not in sight, or not to be changed",
    {
      hint: "Run where the daemon runs, not in a container; or name it by a tcp address: doctor says what is weaker then.",
    },
  );
}

/** The groups of a container that is gone: runsc leaves them where it fails to start one. */
export function removeGroupsOf(containerId: string, proc = "/proc"): void {
  for (const { path } of readMounts(proc).filter(({ type }) => /^cgroup2?$/.test(type))) {
    try {
      rmdirSync(join(path, GROUP_OF_ALL, containerId));
    } catch {
      // It never was there, or a process is still in it.
    }
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

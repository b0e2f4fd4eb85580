import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CgroupBase, findCgroupBase, reapCgroups, SandboxCgroup } from "./cgroup.js";

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "skerry-cgroup-"));
});

afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** A /proc of a host whose cgroups are ordinary directories of ours. */
function fakeHost(mounts: string, own: string): string {
  mkdirSync(join(directory, "proc/self"), { recursive: true });
  writeFileSync(join(directory, "proc/self/mounts"), mounts);
  writeFileSync(join(directory, "proc/self/cgroup"), own);
  return join(directory, "proc");
}

describe("findCgroupBase", () => {
  it("finds version 1 controllers below our own group", () => {
    for (const path of ["memory/mine", "cpu,cpuacct", "pids"])
      mkdirSync(join(directory, path), { recursive: true });
    const proc = fakeHost(
      `cgroup ${directory}/memory cgroup rw,memory 0 0\ncgroup ${directory}/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\ncgroup ${directory}/pids cgroup rw,pids 0 0\n`,
      "4:memory:/mine\n3:cpu,cpuacct:/\n2:pids:/\n",
    );
    expect(findCgroupBase(proc)).toEqual({
      version: 1,
      directories: new Map([
        ["memory", `${directory}/memory/mine`],
        ["cpu", `${directory}/cpu,cpuacct/`],
        ["pids", `${directory}/pids/`],
      ]),
    });
  });

  it("makes a parent of its own in version 2 and asks for the controllers there are", () => {
    const base = join(directory, "unified/skerry");
    mkdirSync(base, { recursive: true });
    writeFileSync(join(base, "cgroup.controllers"), "cpuset cpu io memory pids\n");
    const found = findCgroupBase(
      fakeHost(`cgroup2 ${directory}/unified cgroup2 rw 0 0\n`, "0::/user.slice\n"),
    );
    expect(found?.version).toBe(2);
    expect([...(found?.directories ?? [])]).toEqual([
      ["memory", base],
      ["cpu", base],
      ["pids", base],
    ]);
    expect(readFileSync(join(base, "cgroup.subtree_control"), "utf8")).toBe("+pids");
  });

  it("finds nothing where nothing can be written", () => {
    expect(
      findCgroupBase(fakeHost(`cgroup ${directory}/missing cgroup rw,memory 0 0\n`, "4:memory:/\n")),
    ).toBeUndefined();
    expect(findCgroupBase(fakeHost("proc /proc proc rw 0 0\n", ""))).toBeUndefined();
  });
});

describe("SandboxCgroup", () => {
  it("writes version 2 limits where the kernel looks for them", () => {
    const base: CgroupBase = {
      version: 2,
      directories: new Map([
        ["memory", directory],
        ["cpu", directory],
        ["pids", directory],
      ]),
    };
    const group = SandboxCgroup.create(base, "x", { memoryMb: 64, cpus: 0.5, pids: 20 });
    const [procs] = group.entryFiles;
    const path = join(procs!, "..");
    expect(readFileSync(join(path, "memory.max"), "utf8")).toBe("67108864");
    expect(readFileSync(join(path, "cpu.max"), "utf8")).toBe("50000 100000");
    expect(readFileSync(join(path, "pids.max"), "utf8")).toBe("20");
    writeFileSync(join(path, "memory.events"), "low 0\noom 2\noom_kill 3\noom_group_kill 0\n");
    expect(group.memoryKills()).toBe(3);
  });

  it("leaves nothing when a limit cannot be set", () => {
    const base: CgroupBase = {
      version: 1,
      directories: new Map([
        ["memory", directory],
        ["cpu", join(directory, "missing")],
      ]),
    };
    expect(() => SandboxCgroup.create(base, "x", { cpus: 1 })).toThrow();
    expect(readdirSync(directory)).toEqual([]);
  });

  it("reaps groups of processes that are gone, and no others", async () => {
    const dead = spawn("true");
    await once(dead, "exit");
    const base: CgroupBase = { version: 1, directories: new Map([["memory", directory]]) };
    mkdirSync(join(directory, `skerry-${dead.pid}-1-a`));
    mkdirSync(join(directory, "skerry-not-a-label"));
    mkdirSync(join(directory, "someone-else"));
    const ours = SandboxCgroup.create(base, "alive", {});
    expect(await reapCgroups(base)).toBe(1);
    expect(readdirSync(directory).length).toBe(3);
    await ours.remove();
    expect(readdirSync(directory).sort()).toEqual(["skerry-not-a-label", "someone-else"]);
  });

  const real = findCgroupBase();
  if (real === undefined) console.log("skipped: real cgroups: none is writable here");
  it.skipIf(real === undefined)("limits memory for real, and its groups can be removed", async () => {
    const group = SandboxCgroup.create(real!, "test", { memoryMb: 32 });
    const enter = group.entryFiles.map((file) => `echo 0 > '${file}'`).join(" && ");
    const child = spawn("sh", ["-c", `${enter} && exec python3 -c "bytearray(10**9)"`], { stdio: "ignore" });
    expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
    expect(group.memoryKills()).toBe(1);
    await group.remove();
    expect(group.entryFiles.some((file) => existsSync(file))).toBe(false);
  });
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../../test/setup/clean-up.js";
import { requires } from "../../../../../test/setup/requires.js";
import { waitUntil } from "../../../../kit/wait-until.js";
import { hasUnlimitedSwap } from "../probe-host.js";
import { reapCgroups, SandboxCgroup } from "./cgroup.js";
import { type CgroupBase, findCgroupBase } from "./cgroup-base.js";

let directory: string;

beforeEach(() => {
  directory = temporaryDirectory();
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
        ["cpuacct", `${directory}/cpu,cpuacct/`],
        ["pids", `${directory}/pids/`],
      ]),
    });
  });

  it("takes the controllers that version 2 shares, and changes nothing while it looks", () => {
    const above = join(directory, "unified");
    mkdirSync(above);
    writeFileSync(join(above, "cgroup.procs"), "");
    for (const name of ["cgroup.controllers", "cgroup.subtree_control"])
      writeFileSync(join(above, name), "cpuset cpu io memory pids\n");
    const before = readdirSync(above).sort();
    const found = findCgroupBase(fakeHost(`cgroup2 ${above} cgroup2 rw 0 0\n`, "0::/user.slice\n"));
    const base = join(above, "skerry");
    expect(found?.version).toBe(2);
    expect([...(found?.directories ?? [])]).toEqual([
      ["memory", base],
      ["cpu", base],
      ["pids", base],
    ]);
    expect(readdirSync(above).sort()).toEqual(before);
    SandboxCgroup.create(found!, "x", { memoryMb: 64 });
    expect(readFileSync(join(base, "cgroup.subtree_control"), "utf8")).toBe("+pids");
  });

  it("does not take a version 1 host that can only count for one that can limit", () => {
    mkdirSync(join(directory, "cpuacct"));
    const proc = fakeHost(`cgroup ${directory}/cpuacct cgroup rw,cpuacct 0 0\n`, "3:cpuacct:/\n");
    expect(findCgroupBase(proc)).toBeUndefined();
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
    const parent = join(directory, "skerry");
    const base: CgroupBase = {
      version: 2,
      directories: new Map([
        ["memory", parent],
        ["cpu", parent],
        ["pids", parent],
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

  it("tells what a version 2 group uses, without the files that the kernel can drop", async () => {
    const base: CgroupBase = { version: 2, directories: new Map([["memory", join(directory, "skerry")]]) };
    const group = SandboxCgroup.create(base, "x", { memoryMb: 64, cpus: 0.5, pids: 20 });
    const path = join(group.entryFiles[0]!, "..");
    expect(await group.usage()).toBeUndefined();
    writeFileSync(join(path, "memory.current"), "50000000\n");
    writeFileSync(join(path, "memory.stat"), "anon 1\ninactive_file 20000000\nactive_file 10000000\n");
    writeFileSync(join(path, "cpu.stat"), "usage_usec 1234500\nuser_usec 1000000\n");
    writeFileSync(join(path, "pids.current"), "7\n");
    expect(await group.usage()).toEqual({
      cpuTimeMs: 1234.5,
      memoryBytes: 20_000_000,
      memoryLimitBytes: 64 * 1024 * 1024,
      pids: 7,
      pidsLimit: 20,
      cpus: 0.5,
    });
    rmSync(join(path, "pids.current"));
    expect(await group.usage()).not.toHaveProperty("pids");
  });

  it("takes version 1 CPU time from the group that counts it, and it never falls", async () => {
    const base: CgroupBase = {
      version: 1,
      directories: new Map([
        ["memory", join(directory, "memory")],
        ["cpu", join(directory, "cpu,cpuacct")],
        ["cpuacct", join(directory, "cpu,cpuacct")],
      ]),
    };
    for (const parent of new Set(base.directories.values())) mkdirSync(parent);
    const group = SandboxCgroup.create(base, "x", { cpus: 2 });
    const [memory, cpu] = group.entryFiles.map((file) => join(file, ".."));
    expect(group.entryFiles.length).toBe(2);
    writeFileSync(join(memory!, "memory.usage_in_bytes"), "5000\n");
    writeFileSync(join(memory!, "memory.stat"), "inactive_file 1\ntotal_inactive_file 6000\n");
    writeFileSync(join(memory!, "tasks"), "12\n13\n");
    writeFileSync(join(cpu!, "cpuacct.usage"), "2500000000\n");
    expect(await group.usage()).toEqual({ cpuTimeMs: 2500, memoryBytes: 0, pids: 2, cpus: 2 });
    writeFileSync(join(cpu!, "cpuacct.usage"), "1\n");
    expect((await group.usage())?.cpuTimeMs).toBe(2500);
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

  it.skipIf(real === undefined)("counts what is swapped out as memory, where the kernel can", async () => {
    const group = SandboxCgroup.create(real!, "test", { memoryMb: 32 });
    const files = ["memory.memsw.limit_in_bytes", "memory.swap.max"]
      .map((name) => join(group.entryFiles[0]!, "..", name))
      .filter(existsSync);
    const limits = files.map((file) => readFileSync(file, "utf8").trim());
    await group.remove();
    const most = real!.version === 1 ? String(32 * 2 ** 20) : "0";
    expect(limits).toEqual(hasUnlimitedSwap() ? [] : files.map(() => most));
  });

  it.each([
    ["without swap", "Filename\n", [], false],
    ["with swap that is counted", "Filename\n/dev/x partition 1\n", ["memory.memsw.limit_in_bytes"], false],
    ["with swap that is not counted", "Filename\n/dev/x partition 1\n", [], true],
  ])("knows a version 1 host %s", (_, swaps, files, expected) => {
    mkdirSync(join(directory, "memory"));
    const proc = fakeHost(`cgroup ${directory}/memory cgroup rw,memory 0 0\n`, "4:memory:/\n");
    writeFileSync(join(proc, "swaps"), swaps);
    for (const file of files) writeFileSync(join(directory, "memory", file), "");
    expect(hasUnlimitedSwap(proc)).toBe(expected);
  });

  it.each([
    ["that counts swap", ["memory.swap.max"], false],
    ["that does not", [], true],
  ])("knows a version 2 host with swap %s", (_, files, expected) => {
    mkdirSync(join(directory, "unified/own"), { recursive: true });
    const proc = fakeHost(`cgroup2 ${directory}/unified cgroup2 rw 0 0\n`, "0::/own\n");
    writeFileSync(join(proc, "swaps"), "Filename\n/dev/x partition 1\n");
    for (const file of files) writeFileSync(join(directory, "unified/own", file), "");
    expect(hasUnlimitedSwap(proc)).toBe(expected);
  });

  const counting = requires("cgroups", "python3");

  /** Starts a Python program in the group; resolves when it has printed a line, and is killed with the group. */
  async function startIn(group: SandboxCgroup, program: string): Promise<string> {
    const enter = group.entryFiles.map((file) => `echo 0 > '${file}'`).join(" && ");
    const child = spawn("sh", ["-c", `${enter} && exec /usr/bin/python3 -c '${program}'`], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const [line] = await once(child.stdout, "data");
    return String(line).trim();
  }

  counting.it.each([
    ["where CPU is limited", { cpus: 4 }],
    ["where it is not", {}],
  ])("counts the CPU time of processes and of their ended children, %s", async (_, limits) => {
    const group = SandboxCgroup.create(real!, "test", limits);
    try {
      const spin = "while time.process_time() < 0.2: pass";
      const program = [
        "import os, sys, time",
        "child = os.fork()",
        spin,
        "if child == 0: os._exit(0)",
        "os.waitpid(child, 0)",
        'print("done", flush=True)',
        "sys.stdin.read()",
      ].join("\n");
      await startIn(group, program);
      const usage = await group.usage();
      expect(usage?.cpuTimeMs).toBeGreaterThanOrEqual(380);
      expect(usage?.pids).toBe(1);
    } finally {
      await group.remove();
    }
    expect(await group.usage()).toBeUndefined();
  });

  counting.it("shares a processor out equally, whatever the number of processes", async () => {
    const spin = (count: number) =>
      [
        "import os, signal",
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})",
        `for _ in range(${count}):`,
        "    if os.fork() == 0:",
        "        while True: pass",
        'print("spinning", flush=True)',
        "signal.pause()",
      ].join("\n");
    const groups = ["many", "few"].map((id) => SandboxCgroup.create(real!, id, {}));
    const usages = () => Promise.all(groups.map(async (group) => (await group.usage())?.cpuTimeMs ?? 0));
    try {
      await startIn(groups[1]!, spin(1));
      await startIn(groups[0]!, spin(30));
      const before = await usages();
      const used = async () => (await usages()).map((now, index) => now - before[index]!);
      await waitUntil(async () => Math.max(...(await used())) > 1000);
      const [many, few] = await used();
      // Without a share of its own the one process gets a thirtieth.
      expect(few! / many!).toBeGreaterThan(0.4);
    } finally {
      await Promise.all(groups.map((group) => group.remove()));
    }
  });

  counting.it("does not take a big file that was read for used memory", async () => {
    // Files in /tmp may be memory themselves.
    const disk = mkdtempSync("/var/tmp/skerry-cgroup-");
    const group = SandboxCgroup.create(real!, "test", { memoryMb: 128 });
    try {
      const program = [
        "import sys",
        `f = open("${disk}/big", "wb+")`,
        'for _ in range(90): f.write(b"x" * 2**20)',
        "for _ in range(2):",
        "    f.seek(0)",
        "    while f.read(2**20): pass",
        'print("done", flush=True)',
        "sys.stdin.read()",
      ].join("\n");
      await startIn(group, program);
      const memory = join(group.entryFiles[0]!, "..");
      const raw = ["memory.usage_in_bytes", "memory.current"]
        .map((name) => join(memory, name))
        .find(existsSync);
      expect(Number(readFileSync(raw!, "utf8"))).toBeGreaterThan(60 * 2 ** 20);
      const usage = await group.usage();
      expect(usage?.memoryBytes).toBeLessThan(45 * 2 ** 20);
      expect(usage?.memoryLimitBytes).toBe(128 * 2 ** 20);
    } finally {
      await group.remove();
      rmSync(disk, { recursive: true, force: true });
    }
  });

  requires("root", "cgroups").it(
    "leaves the sandboxes of a Skerry in another pid namespace alone",
    async () => {
      const bundle = join(directory, "cgroup.mjs");
      await build({
        entryPoints: [fileURLToPath(new URL("cgroup.ts", import.meta.url))],
        bundle: true,
        platform: "node",
        format: "esm",
        packages: "external",
        outfile: bundle,
      });
      const program = `import { spawn } from "node:child_process";
      import { SandboxCgroup } from ${JSON.stringify(bundle)};
      const base = { version: ${real!.version}, directories: new Map(${JSON.stringify([...real!.directories])}) };
      const group = SandboxCgroup.create(base, "inside", { memoryMb: 64 });
      const enter = group.entryFiles.map((file) => "echo 0 > '" + file + "'").join(" && ");
      const child = spawn("sh", ["-c", enter + " && echo in && exec sleep 600"], { stdio: ["ignore", "pipe", "inherit"] });
      child.stdout.once("data", () => process.stdout.write(group.entryFiles[0] + "\\n"));
      process.stdin.once("end", async () => { child.kill("SIGKILL"); await group.remove(); process.exit(0); }).resume();`;
      const other = spawn(
        "unshare",
        ["--pid", "--fork", "--mount-proc", process.execPath, "--input-type=module", "--eval", program],
        { stdio: ["pipe", "pipe", "inherit"] },
      );
      const [line] = await once(other.stdout, "data");
      const group = join(String(line).trim(), "..");
      const processes = () => readFileSync(join(group, "cgroup.procs"), "utf8").trim().split("\n").length;
      await reapCgroups(real!);
      expect(processes()).toBe(1);
      other.stdin.end();
      await once(other, "exit");
      expect(existsSync(group)).toBe(false);
    },
  );

  it.skipIf(real === undefined)(
    "says that a group stays busy, and removes it once it can",
    async () => {
      const group = SandboxCgroup.create(real!, "busy", {});
      const path = join(group.entryFiles[0]!, "..");
      // A group below it keeps it, as a process does that the kernel cannot end yet.
      mkdirSync(join(path, "inner"));
      const warned = once(process, "warning");
      await group.remove();
      expect((await warned)[0]).toMatchObject({ code: "SKERRY_CGROUP_BUSY" });
      rmdirSync(join(path, "inner"));
      await waitUntil(() => !existsSync(path));
    },
    60_000,
  );
});

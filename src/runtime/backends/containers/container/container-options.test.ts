import { expect, it } from "vitest";
import type { CreateSpec } from "../../backend.js";
import { describeDaemon } from "../daemon/daemon-facts.js";
import { containerOptions, mountedPaths } from "./container-options.js";
import type { ContainerPlan } from "./container-plan.js";
import { findUnexpectedChange } from "./writable-layer.js";

const spec: CreateSpec = {
  id: "sbx-1",
  sessionKey: "someone",
  ephemeral: true,
  directory: { path: "/state/sessions/one" },
  limits: {
    memoryMb: 512,
    cpus: 0.5,
    pids: 128,
    openFiles: 1024,
    fileSizeMb: 2,
    workspaceMb: 1024,
    tmpMb: 8,
  },
  requestedLimits: {},
  filesystem: { allowRead: [], allowWrite: [], denyRead: [], denyWrite: [] },
};

const facts = describeDaemon(
  { Version: "20.10.24", Arch: "amd64" },
  {
    CgroupVersion: "1",
    CgroupDriver: "cgroupfs",
    MemoryLimit: true,
    SwapLimit: true,
    CpuCfsQuota: true,
    PidsLimit: true,
  },
  true,
);

const plan: ContainerPlan = {
  spec,
  stateDir: "/state",
  facts,
  runtime: undefined,
  ownKernel: undefined,
  networkMode: "none",
  image: "sha256:1",
  imageVolumes: ["/var/lib/data"],
  user: { uid: 1900000001, gid: 1900000001 },
  guest: { kind: "directory", path: "/state/runtime/1", program: "skerry-guest" },
  workspace: "/state/mounts/1/workspace",
  files: { "/etc/passwd": "/state/mounts/1/etc/passwd" },
};

const ownKernel = {
  title: "gVisor",
  hostThreads: 4096,
  guestCapabilities: ["KILL", "SETUID", "SETGID", "SETPCAP", "SYS_ADMIN"],
  guestArguments: ({ uid, gid }: ContainerPlan["user"]) => ["--gvisor", String(uid), String(gid)],
  loadFilter: async () => Buffer.alloc(8),
  filter: Buffer.alloc(8),
  remedyFor: () => undefined,
  inspect: async () => ({ problems: [] }),
};
const inGvisor: ContainerPlan = { ...plan, ownKernel, runtime: "runsc" };

it("asks for every wall, whatever the image says", () => {
  const { HostConfig, ...options } = containerOptions(plan);
  expect(options).toMatchObject({
    Image: "sha256:1",
    Entrypoint: ["/opt/skerry/skerry-guest"],
    Cmd: [],
    Env: [],
    User: "1900000001:1900000001",
    WorkingDir: "/workspace",
    Hostname: "skerry",
    Tty: false,
    OpenStdin: true,
    StdinOnce: true,
    NetworkDisabled: true,
    Healthcheck: { Test: ["NONE"] },
  });
  expect(HostConfig).toMatchObject({
    NetworkMode: "none",
    ReadonlyRootfs: true,
    Privileged: false,
    CapDrop: ["ALL"],
    Memory: 512 * 1024 * 1024,
    MemorySwap: 512 * 1024 * 1024,
    MemorySwappiness: 0,
    NanoCpus: 5e8,
    PidsLimit: 128,
    IpcMode: "private",
    CgroupnsMode: "private",
    ShmSize: 8 * 1024 * 1024,
    CgroupParent: "/skerry",
    LogConfig: { Type: "none" },
    AutoRemove: false,
    RestartPolicy: { Name: "no" },
  });
  expect(HostConfig?.SecurityOpt?.[0]).toBe("no-new-privileges");
  expect(JSON.parse(HostConfig!.SecurityOpt![1]!.replace("seccomp=", ""))).toMatchObject({
    defaultAction: "SCMP_ACT_ERRNO",
  });
  expect(HostConfig?.Ulimits).toEqual([
    { Name: "core", Soft: 0, Hard: 0 },
    { Name: "msgqueue", Soft: 819_200, Hard: 819_200 },
    { Name: "nofile", Soft: 1024, Hard: 1024 },
    { Name: "fsize", Soft: 2 * 1024 * 1024, Hard: 2 * 1024 * 1024 },
  ]);
  expect(HostConfig?.MaskedPaths).toEqual(
    expect.arrayContaining([
      "/sys",
      "/proc/sys",
      "/proc/keys",
      "/proc/kallsyms",
      "/proc/cmdline",
      "/proc/kcore",
    ]),
  );
  // Of what is shared with the host, only the workspace can be written to.
  expect(HostConfig?.Mounts?.filter(({ ReadOnly }) => ReadOnly !== true).map(({ Target }) => Target)).toEqual(
    ["/workspace"],
  );
});

it("limits what an image would have as volumes of its own", () => {
  expect(containerOptions(plan).HostConfig?.Tmpfs).toMatchObject({
    "/var/lib/data": expect.stringContaining(`size=${8 * 1024 * 1024}`),
  });
});

it("keeps a workspace over the wire in half of the memory, unless a size was asked for", () => {
  const { workspace: _, ...rest } = plan;
  const size = (requestedLimits: CreateSpec["requestedLimits"]) =>
    /size=(\d+)/.exec(
      containerOptions({ ...rest, workspace: undefined, spec: { ...spec, requestedLimits } }).HostConfig!
        .Tmpfs!["/workspace"]!,
    )?.[1];
  expect([size({}), size({ workspaceMb: 1024 })]).toEqual([String(256 << 20), String(1024 << 20)]);
});

it("names containers so that none collides, and those of a session are found together", () => {
  const name = (id: string, sessionKey: string, part?: string) =>
    containerOptions({ ...plan, spec: { ...spec, id, sessionKey }, ...(part !== undefined && { part }) })
      .name!;
  const names = [name("sbx-1", "a"), name("sbx-2", "a"), name("sbx-1", "b"), name("sbx-1", "a", "python")];
  expect(new Set(names).size).toBe(4);
  expect(name("sbx-1", "a/../b c")).toMatch(/^[a-zA-Z0-9][a-zA-Z0-9_.-]+$/);
  expect(names[0]!.split("-")[1]).toBe(names[1]!.split("-")[1]);
});

it("gives gVisor's kernel the limit of processes, and the host's a wider one", () => {
  const { HostConfig } = containerOptions(inGvisor);
  expect([HostConfig?.Runtime, HostConfig?.PidsLimit]).toEqual(["runsc", 4096]);
  expect(HostConfig?.Ulimits).toContainEqual({ Name: "nproc", Soft: 128, Hard: 128 });
});

it("lets the guest in gVisor, and no other, start as root of the container with what it separates itself by", () => {
  const { HostConfig, Cmd, User, Entrypoint } = containerOptions(inGvisor);
  expect([Entrypoint, Cmd]).toEqual([["/opt/skerry/skerry-guest"], ["--gvisor", "1900000001", "1900000001"]]);
  expect([User, HostConfig?.CapDrop, HostConfig?.CapAdd]).toEqual([
    "0:0",
    ["ALL"],
    ["KILL", "SETUID", "SETGID", "SETPCAP", "SYS_ADMIN"],
  ]);
  // Where the runtime is another after all, these hold until the guest has noticed.
  expect(HostConfig?.SecurityOpt).toEqual(containerOptions(plan).HostConfig?.SecurityOpt);
  expect(HostConfig?.Privileged).toBe(false);

  for (const runtime of [undefined, "runc", "runsc"]) {
    const other = containerOptions({ ...plan, runtime });
    expect([other.User, other.Cmd, other.HostConfig?.CapAdd]).toEqual([
      "1900000001:1900000001",
      [],
      undefined,
    ]);
  }
});

it("takes only the runtime's own directories for no change of a container", () => {
  const mounted = mountedPaths(plan);
  const added = (Path: string, Kind = 1) => ({ Path, Kind });
  expect(
    findUnexpectedChange(
      [added("/opt", 0), added("/opt/skerry"), added("/workspace"), added("/etc", 0)],
      mounted,
    ),
  ).toBe(undefined);
  for (const path of ["/workspace/file", "/usr/bin/python3", "/optional", "/etc/cron.d"]) {
    expect(findUnexpectedChange([added(path)], mounted)).toBe(path);
  }
  expect(findUnexpectedChange([added("/workspace", 2)], mounted)).toBe("/workspace");
});

import { expect, it } from "vitest";
import { describeDaemon } from "../../daemon/daemon-facts.js";
import { containerOptions, mountedPaths } from "../container-options.js";
import type { ContainerPlan } from "../container-plan.js";

const facts = describeDaemon(
  { Version: "4.3.1", Arch: "amd64", Components: [{ Name: "Podman Engine" }] },
  { CgroupVersion: "1", CgroupDriver: "cgroupfs", MemoryLimit: true, PidsLimit: true, CpuCfsQuota: true },
  true,
  ["memory", "cpu", "pids"],
);

const plan: ContainerPlan = {
  spec: {
    id: "sbx-1",
    sessionKey: "someone",
    ephemeral: true,
    directory: { path: "/state/sessions/one" },
    limits: { memoryMb: 512, cpus: 0.5, pids: 128, openFiles: 1024, workspaceInodes: 99, tmpMb: 8 },
    requestedLimits: {},
    filesystem: { allowRead: [], allowWrite: [], denyRead: [], denyWrite: [] },
  },
  stateDir: "/state",
  facts,
  runtime: undefined,
  ownKernel: undefined,
  networkMode: "none",
  image: "sha256:1",
  imageVolumes: [],
  user: { uid: 1000, gid: 1000 },
  guest: { kind: "volume", name: "skerry-guest-1", program: "ready" },
  workspace: undefined,
  files: {},
  podman: { profile: "/state/podman/1/seccomp.json", etc: { "/etc/hosts": "/state/podman/1/hosts" } },
};

it("says to Podman in its own words what it would ignore in Docker's", () => {
  const { HostConfig } = containerOptions(plan);
  expect(HostConfig).toMatchObject({
    ReadonlyRootfs: true,
    CapDrop: ["ALL"],
    Memory: 512 * 1024 * 1024,
    PidsLimit: 128,
    // Otherwise containers.conf decides.
    UsernsMode: "host",
    PidMode: "private",
    UTSMode: "private",
    IpcMode: "private",
    Tmpfs: {
      "/run": "rw,noexec,nosuid,nodev,notmpcopyup,mode=755,size=65536",
      "/var/tmp": "rw,noexec,nosuid,nodev,notmpcopyup,mode=755,size=65536",
      "/tmp": `rw,exec,nosuid,nodev,mode=1777,size=${8 << 20},notmpcopyup`,
      "/workspace": `rw,exec,nosuid,nodev,mode=700,size=${256 << 20},U,notmpcopyup`,
    },
  });
  expect(HostConfig.MaskedPaths).toBeUndefined();
  const [privileges, profile, masked] = HostConfig.SecurityOpt as string[];
  expect([privileges, profile]).toEqual(["no-new-privileges", "seccomp=/state/podman/1/seccomp.json"]);
  expect(masked!.replace("mask=", "").split(":")).toEqual(
    expect.arrayContaining(["/sys", "/proc/sys", "/proc/keys", "/proc/kcore", "/run/secrets"]),
  );
  expect(HostConfig.Ulimits).toContainEqual({ Name: "nproc", Soft: 32_768, Hard: 32_768 });
});

it("covers Podman's copy of the host's names, unless the sandbox has files of its own", () => {
  expect(mountedPaths(plan)).toContain("/etc/hosts");
  const own = containerOptions({ ...plan, files: { "/etc/hosts": "/state/mounts/1/etc/hosts" } });
  expect(own.HostConfig.Mounts?.filter(({ Target }) => Target === "/etc/hosts")).toEqual([
    { Type: "bind", Source: "/state/mounts/1/etc/hosts", Target: "/etc/hosts", ReadOnly: true },
  ]);
});

it("makes no container without the profile's file", () => {
  const { podman: _, ...rest } = plan;
  expect(() => containerOptions(rest)).toThrow("files are not written");
});

it.each(["/work,ro=false", '/a"b', "/a\nb"])(
  "refuses the directory %j, which Podman would misread",
  (workspace) => {
    expect(() => containerOptions({ ...plan, workspace })).toThrow("Podman takes no directory with a comma");
  },
);

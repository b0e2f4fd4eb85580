import { describe, expect, it } from "vitest";
import { DEFAULT_CONFIG } from "../../../../core/config/index.js";
import { findHostFacts } from "../../linux/host-facts.js";
import { blockers, capabilitiesOf, sharesFiles, weaknesses } from "../probe.js";
import { describeDaemon, type InfoAnswer, type VersionAnswer } from "./daemon-facts.js";

/** Which limits a daemon says that it enforces. */
const limits = (enforced: boolean) => ({
  MemoryLimit: enforced,
  SwapLimit: enforced,
  CpuCfsQuota: enforced,
  PidsLimit: enforced,
});

/** The parts that we read of what real daemons answered. */
const ANSWERS: Record<string, readonly [VersionAnswer, InfoAnswer]> = {
  docker: [
    {
      Version: "20.10.24+dfsg1",
      Arch: "amd64",
      Components: [
        { Name: "Engine", Version: "20.10.24+dfsg1" },
        { Name: "containerd", Version: "1.6.20~ds1" },
      ],
    },
    {
      OperatingSystem: "Debian GNU/Linux 12 (bookworm)",
      SecurityOptions: ["name=seccomp,profile=default"],
      Runtimes: { "io.containerd.runc.v2": { path: "runc" }, runc: { path: "runc" } },
      CgroupVersion: "1",
      CgroupDriver: "cgroupfs",
      ...limits(true),
    },
  ],
  rootless: [
    { Version: "24.0.7", Arch: "arm64", Components: [{ Name: "Engine", Version: "24.0.7" }] },
    {
      OperatingSystem: "Ubuntu 22.04.3 LTS",
      SecurityOptions: ["name=seccomp,profile=builtin", "name=rootless", "name=cgroupns"],
      Runtimes: { runc: { path: "runc" } },
      CgroupVersion: "2",
      CgroupDriver: "none",
      ...limits(false),
    },
  ],
  podman: [
    {
      Version: "4.3.1",
      Arch: "amd64",
      Components: [
        { Name: "Podman Engine", Version: "4.3.1" },
        { Name: "Conmon", Version: "conmon version 2.1.6, commit: unknown" },
      ],
    },
    {
      BuildahVersion: "1.28.2",
      OperatingSystem: "debian",
      SecurityOptions: ["name=seccomp,profile=default"],
      DefaultRuntime: "/usr/sbin/runc",
      Runtimes: { crun: { path: "/usr/bin/crun" }, runc: { path: "/usr/bin/runc" } },
      CgroupVersion: "1",
      CgroupDriver: "cgroupfs",
      ...limits(true),
    },
  ],
  "rootless podman": [
    { Version: "4.3.1", Arch: "amd64", Components: [{ Name: "Podman Engine", Version: "4.3.1" }] },
    {
      BuildahVersion: "1.28.2",
      Rootless: true,
      OperatingSystem: "debian",
      SecurityOptions: ["name=seccomp,profile=default"],
      DefaultRuntime: "crun",
      Runtimes: {},
      CgroupVersion: "2",
      CgroupDriver: "systemd",
      ...limits(true),
    },
  ],
  desktop: [
    { Version: "24.0.6", Arch: "arm64", Components: [{ Name: "Engine", Version: "24.0.6" }] },
    {
      OperatingSystem: "Docker Desktop",
      SecurityOptions: ["name=seccomp,profile=unconfined", "name=cgroupns"],
      Runtimes: { runc: { path: "runc" } },
      CgroupVersion: "2",
      CgroupDriver: "cgroupfs",
      ...limits(true),
    },
  ],
};

const options = { ...DEFAULT_CONFIG.sandbox.backends.docker, name: "docker" as const };
const host = { ...findHostFacts(undefined), isRoot: true, canMountImages: true };
const CONTROLLERS = ["cpuset", "cpu", "memory", "pids"];
const told = (name: string, isLocal = true, controllers = CONTROLLERS) => {
  const [version, info] = ANSWERS[name]!;
  return describeDaemon(version, info, isLocal, controllers);
};
const words = (problems: readonly { what: string; remedy?: string }[]) =>
  problems.map(({ what, remedy }) => `${what}: ${remedy}`).join("\n");

describe("describeDaemon", () => {
  it.each([
    ["docker", { name: "Docker", version: "20.10.24+dfsg1", architecture: "x64", isRootless: false }],
    ["rootless", { name: "Docker", architecture: "arm64", isRootless: true, cgroupVersion: 2 }],
    ["podman", { name: "Podman", version: "4.3.1", isRootless: false, cgroupVersion: 1 }],
    ["rootless podman", { name: "Podman", isRootless: true, cgroupDriver: "systemd" }],
    ["desktop", { name: "Docker", isDesktop: true, isRootless: false }],
  ])("knows %s", (name, facts) => {
    expect(told(name)).toMatchObject(facts);
  });

  it("takes what a daemon leaves out for missing", () => {
    const { limits, runtimes } = describeDaemon({}, { SecurityOptions: null, Runtimes: null }, true);
    expect(limits).toEqual({ memory: false, swap: false, cpu: false, pids: false, ulimits: true });
    expect(runtimes).toEqual([]);
  });

  it("believes of Podman's limits only those that it has the controllers for", () => {
    expect(told("podman").limits).toEqual({ memory: true, swap: true, cpu: true, pids: true, ulimits: true });
    // Its info names what its machine has, which a user's own Podman may not use.
    expect(told("rootless podman", true, ["pids"]).limits).toEqual({
      memory: false,
      swap: false,
      cpu: false,
      pids: true,
      ulimits: false,
    });
  });
});

describe("sharesFiles", () => {
  it("only as root, with a daemon of this machine that has this machine's users", () => {
    const names = Object.keys(ANSWERS);
    expect(names.filter((name) => sharesFiles(options, told(name), true))).toEqual(["docker", "podman"]);
    expect(names.filter((name) => sharesFiles(options, told(name), false))).toEqual([]);
    expect(names.filter((name) => sharesFiles(options, told(name, false), true))).toEqual([]);
  });
});

describe("what is weaker", () => {
  it.each([
    ["docker", true, ""],
    ["podman", true, "sandboxes see the name of their cgroup on this host"],
    ["docker", false, "the daemon is on another machine"],
    ["desktop", true, "the daemon runs in a machine of its own"],
    ["rootless podman", true, "the daemon is rootless"],
  ])("with %s (local: %s)", (name, isLocal, why) => {
    const found = weaknesses(options, told(name, isLocal), host);
    expect(words(found)).toContain(why);
    expect(found.length > 0).toBe(why !== "");
  });

  it("says what a rootless daemon without delegation cannot limit, and what it needs", () => {
    expect(words(weaknesses(options, told("rootless"), host))).toContain(
      "the daemon cannot limit memory, CPU time, processes: Rootless daemons need cgroup version 2 with delegation",
    );
    expect(words(blockers({ ...options, shareFiles: "always" }, told("rootless")))).toContain(
      "a rootless daemon cannot share directories",
    );
  });

  it("asks Docker for its runtimes, and Podman, which takes none, for the one that it uses", () => {
    const other = { ...options, runtime: "runsc" };
    expect(words(blockers(other, told("docker")))).toContain("no runtime runsc");
    expect(words(blockers(other, told("podman")))).toContain("containers would get runc, not runsc");
    expect(blockers({ ...options, runtime: "runc" }, told("podman"))).toEqual([]);
  });

  it("refuses a Podman of another machine, which could not read our profile, and no other", () => {
    expect(words(blockers(options, told("podman", false)))).toContain(
      "Podman reads a seccomp profile from a file of its own machine only",
    );
    for (const name of ["podman", "rootless podman", "docker"])
      expect(blockers(options, told(name))).toEqual([]);
    expect(blockers(options, told("docker", false))).toEqual([]);
  });

  it("refuses a rootless Podman under cgroup version 1, whose own group would be seen inside", () => {
    const [version, info] = ANSWERS["rootless podman"]!;
    const found = blockers(options, describeDaemon(version, { ...info, CgroupVersion: "1" }, true));
    expect(words(found)).toContain(
      "its sandboxes would see where it runs on this host: Use cgroup version 2",
    );
  });

  it("claims nothing that Podman ignores: ulimits where it is rootless, the number of files in memory", () => {
    const claims = (name: string, isRoot: boolean) => {
      const { openFilesLimit, fileSizeLimit, workspaceLimit } = capabilitiesOf(options, told(name), {
        ...host,
        isRoot,
      });
      return [openFilesLimit, fileSizeLimit, workspaceLimit];
    };
    expect(claims("podman", true)).toEqual([true, true, true]);
    expect(claims("podman", false)).toEqual([true, true, false]);
    expect(claims("rootless podman", false)).toEqual([false, false, false]);
    expect(claims("rootless", false)).toEqual([true, true, true]);
    const said = words(weaknesses(options, told("rootless podman"), { ...host, isRoot: false }));
    expect(said).toContain("ignores limits of open files");
    expect(said).toContain("Podman takes no such limit");
  });
});

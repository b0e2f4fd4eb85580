import { describe, expect, it } from "vitest";
import { DEFAULT_CONFIG } from "../../config/index.js";
import { findHostFacts } from "../bubblewrap/probe.js";
import { describeDaemon, type InfoAnswer, type VersionAnswer } from "./daemon.js";
import { hindrances, sharesFiles, weaknesses } from "./probe.js";

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
      MemoryLimit: true,
      SwapLimit: true,
      CpuCfsQuota: true,
      PidsLimit: true,
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
      MemoryLimit: false,
      SwapLimit: false,
      CpuCfsQuota: false,
      PidsLimit: false,
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
      OperatingSystem: "debian",
      SecurityOptions: ["name=seccomp,profile=default"],
      Runtimes: { crun: { path: "/usr/bin/crun" }, runc: { path: "/usr/bin/runc" } },
      CgroupVersion: "1",
      CgroupDriver: "cgroupfs",
      MemoryLimit: true,
      SwapLimit: true,
      CpuCfsQuota: true,
      PidsLimit: true,
    },
  ],
  "rootless podman": [
    { Version: "4.3.1", Arch: "amd64", Components: [{ Name: "Podman Engine", Version: "4.3.1" }] },
    {
      OperatingSystem: "debian",
      SecurityOptions: ["name=seccomp,profile=default", "name=rootless"],
      Runtimes: {},
      CgroupVersion: "2",
      CgroupDriver: "systemd",
      MemoryLimit: true,
      SwapLimit: true,
      CpuCfsQuota: true,
      PidsLimit: true,
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
      MemoryLimit: true,
      SwapLimit: true,
      CpuCfsQuota: true,
      PidsLimit: true,
    },
  ],
};

const options = { ...DEFAULT_CONFIG.sandbox.backends.docker, name: "docker" as const };
const host = { ...findHostFacts(undefined), isRoot: true, canMountImages: true };
const told = (name: string, isLocal = true) => {
  const [version, info] = ANSWERS[name]!;
  return describeDaemon(version, info, isLocal);
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
    expect([Object.values(limits), runtimes]).toEqual([[false, false, false, false], []]);
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
    ["podman", true, ""],
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
    expect(words(hindrances({ ...options, shareFiles: "always" }, told("rootless")))).toContain(
      "a rootless daemon cannot share directories",
    );
  });

  it("asks Docker for its runtimes, and not Podman, which finds them by itself", () => {
    const other = { ...options, runtime: "runsc" };
    expect(words(hindrances(other, told("docker")))).toContain("no runtime runsc");
    expect(words(hindrances(other, told("podman")))).not.toContain("runtime");
  });

  it("says that Podman cannot be used, since it takes no profile", () => {
    expect(words(hindrances(options, told("podman")))).toContain("Podman does not take a seccomp profile");
    expect(hindrances(options, told("docker"))).toEqual([]);
  });
});

import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type Docker from "dockerode";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectDocker } from "../../src/runtime/backends/containers/daemon/connect.js";
import { PROFILE } from "../../src/runtime/backends/linux/seccomp/profile.js";
import type { SeccompArch } from "../../src/runtime/backends/linux/seccomp/syscall-numbers.js";
import { temporaryDirectory } from "../setup/clean-up.js";
import { DOCKER_START_MS, startDocker } from "../setup/docker.js";
import { requires } from "../setup/requires.js";
import {
  type Attempt,
  ENOSYS,
  EPERM,
  each,
  MARK_MISSING,
  MARKED_PROFILE,
  OPEN_TO_ANYONE,
  PRIVILEGED,
  readOutcomes,
  unnamedCalls,
  writeAttempts,
} from "../setup/seccomp-attempts.js";
import { runInContainer } from "./seccomp-container.js";
import { PROGRAMS } from "./seccomp-programs.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FILE = readFileSync(join(ROOT, "deploy/images/sandbox/seccomp.json"), "utf8");
/** Dies of what the profile refuses without saying how: a missing privilege would be an error. */
const DEADLY_PROFILE = { ...PROFILE, defaultAction: "SCMP_ACT_TRAP", defaultErrnoRet: undefined };
const arch = process.arch as SeccompArch;

describe("deploy/images/sandbox/seccomp.json", () => {
  it("is the profile of the sandboxes; else run: node deploy/images/sandbox/write-seccomp.mjs", () => {
    expect(FILE).toBe(`${JSON.stringify(PROFILE, null, 2)}\n`);
  });
});

const containers = requires("linux", "root", "docker", "debootstrap", "gcc");
const RUNTIMES = requires("gvisor").missing.length === 0 ? ["runc", "runsc"] : ["runc"];

containers.describe("the profile in a container", () => {
  let docker: Docker;
  let image: string;
  let directory: string;

  beforeAll(async () => {
    const started = await startDocker();
    docker = await connectDocker({ host: started.host });
    image = started.image;
    directory = temporaryDirectory();
    chmodSync(directory, 0o755);
    const source = join(ROOT, "src/runtime/backends/linux/seccomp/probe.c");
    execFileSync("gcc", ["-O1", "-static", "-o", join(directory, "probe"), source]);
  }, DOCKER_START_MS);
  afterAll(() => directory !== undefined && rmSync(directory, { recursive: true, force: true }));

  describe.each(RUNTIMES)("under %s", (runtime) => {
    it.each(PROGRAMS)("suffices for $name", async ({ script, output }) => {
      const command = ["bash", "-c", `set -eo pipefail\n${script}`];
      const run = await runInContainer(docker, { image, runtime, profile: FILE, command });
      expect(run).toEqual({ status: 0, stdout: output, stderr: "" });
    });
  });

  /** Makes the calls in one container and says what became of each. */
  async function probe(attempts: readonly Attempt[], profile: object | "unconfined") {
    const run = await runInContainer(docker, {
      image,
      directory,
      profile: typeof profile === "string" ? profile : JSON.stringify(profile),
      command: [join(directory, "probe")],
      input: writeAttempts(attempts, arch),
    });
    expect({ status: run.status, stderr: run.stderr }).toEqual({ status: 0, stderr: "" });
    return readOutcomes(run.stdout);
  }

  const forbidden = [...OPEN_TO_ANYONE, ...PRIVILEGED];

  it("refuses every forbidden call, made one by one", async () => {
    expect(await probe(forbidden, PROFILE)).toEqual(each(forbidden, `errno ${EPERM}`));
  });

  it("refuses all that itself, not for lack of privileges", async () => {
    expect(await probe(forbidden, DEADLY_PROFILE)).toEqual(each(forbidden, "signal 31"));
  });

  it("is what stands between a program and most of it", async () => {
    const outcomes = await probe(OPEN_TO_ANYONE, "unconfined");
    expect(outcomes).toMatchObject({ "ptrace-traceme": "ok", "socket-netlink": "ok", "clone-parent": "ok" });
  });

  it("refuses every call that it does not name", async () => {
    const attempts = unnamedCalls(arch);
    expect(attempts.length).toBeGreaterThan(60);
    const outcomes = await probe(attempts, DEADLY_PROFILE);
    // runc itself answers for calls that are newer than every one in a profile.
    const refused = ["signal 31", `errno ${ENOSYS}`];
    expect(Object.entries(outcomes).filter(([, outcome]) => !refused.includes(outcome))).toEqual([]);
    expect(Object.keys(outcomes)).toEqual(attempts.map(([label]) => label));
  });

  it("reports as missing what callers fall back from", async () => {
    const names = ["clone3", "io_uring_setup", "io_uring_enter", "io_uring_register", "io_setup"];
    const attempts = names.map((name): Attempt => [name, name]);
    expect(await probe(attempts, PROFILE)).toEqual(each(attempts, `errno ${ENOSYS}`));
    expect(await probe(attempts, MARKED_PROFILE)).toEqual(each(attempts, `errno ${MARK_MISSING}`));
  });

  it.skipIf(arch !== "x64")("kills a process that makes a 32-bit call", async () => {
    expect(await probe([["int80", "int80"]], PROFILE)).toEqual({ int80: "signal 31" });
  });
});

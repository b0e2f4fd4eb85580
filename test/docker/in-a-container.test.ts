import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import type { Diagnosis } from "../../src/core/manager/index.js";
import { CONTAINER_PROFILE } from "../../src/runtime/backends/linux/seccomp/container-profile.js";
import { temporaryDirectory } from "../setup/clean-up.js";
import { DOCKER_START_MS, startDocker } from "../setup/docker.js";
import { requires } from "../setup/requires.js";

const ROOT = join(import.meta.dirname, "../..");
const PROFILE = join(ROOT, "deploy/container/seccomp-skerry.json");
const IMAGE = "skerry-test-in-a-container:1";

/** The options of `docker run` in the guide. */
const guide = readFileSync(join(ROOT, "docs/operate/in-a-container.md"), "utf8");
const [line] = guide.match(/^docker run .*$/m)!;
const OPTIONS = [...line.matchAll(/--security-opt (\S+)/g)].map(([, option]) =>
  option!.replace("deploy/", `${ROOT}/deploy/`),
);
const UNCONFINED = OPTIONS.map((option) => option.replace(/^seccomp=.*/, "seccomp=unconfined"));

const USERS: readonly [string, string[]][] = [
  ["an ordinary user", ["--user=1000:1000"]],
  ["root", []],
  ["root with few capabilities", ["--cap-drop=ALL", ...capabilitiesOf(guide)]],
  ["root that may mount", ["--cap-add=SYS_ADMIN", "--cap-add=SYS_PTRACE"]],
];

function capabilitiesOf(text: string): string[] {
  return text
    .slice(text.indexOf("--cap-drop ALL"))
    .match(/--cap-add\s+\w+/g)!
    .map((option) => option.replace(/\s+/, "="));
}

const { describe, it } = requires("linux", "root", "docker", "bubblewrap");

describe("Skerry in a Docker container", () => {
  let host: string;
  let copy: string;

  beforeAll(async () => {
    ({ host } = await startDocker());
    copy = temporaryDirectory();
    for (const name of ["dist/bin", "dist/seccomp", "prebuilt", "package.json"])
      cpSync(join(ROOT, name), join(copy, name), { recursive: true });
    execFileSync("chmod", ["-R", "a+rX", copy]);
    const image = temporaryDirectory();
    for (const name of ["usr", "opt/skerry", "etc", "tmp", "proc", "sys", "dev"])
      mkdirSync(join(image, name), { recursive: true });
    for (const name of ["bin", "sbin", "lib", "lib64"]) symlinkSync(`usr/${name}`, join(image, name));
    execFileSync("chmod", ["1777", join(image, "tmp")]);
    const archive = join(temporaryDirectory(), "image.tar");
    execFileSync("tar", ["-C", image, "-cf", archive, "."]);
    docker("import", archive, IMAGE);
  }, DOCKER_START_MS);
  afterAll(() => host !== undefined && docker("rmi", "--force", IMAGE));

  const docker = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync("docker", ["-H", host, ...args], { encoding: "utf8" });
    return { status, stdout, stderr };
  };

  /** Its programs are this machine's. */
  function skerry(security: readonly string[], user: readonly string[], ...args: string[]) {
    return docker(
      ...["run", "--rm", "--network=none", "-v", "/usr:/usr:ro", "-v", `${copy}:/opt/skerry:ro`],
      ...["-e", "SKERRY_STATE_DIR=/tmp/state", ...user],
      ...security.flatMap((option) => ["--security-opt", option]),
      ...[IMAGE, process.execPath, "/opt/skerry/dist/bin/skerry.cjs", ...args],
    );
  }

  it.each(USERS)("runs programs with the options of the guide, as %s", (_, user) => {
    const found = skerry(
      OPTIONS,
      user,
      "exec",
      "--",
      "sh",
      "-c",
      "id -u; ls /proc/1/cmdline; mount -t tmpfs x /mnt; exit 3",
    );
    expect(found).toEqual({
      status: 3,
      stdout: "1000\n/proc/1/cmdline\n",
      stderr: expect.stringContaining("mount: /mnt: must be superuser to use mount."),
    });
  });

  it.each(USERS)("lacks nothing that it would have without a filter, as %s", (_, user) => {
    const diagnose = (security: readonly string[]) =>
      (JSON.parse(skerry(security, user, "doctor", "--json").stdout) as Diagnosis).backends.find(
        ({ name }) => name === "bubblewrap",
      );
    const found = diagnose(OPTIONS);
    expect(found?.available).toBe(true);
    expect(found).toEqual(diagnose(UNCONFINED));
  });

  it.each([
    ["all of them", [], "user namespaces are refused"],
    [
      "the one for /proc",
      OPTIONS.slice(0, 1),
      "parts of /proc are hidden, so a sandbox cannot have a /proc of its own",
    ],
  ])("says which options it takes where %s are missing", (_, security, why) => {
    const { status, stderr } = skerry(security, [], "exec", "--backend", "bubblewrap", "--", "true");
    const options = line.match(/--security-opt \S+/g)!.join(" ");
    expect([status, stderr]).toEqual([
      69,
      `skerry: The backend bubblewrap cannot run here: this Docker container keeps sandboxes out: ${why}\nhint: docker run ${options} – docs/operate/in-a-container.md has the whole line.\n`,
    ]);
  });

  it("has a profile of its own; else run: node deploy/images/sandbox/write-seccomp.mjs", () => {
    expect(readFileSync(PROFILE, "utf8")).toBe(`${JSON.stringify(CONTAINER_PROFILE, null, 2)}\n`);
  });
});

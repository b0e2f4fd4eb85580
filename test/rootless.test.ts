import { execFileSync, spawnSync } from "node:child_process";
import { chownSync, cpSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { temporaryDirectory } from "./setup/clean-up.js";
import { requires } from "./setup/requires.js";

const ROOT = join(import.meta.dirname, "..");
const { describe, it } = requires("linux", "root", "bubblewrap");

/** The command where another user can read it: a clone may be in a home directory. */
const copy = temporaryDirectory();
for (const name of ["dist/bin", "dist/seccomp", "prebuilt", "package.json"])
  cpSync(join(ROOT, name), join(copy, name), { recursive: true });
execFileSync("chmod", ["-R", "a+rX", copy]);

/** Root of a user namespace with these users, as in a rootless container. */
const ROOTLESS = `
unshare --user sleep 600 & holder=$!
trap 'kill $holder' EXIT
until [ "$(readlink /proc/$holder/ns/user)" != "$(readlink /proc/self/ns/user)" ]; do sleep 0.05; done
echo "$MAP" >/proc/$holder/uid_map && echo "$MAP" >/proc/$holder/gid_map
nsenter --user --target $holder --setuid 0 --setgid 0 unshare --mount "$@"`;

describe("root of a user namespace", () => {
  const FIRST = 100_000;

  function runRootless(map: string, ...args: string[]) {
    const home = temporaryDirectory();
    chownSync(home, FIRST, FIRST);
    const command = [process.execPath, join(copy, "dist/bin/skerry.cjs"), ...args];
    const { status, stdout, stderr } = spawnSync("sh", ["-c", ROOTLESS, "sh", ...command], {
      cwd: "/",
      env: { PATH: process.env["PATH"], HOME: home, SKERRY_STATE_DIR: join(home, "state"), MAP: map },
      encoding: "utf8",
    });
    return { status, stdout, stderr };
  }

  it("gives sandboxes users that exist there", () => {
    const found = runRootless(`0 ${FIRST} 65536`, "exec", "--", "id", "-u");
    expect([found.status, found.stdout]).toEqual([0, "1000\n"]);
  });

  it("is told when there are none", () => {
    const { status, stderr } = runRootless(
      `0 ${FIRST} 1`,
      ...["exec", "--backend", "bubblewrap", "--", "true"],
    );
    expect([status, stderr.split("\n")[0]]).toEqual([
      69,
      `skerry: The backend bubblewrap cannot run here: this user namespace has no user ids for sandboxes (uid_map: 0 ${FIRST} 1)`,
    ]);
  });
});

it("root that may not end what it starts is told so, and starts nothing", () => {
  const home = temporaryDirectory();
  const skerry = [join(copy, "dist/bin/skerry.cjs"), "exec", "--backend", "bubblewrap", "--", "true"];
  const { status, stderr } = spawnSync(
    "setpriv",
    ["--bounding-set", "-kill,-fowner", process.execPath, ...skerry],
    {
      env: { PATH: process.env["PATH"], HOME: home, SKERRY_STATE_DIR: join(home, "state") },
      encoding: "utf8",
      timeout: 60_000,
      killSignal: "SIGKILL",
    },
  );
  expect([status, stderr]).toEqual([
    69,
    "skerry: The backend bubblewrap cannot run here: root may not make or end sandboxes of other users here: it has no CAP_FOWNER, CAP_KILL\nhint: Start Skerry, or its container, with CAP_FOWNER, CAP_KILL, or run it as an ordinary user.\n",
  ]);
});

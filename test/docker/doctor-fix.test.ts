import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, expect } from "vitest";
import { temporaryDirectory } from "../setup/clean-up.js";
import { requires } from "../setup/requires.js";

const SKERRY = fileURLToPath(new URL("../../dist/bin/skerry.cjs", import.meta.url));

/**
 * The system's daemon, at the places where it is looked for, in mounts that only this script sees. It prints what the
 * daemon's runtimes are before and after, and the configuration.
 */
const SCRIPT = `set -e
mount --make-rprivate /
mount -t tmpfs none /run
mkdir -p /etc/docker && mount -t tmpfs none /etc/docker
echo '{ "debug": true }' > /etc/docker/daemon.json
dockerd --iptables=false --ip6tables=false --bridge=none --data-root "$PLACE/data" >"$PLACE/log" 2>&1 &
trap 'kill %1; wait' EXIT
for try in $(seq 200); do docker version >/dev/null 2>&1 && break; sleep 0.1; done
docker info --format '{{json .Runtimes}}'
"$NODE" "$SKERRY" doctor --fix >"$PLACE/doctor" 2>&1
docker info --format '{{json .Runtimes}}'
"$NODE" -p 'JSON.stringify(JSON.parse(fs.readFileSync("/etc/docker/daemon.json")))'
`;

const { it } = requires("linux", "root", "docker", "gvisor");

let place: string;
beforeEach(() => {
  place = temporaryDirectory();
});

it("doctor --fix has the system's daemon know gVisor, without a restart", () => {
  const script = join(place, "script");
  writeFileSync(script, SCRIPT);
  const { PATH } = process.env;
  const { stdout, stderr } = spawnSync("unshare", ["--mount", "bash", script], {
    env: {
      PATH,
      HOME: place,
      SKERRY_STATE_DIR: join(place, "state"),
      PLACE: place,
      NODE: process.execPath,
      SKERRY,
    },
    encoding: "utf8",
    timeout: 50_000,
  });
  expect(stderr).toBe("");
  const [before, after, config] = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(before).not.toHaveProperty("runsc");
  expect(after).toHaveProperty("runsc");
  expect(config).toEqual({ debug: true, runtimes: { runsc: after.runsc } });
});

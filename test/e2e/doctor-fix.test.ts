import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { temporaryDirectory } from "../setup/clean-up.js";
import { requires } from "../setup/requires.js";

const ROOT = join(import.meta.dirname, "../..");
const SKERRY = join(ROOT, "dist/bin/skerry.cjs");
const PROFILE = readFileSync(join(ROOT, "deploy/apparmor/skerry-bwrap"), "utf8");

/**
 * What a kernel with AppArmor does to bubblewrap, whose parser here takes the restriction away. Only this script sees the mounts: all
 * folders of the host in a root of its own, without the file that says that a host is a container.
 */
const SCRIPT = `set -e
mount --make-rprivate /
mkdir "$PLACE/root" && mount -t tmpfs none "$PLACE/root" && mkdir "$PLACE/root/old"
for path in /*; do
  if [ -L "$path" ]; then cp -P "$path" "$PLACE/root$path"
  elif [ -d "$path" ]; then mkdir "$PLACE/root$path" && mount --rbind "$path" "$PLACE/root$path"
  fi
done
cd "$PLACE/root" && pivot_root . old && cd / && umount -l /old
mkdir -p /etc/apparmor.d && mount -t tmpfs none /etc/apparmor.d
mount -t tmpfs none /proc/sys/kernel
echo 1 > /proc/sys/kernel/apparmor_restrict_unprivileged_userns
"$NODE" "$SKERRY" doctor --config "$PLACE/config.json" > "$PLACE/before" || true
"$NODE" "$SKERRY" doctor --config "$PLACE/config.json" --fix > "$PLACE/after"
cp /etc/apparmor.d/skerry-bwrap "$PLACE/profile"
`;
const BWRAP = `#!/bin/sh
case $1 in --version) exec bwrap "$@" ;; esac
if [ -e /proc/sys/kernel/apparmor_restrict_unprivileged_userns ]; then
  echo "bwrap: setting up uid map: Permission denied" >&2
  exit 1
fi
exec bwrap "$@"
`;
const PARSER = `#!/bin/sh
echo "$@" > "$PLACE/parsed" && umount /proc/sys/kernel
`;

requires("linux", "root", "bubblewrap").it("doctor --fix writes and loads the AppArmor profile", () => {
  const place = temporaryDirectory();
  // A sandbox's user starts what stands for bubblewrap.
  chmodSync(place, 0o755);
  const write = (name: string, text: string) => writeFileSync(join(place, name), text, { mode: 0o755 });
  write("bwrap", BWRAP);
  write("apparmor_parser", PARSER);
  write("script", SCRIPT);
  write(
    "config.json",
    JSON.stringify({ sandbox: { backends: { bubblewrap: { path: join(place, "bwrap") } } } }),
  );
  const { status, stderr } = spawnSync("unshare", ["--mount", "bash", join(place, "script")], {
    cwd: place,
    env: {
      PATH: `${place}:${process.env["PATH"]}`,
      HOME: place,
      SKERRY_STATE_DIR: join(place, "state"),
      PLACE: place,
      NODE: process.execPath,
      SKERRY,
    },
    encoding: "utf8",
  });
  const read = (name: string) => readFileSync(join(place, name), "utf8");
  const first = (name: string) => read(name).split("\n").slice(0, 3);
  const what = "AppArmor lets bubblewrap have no privileges in a user namespace";
  const command = `install -D -m 644 ${ROOT}/deploy/apparmor/skerry-bwrap /etc/apparmor.d/skerry-bwrap && apparmor_parser -r /etc/apparmor.d/skerry-bwrap`;
  expect({ status, stderr }).toEqual({ status: 0, stderr: `skerry: ${what}: ${command}\n` });
  expect(first("before").slice(1)).toEqual([`  ${what}`, `    ${command}`]);
  expect(read("profile")).toBe(PROFILE);
  expect(read("parsed")).toBe("-r /etc/apparmor.d/skerry-bwrap\n");
  expect(first("after")[0]).toMatch(/^Ready: bubblewrap\./);
});

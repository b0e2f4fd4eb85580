import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../../../test/setup/clean-up.js";
import { seccompProfile } from "../seccomp-option.js";
import { installPodmanFiles } from "./podman-files.js";

let stateDir: string;
beforeEach(() => {
  stateDir = temporaryDirectory();
});

it("writes the profile once, readable for all and changed only by its owner", () => {
  const { profile, etc } = installPodmanFiles(stateDir);
  const before = lstatSync(profile);
  expect(readFileSync(profile, "utf8")).toBe(seccompProfile());
  expect(before.mode & 0o777).toBe(0o644);
  expect(Object.keys(etc)).toEqual(["/etc/hosts", "/etc/hostname", "/etc/resolv.conf"]);
  expect(installPodmanFiles(stateDir).profile).toBe(profile);
  expect(lstatSync(profile).ino).toBe(before.ino);
  expect(readdirSync(join(stateDir, "podman"))).toHaveLength(1);
});

it.each([
  ["has other contents", (path: string) => writeFileSync(path, '{"defaultAction":"SCMP_ACT_ALLOW"}')],
  ["may be changed by others", (path: string) => chmodSync(path, 0o666)],
  ["is gone", (path: string) => rmSync(path)],
  [
    "is a link",
    (path: string) => {
      rmSync(path);
      writeFileSync(join(stateDir, "other.json"), seccompProfile());
      symlinkSync(join(stateDir, "other.json"), path);
    },
  ],
  ["is in a directory that others may change", (path: string) => chmodSync(dirname(path), 0o777)],
])("rewrites a profile that %s", (_, spoil) => {
  const { profile } = installPodmanFiles(stateDir);
  spoil(profile);
  expect(installPodmanFiles(stateDir).profile).toBe(profile);
  const stat = lstatSync(profile);
  expect([stat.isFile(), stat.mode & 0o777, lstatSync(dirname(profile)).mode & 0o022]).toEqual([
    true,
    0o644,
    0,
  ]);
  expect(readFileSync(profile, "utf8")).toBe(seccompProfile());
});

it("refuses a place that others could change", () => {
  mkdirSync(join(stateDir, "podman"));
  chmodSync(join(stateDir, "podman"), 0o777);
  expect(() => installPodmanFiles(stateDir)).toThrow("only this user can change");
});

it("removes what other versions left an hour ago", () => {
  for (const name of ["old", "new"]) mkdirSync(join(stateDir, "podman", name), { recursive: true });
  const then = new Date(Date.now() - 2 * 60 * 60 * 1000);
  utimesSync(join(stateDir, "podman", "old"), then, then);
  const { profile } = installPodmanFiles(stateDir);
  expect(readdirSync(join(stateDir, "podman")).sort()).toEqual(
    ["new", dirname(profile).split("/").at(-1)].sort(),
  );
});

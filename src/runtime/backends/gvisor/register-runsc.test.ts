import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { offerRunsc, registerRunsc } from "./register-runsc.js";

let directory: string;
let file: string;

beforeEach(() => {
  directory = temporaryDirectory();
  file = join(directory, "docker", "daemon.json");
});

const register = () => registerRunsc("/usr/bin/runsc", { file, pidFile: join(directory, "none") });
const read = () => JSON.parse(readFileSync(file, "utf8"));

it("makes the file where there is none, and says that the daemon must be restarted", () => {
  expect(register()).toMatch(/restart/);
  expect(read()).toEqual({
    runtimes: { runsc: { path: "/usr/bin/runsc", runtimeArgs: ["--network=none"] } },
  });
});

it("keeps everything else that is in the file", () => {
  register();
  writeFileSync(file, JSON.stringify({ "log-driver": "local", runtimes: { other: { path: "/o" } } }));
  register();
  expect(read()).toMatchObject({ "log-driver": "local", runtimes: { other: { path: "/o" }, runsc: {} } });
  expect(readdirSync(join(directory, "docker"))).toEqual(["daemon.json"]);
});

it("leaves a registered runsc alone", () => {
  register();
  writeFileSync(file, JSON.stringify({ runtimes: { runsc: { path: "/mine" } } }));
  register();
  expect(read()).toEqual({ runtimes: { runsc: { path: "/mine" } } });
});

it("never touches a file that it cannot read", () => {
  register();
  for (const text of ["{ not json", "[]", '{"runtimes": 1}']) {
    writeFileSync(file, text);
    expect(register).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
    expect(readFileSync(file, "utf8")).toBe(text);
  }
});

it("takes no other process for the daemon", () => {
  const pidFile = join(directory, "pid");
  writeFileSync(pidFile, String(process.pid));
  expect(registerRunsc("/usr/bin/runsc", { file, pidFile })).toMatch(/restart/);
});

const SYSTEM = { host: "unix:///var/run/docker.sock", local: true } as const;

it("says that the daemon has it only when the daemon says so", async () => {
  const files = { file, pidFile: join(directory, "none"), patienceMs: 300 };
  const offer = (runtimes: readonly string[]) =>
    offerRunsc("/usr/bin/runsc", { address: SYSTEM, runtimes: async () => runtimes }, files);
  expect(await offer(["runc", "runsc"])).toBe("the Docker daemon has the runtime runsc");
  expect(await offer(["runc"])).toBe(
    `runsc stands in ${file}, and the Docker daemon does not have it yet. Restart the Docker daemon: systemctl restart docker`,
  );
});

it("never touches the system's configuration for another daemon", async () => {
  const address = { host: "unix:///srv/own.sock", local: true, from: "DOCKER_HOST" } as const;
  const offering = offerRunsc("/usr/bin/runsc", { address, runtimes: async () => [] }, { file });
  await expect(offering).rejects.toMatchObject({
    code: "UNSUPPORTED",
    hint: expect.stringContaining('"runtimes":{"runsc":{"path":"/usr/bin/runsc"'),
  });
  expect(readdirSync(directory)).toEqual([]);
});

it("changes what a link leads to, and leaves the link, the owner and the mode", () => {
  register();
  const real = join(directory, "real.json");
  writeFileSync(real, "{}");
  chmodSync(real, 0o640);
  if (process.getuid?.() === 0) chownSync(real, 0, 1234);
  const { gid } = statSync(real);
  rmSync(file);
  symlinkSync("../real.json", file);
  register();
  expect(lstatSync(file).isSymbolicLink()).toBe(true);
  expect(JSON.parse(readFileSync(real, "utf8"))).toHaveProperty("runtimes.runsc");
  expect([statSync(real).mode & 0o777, statSync(real).gid]).toEqual([0o640, gid]);
});

it("follows no link that another user could turn elsewhere", () => {
  register();
  const open = join(directory, "open");
  mkdirSync(open);
  chmodSync(open, 0o777);
  writeFileSync(join(open, "daemon.json"), "{}");
  for (const target of [join(open, "daemon.json"), join(directory, "nowhere")]) {
    rmSync(file);
    symlinkSync(target, file);
    expect(register).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
  }
  expect(readFileSync(join(open, "daemon.json"), "utf8")).toBe("{}");
});

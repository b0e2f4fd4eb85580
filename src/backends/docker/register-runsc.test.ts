import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { registerRunsc } from "./register-runsc.js";

let directory: string;
let file: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "skerry-register-"));
  file = join(directory, "docker", "daemon.json");
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

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

it("leaves a runsc alone that somebody has registered", () => {
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

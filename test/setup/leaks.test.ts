import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, it } from "vitest";
import { findLeaks, type HostState, readHostState } from "./leaks.js";

const nothing: HostState = {
  processes: new Map(),
  cgroups: new Set(),
  mounts: new Set(),
  loopDevices: new Set(),
  temporaryFiles: new Set(),
  sockets: new Set(),
};
const processes = (...list: [number, number, string][]) =>
  new Map(list.map(([pid, parent, commandLine]) => [`${pid}@1`, { pid, parent, commandLine }]));

it("finds nothing when nothing changed", () => {
  const state = { ...nothing, processes: processes([5, 1, "bwrap x"]), mounts: new Set(["/ on /a"]) };
  expect(findLeaks(state, state, 100)).toEqual([]);
});

it("finds a process of the run, and an orphaned one of ours", () => {
  const before = { ...nothing, processes: processes([1, 0, "init"], [100, 1, "vitest"]) };
  const after = {
    ...nothing,
    processes: processes(
      [1, 0, "init"],
      [100, 1, "vitest"],
      [101, 100, "node node_modules/vitest/dist/workers/forks.js"],
      [102, 101, "sleep 1000"],
      [103, 1, "/x/prebuilt/linux-x64/skerry-guest"],
      [104, 1, "bwrap --args 3"],
      [105, 1, "another user's"],
    ),
  };
  expect(findLeaks(before, after, 100)).toEqual([
    "process 102: sleep 1000",
    "process 103: /x/prebuilt/linux-x64/skerry-guest",
    "process 104: bwrap --args 3",
  ]);
});

it("finds a process that has the number of an older one", () => {
  const before = { ...nothing, processes: new Map([["7@1", { pid: 7, parent: 1, commandLine: "bwrap" }]]) };
  const after = { ...nothing, processes: new Map([["7@2", { pid: 7, parent: 1, commandLine: "bwrap" }]]) };
  expect(findLeaks(before, after, 100)).toEqual(["process 7: bwrap"]);
});

it.each([
  ["cgroups", "cgroup: x"],
  ["mounts", "mount: x"],
  ["loopDevices", "loop device: x"],
  ["temporaryFiles", "temporary file: x"],
  ["sockets", "socket: x"],
])("finds new %s", (kind, expected) => {
  expect(findLeaks(nothing, { ...nothing, [kind]: new Set(["x"]) }, 100)).toEqual([expected]);
  expect(findLeaks({ ...nothing, [kind]: new Set(["x"]) }, nothing, 100)).toEqual([]);
});

it.runIf(process.platform === "linux")("sees real processes, files and sockets", async () => {
  const before = readHostState();
  const directory = mkdtempSync("/tmp/skerry-leak-");
  const socket = join(directory, "socket");
  const server = createServer().listen(socket);
  await once(server, "listening");
  const child = spawn("sleep", ["1000"]);
  await once(child, "spawn");
  try {
    const leaks = findLeaks(before, readHostState(), process.pid);
    expect(leaks).toEqual(
      expect.arrayContaining([
        `process ${child.pid}: sleep 1000`,
        `socket: ${socket}`,
        `temporary file: ${directory}`,
      ]),
    );
  } finally {
    child.kill("SIGKILL");
    await once(child, "exit");
    server.close();
    rmSync(directory, { recursive: true });
  }
});

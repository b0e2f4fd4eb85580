// As root: `before` notes what there is on this machine, `after` says what a cell has left.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { findLeaks, readHostState } from "../test/setup/leaks.js";
import { report } from "./report.mjs";

const FILE = "/run/skerry-vm-before.json";
const SLOW_MACHINE_MS = 120_000;

if (process.argv[2] === "before") {
  const state = Object.entries(readHostState()).map(([name, all]) => [name, [...all]]);
  writeFileSync(FILE, JSON.stringify(Object.fromEntries(state)));
} else {
  const { processes, ...sets } = JSON.parse(readFileSync(FILE, "utf8"));
  const before = { processes: new Map(processes) };
  for (const [name, all] of Object.entries(sets)) before[name] = new Set(all);
  await report(
    "leaves nothing behind: processes, cgroups, mounts, loop devices, files, sockets",
    async () => {
      const until = Date.now() + SLOW_MACHINE_MS;
      for (;;) {
        const leaks = findLeaks(before, readHostState(), process.pid).filter(isLeft);
        if (leaks.length === 0) return;
        if (Date.now() > until) throw new Error(leaks.join("\n"));
        await delay(1000);
      }
    },
  );
}

/** False for what comes and goes with systemd, and for a user's state directory that no sandbox left anything in. */
function isLeft(leak) {
  if (leak.startsWith("cgroup: "))
    return leak.includes("skerry-") && existsSync(leak.slice("cgroup: ".length));
  const state = /^temporary file: (\/var\/tmp\/skerry-\d+)$/.exec(leak)?.[1];
  if (state !== undefined) return ["ephemeral", "mounts", "owners"].some((name) => isFull(join(state, name)));
  return !/^mount: .* on \/run\/user\/|^socket: .*\/systemd\//.test(leak);
}

function isFull(directory) {
  return existsSync(directory) && readdirSync(directory).length > 0;
}

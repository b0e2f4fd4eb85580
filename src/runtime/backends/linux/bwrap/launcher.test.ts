import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../../test/setup/clean-up.js";
import { findPrebuilt } from "../../guest-runtime.js";
import type { LaunchRequest } from "./launch-request.js";
import { type Launched, Launchers } from "./launcher.js";

const PROGRAM = findPrebuilt().guest;
const isRoot = process.getuid?.() === 0;
let directory: string;
let launched: Launched[];

beforeEach(() => {
  launched = [];
  directory = temporaryDirectory();
  // In bubblewrap's place: it takes the same arguments, and what would run inside is a shell's text.
  writeFileSync(join(directory, "program"), '#!/bin/sh\nexec /bin/sh -c "$4"\n', { mode: 0o755 });
});

afterEach(async () => {
  for (const each of launched) {
    each.kill();
    each.toGuest.destroy();
  }
  await Promise.all(launched.map(({ ended }) => ended));
});

function orders(command: string): LaunchRequest {
  return {
    bubblewrap: join(directory, "program"),
    arguments: [],
    command,
    seccomp: Buffer.alloc(8),
    cgroupFiles: [],
    ...(isRoot && { identity: { uid: 65534, gid: 65534 } }),
    limits: {},
    mountPoint: directory,
  };
}

async function launch(launchers: Launchers, command: string): Promise<Launched> {
  const one = await launchers.launch(PROGRAM, orders(command));
  launched.push(one);
  return one;
}

/** Parent of a process; undefined when it is gone. */
function parentOf(pid: number | undefined): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    // A zombie counts as gone.
    return /^State:\s+Z/m.test(status) ? undefined : Number(/^PPid:\s+(\d+)$/m.exec(status)![1]);
  } catch {
    return undefined;
  }
}

describe("launchers", () => {
  it("start the first sandbox alone, and later ones many to a launcher", async () => {
    const launchers = new Launchers();
    const parents: (number | undefined)[] = [];
    for (let index = 0; index < 18; index++) {
      parents.push(parentOf(await (await launch(launchers, "exec cat")).pid));
    }
    const [first, second, ...others] = [...new Set(parents)];
    expect(parents.map((parent) => [first, second, ...others].indexOf(parent))).toEqual([
      0,
      ...Array(16).fill(1),
      2,
    ]);
    expect(parents).not.toContain(process.pid);
    expect(parentOf(second)).toBe(process.pid);
  });

  it("tell how each ended, and are of no more use to it", async () => {
    const launchers = new Launchers();
    const one = await launch(launchers, "echo out; echo error >&2; exit 4");
    expect(await text(one.fromGuest)).toBe("out\n");
    expect(await one.ended).toEqual({ status: 4, complaints: "error" });
    one.kill();
    const other = await launch(launchers, "exec cat");
    other.kill();
    expect(await other.ended).toEqual({ status: -9, complaints: "" });
  });

  it("say why none could be started, and try again", async () => {
    const launchers = new Launchers();
    await expect(launchers.launch(join(directory, "missing"), orders("true"))).rejects.toMatchObject({
      code: "SANDBOX_START_FAILED",
      cause: { code: "ENOENT" },
    });
    expect(await (await launch(launchers, "true")).ended).toEqual({ status: 0, complaints: "" });
  });

  it("end what they started when they are killed, and another takes their place", async () => {
    const launchers = new Launchers();
    await launch(launchers, "exec cat");
    const [one, two] = [await launch(launchers, "exec cat"), await launch(launchers, "exec cat")];
    const pids = await Promise.all([one.pid, two.pid]);
    const launcher = parentOf(pids[0])!;
    process.kill(launcher, "SIGKILL");
    const lost = { status: undefined, complaints: "" };
    expect(await Promise.all([one.ended, two.ended])).toEqual([lost, lost]);
    expect([one.fromGuest.destroyed, two.fromGuest.destroyed]).toEqual([true, true]);
    await expect.poll(() => pids.map(isAlive)).toEqual([false, false]);
    const next = await launch(launchers, "exec cat");
    expect([undefined, launcher]).not.toContain(parentOf(await next.pid));
  });

  it("leave when there has been nothing to do for a while", async () => {
    const launchers = new Launchers(50);
    await launch(launchers, "exec cat");
    const second = parentOf(await (await launch(launchers, "exec cat")).pid);
    expect(isAlive(second)).toBe(true);
    for (const each of launched) each.kill();
    await expect.poll(() => isAlive(second)).toBe(false);
    expect(await (await launch(launchers, "true")).ended).toEqual({ status: 0, complaints: "" });
  });
});

function isAlive(pid: number | undefined): boolean {
  return parentOf(pid) !== undefined;
}

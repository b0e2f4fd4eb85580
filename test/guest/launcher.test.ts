import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createReportReader, type Ending } from "../../src/runtime/backends/linux/bwrap/launcher-reports.js";
import {
  createDeferred,
  type Deferred,
  encodeFields,
  type Field,
  u32,
} from "../../src/runtime/wire/index.js";
import { temporaryDirectory } from "../setup/clean-up.js";

const ROOT = join(import.meta.dirname, "../..");
/** What the sanitizers exit with when they find something; the launcher itself never does. */
const FINDING = 99;
const ENV = {
  ASAN_OPTIONS: `exitcode=${FINDING}:detect_leaks=0`,
  UBSAN_OPTIONS: `halt_on_error=1:exitcode=${FINDING}`,
};
const isRoot = process.getuid?.() === 0;
const IDENTITY: Field[] = isRoot ? [[4, u32(65534, 65534)]] : [];
const FILTER: Field = [6, Buffer.alloc(8)];

let directory: string;
let launchers: Launcher[];

beforeAll(() => {
  execFileSync(join(ROOT, "guest/build.sh"), ["--sanitize"], { stdio: "inherit" });
});

beforeEach(() => {
  launchers = [];
  directory = temporaryDirectory();
  // In bubblewrap's place: it takes the same arguments, and what would run inside is a shell's text.
  writeFileSync(join(directory, "program"), '#!/bin/sh\nexec /bin/sh -c "$4"\n', { mode: 0o755 });
});

/** Every test ends with the host letting go, and with a launcher in good health. */
afterEach(async () => {
  for (const launcher of launchers) expect(await launcher.letGo()).toEqual([0, ""]);
});

interface Launcher {
  readonly child: ChildProcess;
  readonly control: Socket;
  readonly wires: readonly Socket[];
  pid(slot: number): Promise<number>;
  ended(slot: number): Promise<Ending>;
  /** All reports so far, as `started 0`. */
  readonly reports: string[];
  letGo(): Promise<[number | null, string]>;
}

function startLauncher(slots: number): Launcher {
  const sockets = Array.from({ length: slots + 1 }, () => "pipe" as const);
  const child = spawn(join(ROOT, "build/skerry-guest-sanitized"), ["--launch", String(slots)], {
    env: ENV,
    cwd: "/",
    stdio: ["ignore", "ignore", "pipe", ...sockets],
  });
  const [, , , control, ...wires] = child.stdio as unknown as Socket[];
  for (const socket of [control!, ...wires]) socket.on("error", () => undefined);
  const exited = once(child, "exit");
  const complaints = text(child.stderr!);
  const reports: string[] = [];
  const state = wires.map((): { pid: Deferred<number>; ended: Deferred<Ending> } => ({
    pid: createDeferred(),
    ended: createDeferred(),
  }));
  const read = createReportReader({
    started: (slot, pid) => {
      reports.push(`started ${slot}`);
      state[slot]!.pid.resolve(pid);
    },
    ended: (slot, ending) => {
      reports.push(`ended ${slot}`);
      state[slot]!.ended.resolve(ending);
    },
  });
  control!.on("data", read);
  const launcher: Launcher = {
    child,
    control: control!,
    wires,
    reports,
    pid: (slot) => state[slot]!.pid.promise,
    ended: (slot) => state[slot]!.ended.promise,
    async letGo() {
      for (const socket of [control!, ...wires]) socket.destroy();
      const [code] = await exited;
      return [code, await complaints];
    },
  };
  launchers.push(launcher);
  return launcher;
}

function encode(fields: readonly Field[]): Buffer {
  const encoded = encodeFields(fields);
  return Buffer.concat([u32(encoded.length), encoded]);
}

/** Orders to run a shell's text where bubblewrap would be. */
function shell(command: string): Buffer {
  return encode([[2, join(directory, "program")], [10, command], FILTER, ...IDENTITY]);
}

async function endingOf(orders: Buffer): Promise<Ending> {
  const launcher = startLauncher(1);
  launcher.wires[0]!.end(orders);
  return launcher.ended(0);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("the launcher", () => {
  it("starts what a slot is ordered to, and tells how it ended and what it complained about", async () => {
    const launcher = startLauncher(2);
    launcher.wires[1]!.write(
      Buffer.concat([shell("echo $$; cat; echo no luck >&2; exit 3"), Buffer.from("rest")]),
    );
    const pid = await launcher.pid(1);
    launcher.wires[1]!.end();
    expect(await text(launcher.wires[1]!)).toBe(`${pid}\nrest`);
    expect(await launcher.ended(1)).toEqual({ status: 3, complaints: "no luck" });
    expect(launcher.reports).toEqual(["started 1", "ended 1"]);
    launcher.wires[0]!.write(shell("kill -9 $$"));
    expect(await launcher.ended(0)).toEqual({ status: -9, complaints: "" });
  });

  it("passes nothing of its own on but the wire and a place to complain", async () => {
    const launcher = startLauncher(3);
    launcher.wires[1]!.write(
      shell(
        'for fd in 0 1 2 3 4 5 6 7 8 9 10 11; do readlink /proc/$$/fd/$fd; done; tr "\\0" "\\n" </proc/$$/environ; ' +
          "grep -E '^Sig(Blk|Ign)' /proc/self/status; cut -d' ' -f1,5,6 /proc/$$/stat; readlink /proc/$$/cwd",
      ),
    );
    const pid = await launcher.pid(1);
    const lines = (await text(launcher.wires[1]!)).trim().split("\n");
    expect(lines.map((line) => line.replaceAll(/\[\d+\]/g, "[]"))).toEqual([
      "socket:[]",
      "socket:[]",
      "pipe:[]",
      "/memfd:arguments (deleted)",
      "/memfd:seccomp (deleted)",
      // The shell's own; nothing came with it.
      "PWD=/",
      "SigBlk:\t0000000000000000",
      "SigIgn:\t0000000000000000",
      `${pid} ${pid} ${pid}`,
      "/",
    ]);
    expect(lines[1]).toBe(lines[0]);
    expect(await launcher.ended(1)).toEqual({ status: 0, complaints: "" });
  });

  it("lets no slot wait for another one's orders", async () => {
    const launcher = startLauncher(2);
    launcher.wires[0]!.write(shell("true").subarray(0, 3));
    await launcher.pid(0);
    launcher.wires[1]!.write(shell("exit 5"));
    expect(await launcher.ended(1)).toEqual({ status: 5, complaints: "" });
    expect(launcher.reports).toEqual(["started 0", "started 1", "ended 1"]);
  });

  it("kills the slot it is told to, started or not, and no other", async () => {
    const launcher = startLauncher(3);
    for (const wire of launcher.wires.slice(0, 2)) wire.write(shell("echo ready; exec cat"));
    const pids = await Promise.all([launcher.pid(0), launcher.pid(1)]);
    await Promise.all(launcher.wires.slice(0, 2).map((wire) => once(wire, "data")));
    launcher.control.write(Uint8Array.of(0, 2, 200, 0));
    expect(await launcher.ended(0)).toEqual({ status: -9, complaints: "" });
    expect(await launcher.ended(2)).toEqual({ status: -9, complaints: "" });
    expect(pids.map(isAlive)).toEqual([false, true]);
    launcher.wires[1]!.end();
    expect(await launcher.ended(1)).toEqual({ status: 0, complaints: "" });
  });

  it("takes a complaint for a complaint, whatever it looks like", async () => {
    const launcher = startLauncher(2);
    const forged = "\\002\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000";
    launcher.wires[0]!.write(shell(`for i in $(seq 300); do printf '${forged}' >&2; done; exit 7`));
    launcher.wires[1]!.write(shell("cat"));
    const { status, complaints } = await launcher.ended(0);
    expect([status, complaints.length]).toEqual([7, 4096]);
    expect(launcher.reports.filter((report) => report.startsWith("ended"))).toEqual(["ended 0"]);
  });

  it("kills every child when the host is gone, also one that ignores signals", async () => {
    const launcher = startLauncher(3);
    for (const wire of launcher.wires.slice(0, 2)) {
      wire.write(shell("trap '' HUP INT TERM PIPE; echo ready; while :; do sleep 1; done"));
    }
    const pids = await Promise.all([launcher.pid(0), launcher.pid(1)]);
    await Promise.all(launcher.wires.slice(0, 2).map((wire) => once(wire, "data")));
    expect(await launcher.letGo()).toEqual([0, ""]);
    expect(pids.map(isAlive)).toEqual([false, false]);
  });

  it("ends when no slot is left", async () => {
    const launcher = startLauncher(2);
    const exited = once(launcher.child, "exit");
    launcher.wires[0]!.write(shell("true"));
    await launcher.ended(0);
    launcher.wires[1]!.destroy();
    expect(await exited).toEqual([0, null]);
  });

  it.each(["0", "65", "x", "-1"])("refuses to serve %s slots", async (slots) => {
    const child = spawn(join(ROOT, "build/skerry-guest-sanitized"), ["--launch", slots], { env: ENV });
    expect(await text(child.stderr)).toBe(`skerry-guest: from 1 to 64 slots, not ${slots}\n`);
  });

  it("has a launcher that refuses to start anything as root, or without a filter", async ({ skip }) => {
    if (!isRoot) skip("only root can be refused");
    const program: Field = [2, "/bin/echo"];
    const command: Field = [10, "x"];
    const asRoot = { status: 70, complaints: "skerry-guest: refusing to run as root" };
    expect(await endingOf(encode([program, command, FILTER]))).toEqual(asRoot);
    expect(await endingOf(encode([program, command, FILTER, [4, u32(0, 0)]]))).toEqual(asRoot);
    expect(await endingOf(encode([program, command, [4, u32(65534, 65534)]]))).toEqual({
      status: 70,
      complaints: "skerry-guest: no seccomp filter",
    });
    expect(await endingOf(encode([[99, "x"]]))).toEqual({
      status: 70,
      complaints: "skerry-guest: unknown order 99",
    });
  });

  it("survives any orders, and ends what it cannot follow", async () => {
    // Orders may name a file to write to: none of these can be the name of one.
    const value = fc.uint8Array({ maxLength: 24 }).map((bytes) => Buffer.from([0x01, ...bytes]));
    const fields = fc.array(fc.tuple(fc.integer({ min: 0, max: 13 }), value), { maxLength: 6 });
    const orders = fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
      fields.map((list) => encode(list)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(orders, { minLength: 1, maxLength: 8 }), async (list) => {
        const launcher = startLauncher(list.length);
        list.forEach((each, index) => {
          launcher.wires[index]!.end(each);
        });
        const endings = await Promise.all(list.map((_, index) => launcher.ended(index)));
        expect(endings.map(({ status }) => status)).toEqual(list.map(() => 70));
        expect(await launcher.letGo()).toEqual([0, ""]);
      }),
      { numRuns: 25 },
    );
  });
});

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { requires } from "../../../test/setup/requires.js";
import { FileLock } from "../../kit/file-lock.js";
import { processLabel } from "../../kit/process-label.js";
import { waitUntil } from "../../kit/wait-until.js";
import { AuditLogger } from "./audit-logger.js";
import { queryAudit } from "./query.js";
import type { AuditRecord } from "./record.js";
import { verifyAudit } from "./verify.js";

/** Begins and ends so many attempts, one after the other, and prints the session of each that resolved. */
const WRITER = `
import { AuditLogger } from "./audit.mjs";
const [directory, name, count] = process.argv.slice(2);
const logger = new AuditLogger({ directory, maxFileBytes: 100_000, fsync: "never", lockTimeoutMs: 60_000 });
process.stdout.write("ready\\n");
await new Promise((resolve) => process.stdin.once("data", resolve));
for (let index = 0; index < Number(count); index++) {
  const attempt = logger.begin({ sessionId: name + index });
  await attempt.end({ result: "success" });
  process.stdout.write(name + index + "\\n");
}
await logger.close();
process.exit(0);
`;
/** Begins three attempts, ends the first, says so, and waits to be killed. */
const STARTER = `
import { AuditLogger } from "./audit.mjs";
// Not synced before it is killed: the record is in the log, and the attempt still in the journal.
const logger = new AuditLogger({ directory: process.argv[2], fsyncIntervalMs: 600_000 });
const attempts = ["a", "b", "c"].map((sessionId) => logger.begin({ sessionId, tool: "run_code", code: "x" }));
await attempts[0].end({ result: "success" });
process.stdout.write(attempts.map(({ id }) => id).join() + "\\n");
setInterval(() => {}, 1000);
`;
/** Recovers, as soon as it is told to, and closes. */
const RECOVERER = `
import { AuditLogger } from "./audit.mjs";
process.stdout.write("ready\\n");
await new Promise((resolve) => process.stdin.once("data", resolve));
const logger = new AuditLogger({ directory: process.argv[2], lockTimeoutMs: 60_000 });
await logger.open();
await logger.close();
process.exit(0);
`;
/** Takes the lock so many times, checks that no living process has it too, and kills itself while it has it. */
const HOLDER = `
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { FileLock } from "./file-lock.mjs";
import { isSharedOrphan, processLabel } from "./process-label.mjs";
const [directory, count] = process.argv.slice(2);
const label = processLabel("holder");
const lock = new FileLock(directory, label);
const inside = directory + "/inside";
const read = () => { try { return readFileSync(inside, "utf8"); } catch { return ""; } };
process.stdout.write("ready\\n");
await new Promise((resolve) => process.stdin.once("data", resolve));
for (let done = 0; done < Number(count); ) {
  if (!lock.tryAcquire()) {
    await delay(Math.random() * 2);
    continue;
  }
  const other = read();
  if (other !== "" && !isSharedOrphan(other, 0)) process.stdout.write("met " + other + "\\n");
  writeFileSync(inside, label);
  for (let look = 0; look < 20; look++) if (read() !== label) process.stdout.write("lost to " + read() + "\\n");
  if (++done === Number(count)) process.kill(process.pid, "SIGKILL");
  rmSync(inside);
  lock.release();
}
`;
/** Is stopped between its look at a dead lock and its claim to it. */
const LATECOMER = `
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { FileLock } from "./file-lock.mjs";
import { processLabel } from "./process-label.mjs";
const { renameSync } = fs;
fs.renameSync = (from, to) => {
  if (!from.endsWith("nobody")) {
    fs.writeSync(1, "looked\\n");
    fs.readSync(0, Buffer.alloc(3));
  }
  renameSync(from, to);
};
syncBuiltinESMExports();
fs.writeSync(1, new FileLock(process.argv[2], processLabel("late")).tryAcquire() + "\\n");
process.exit(0);
`;
/** Makes a lock's folder at the same time as others do, and takes it. */
const INSTALLER = `
import { FileLock } from "./file-lock.mjs";
import { processLabel } from "./process-label.mjs";
process.stdout.write("ready\\n");
await new Promise((resolve) => process.stdin.once("data", resolve));
process.stdout.write(new FileLock(process.argv[2], processLabel("first")).tryAcquire() + "\\n");
await new Promise((resolve) => process.stdin.once("end", resolve));
process.exit(0);
`;
/** Is killed when it has made a lock's folder, before that is in place. */
const UNLUCKY = `
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { FileLock } from "./file-lock.mjs";
import { processLabel } from "./process-label.mjs";
const { renameSync } = fs;
fs.renameSync = (from, to) => {
  if (to.endsWith("/writer")) process.kill(process.pid, "SIGKILL");
  renameSync(from, to);
};
syncBuiltinESMExports();
fs.writeSync(1, "ready\\n");
new FileLock(process.argv[2], processLabel("unlucky")).tryAcquire();
`;
const OPENER = `
import { AuditLogger } from "./audit.mjs";
try {
  new AuditLogger({ directory: process.argv[2] }).begin({});
} catch (error) {
  process.stdout.write(JSON.stringify(error) + "\\n");
}
`;

let programs: string;
let directory: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  programs = temporaryDirectory();
  chmodSync(programs, 0o755);
  await build({
    entryPoints: Object.fromEntries(
      Object.entries({
        audit: "./index.ts",
        "file-lock": "../../kit/file-lock.ts",
        "process-label": "../../kit/process-label.ts",
      }).map(([name, source]) => [name, fileURLToPath(new URL(source, import.meta.url))]),
    ),
    outdir: programs,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
  });
  const sources = { WRITER, STARTER, RECOVERER, HOLDER, LATECOMER, INSTALLER, UNLUCKY, OPENER };
  for (const [name, source] of Object.entries(sources)) writeFileSync(join(programs, `${name}.mjs`), source);
});

beforeEach(() => {
  directory = join(temporaryDirectory(), "log");
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  rmSync(join(directory, ".."), { recursive: true, force: true });
});

/** Starts a program and resolves when it printed its first line. */
async function start(program: string, ...args: string[]) {
  const child = spawn(process.execPath, [join(programs, `${program}.mjs`), directory, ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.push(child);
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  const closed = once(child, "close");
  await waitUntil(() => lines.length > 0);
  return { child, lines, closed, go: () => child.stdin.write("go\n") };
}

async function read(): Promise<AuditRecord[]> {
  const records: AuditRecord[] = [];
  for await (const record of queryAudit(directory)) records.push(record);
  return records;
}

const pending = () => readdirSync(join(directory, "pending"));
const lockedBy = () => readdirSync(join(directory, "writer"));
/** A lock that is held. */
function lockFor(label: string): void {
  mkdirSync(join(directory, "writer"), { mode: 0o700 });
  writeFileSync(join(directory, "writer", label), "");
}

describe("four processes that write to one log, one of which is killed", () => {
  it("leave a whole chain with one record for every attempt", async () => {
    const count = 500;
    const names = ["a-", "b-", "c-", "d-"];
    const writers = await Promise.all(names.map((name) => start("WRITER", name, String(count))));
    for (const { go } of writers) go();
    const [victim, ...others] = writers as [(typeof writers)[0], ...typeof writers];
    // All of them have written, so that it dies in the midst of the others.
    await waitUntil(() => writers.every(({ lines }) => lines.length > 60));
    victim.child.kill("SIGKILL");
    for (const { closed } of writers) await closed;
    expect(others.map(({ child }) => child.exitCode)).toEqual([0, 0, 0]);
    // The next process settles what the dead one had open, if none of the others did.
    await using logger = new AuditLogger({ directory });
    await logger.open();

    expect(await verifyAudit(directory)).toMatchObject({ ok: true });
    const attempts = (await read()).filter(({ event_type }) => event_type === "sandbox_execution");
    expect(new Set(attempts.map(({ id }) => id)).size).toBe(attempts.length);
    const sessions = attempts.map(({ session_id }) => session_id!);
    expect(new Set(sessions).size).toBe(sessions.length);
    for (const { lines } of writers) expect(sessions).toEqual(expect.arrayContaining(lines.slice(1)));
    // The one that was killed has at most one record that it did not see itself, written or interrupted.
    const ofVictim = attempts.filter(({ session_id }) => session_id!.startsWith("a-"));
    expect(ofVictim.length - (victim.lines.length - 1)).toBeOneOf([0, 1]);
    expect(attempts.length - ofVictim.length).toBe(3 * count);
    expect([pending(), lockedBy()]).toEqual([[], ["nobody"]]);
  });
});

describe("an attempt whose process is killed", () => {
  it("is interrupted, once, however many come after at the same time", async () => {
    const { child, lines, closed } = await start("STARTER");
    child.kill("SIGKILL");
    await closed;
    expect((await read()).map(({ session_id }) => session_id)).toEqual(["a"]);
    const recoverers = await Promise.all(Array.from({ length: 4 }, () => start("RECOVERER")));
    for (const { go } of recoverers) go();
    for (const recoverer of recoverers) await recoverer.closed;
    expect(recoverers.map((each) => each.child.exitCode)).toEqual([0, 0, 0, 0]);
    const [a, b, c] = lines[0]!.split(",");
    const interrupted = { result: "interrupted", tool: "run_code", pid: child.pid };
    const error = "The process that ran this was killed";
    expect(await read()).toMatchObject([
      { id: a, session_id: "a", result: "success", pid: child.pid },
      { id: b, session_id: "b", ...interrupted, error, code_hash: expect.stringMatching(/^sha256:/) },
      { id: c, session_id: "c", ...interrupted, error },
    ]);
    expect(await verifyAudit(directory)).toMatchObject({ ok: true, records: 3 });
    expect([pending(), lockedBy()]).toEqual([[], ["nobody"]]);
  });

  it("is left alone while its process lives", async () => {
    await using logger = new AuditLogger({ directory });
    await logger.open();
    const { child, closed } = await start("STARTER");
    {
      await using other = new AuditLogger({ directory });
      await other.open();
    }
    expect((await read()).map(({ result }) => result)).toEqual(["success"]);
    child.kill("SIGKILL");
    await closed;
    // One that comes new: ours looks again after a while only.
    await using next = new AuditLogger({ directory });
    await next.open();
    await logger.begin({}).end({ result: "success" });
    expect((await read()).map(({ result }) => result)).toEqual([
      "success",
      "interrupted",
      "interrupted",
      "success",
    ]);
  });

  it("in another container is interrupted when it has not given a sign of life for a while", async () => {
    await using first = new AuditLogger({ directory });
    await first.open();
    const journal = join(directory, "pending", "7-1234567-00000000deadbeef-abc.jsonl");
    const { child, lines, closed } = await start("STARTER");
    child.kill("SIGKILL");
    await closed;
    const own = pending().find((name) => name.startsWith(`${child.pid}-`))!;
    spawnSync("mv", [join(directory, "pending", own), journal]);
    const settle = async () => {
      await using logger = new AuditLogger({ directory });
      await logger.open();
      return (await read()).map(({ id, result }) => [id, result]);
    };
    const [a, b, c] = lines[0]!.split(",");
    expect(await settle()).toEqual([[a, "success"]]);
    const longAgo = new Date(Date.now() - 60_000);
    utimesSync(journal, longAgo, longAgo);
    expect(await settle()).toEqual([
      [a, "success"],
      [b, "interrupted"],
      [c, "interrupted"],
    ]);
  });
});

describe("the lock", () => {
  const dead = () => processLabel("x").replace(/^\d+-\d+/, "999999-1");
  const make = (label = processLabel(Math.random().toString(16).slice(2))) => new FileLock(directory, label);

  beforeEach(() => mkdirSync(directory, { mode: 0o700 }));

  it("is one process's at a time, and another's after", () => {
    const [first, second] = [make(), make()];
    expect([first.tryAcquire(), second.tryAcquire()]).toEqual([true, false]);
    first.release();
    expect([second.tryAcquire(), first.tryAcquire()]).toEqual([true, false]);
    second.release();
    expect(lockedBy()).toEqual(["nobody"]);
  });

  it("is taken over from the dead", () => {
    lockFor(dead());
    const [first, second] = [make(), make()];
    expect([first.tryAcquire(), second.tryAcquire()]).toEqual([true, false]);
    first.release();
    expect(lockedBy()).toEqual(["nobody"]);
  });

  it("is made once, though several make it at the same time", async () => {
    for (let round = 0; round < 5; round++) {
      const makers = await Promise.all([1, 2, 3, 4].map(() => start("INSTALLER")));
      for (const { go } of makers) go();
      await waitUntil(() => makers.every(({ lines }) => lines.length === 2));
      expect(makers.map(({ lines }) => lines[1]).sort()).toEqual(["false", "false", "false", "true"]);
      expect(lockedBy()).toHaveLength(1);
      expect(readdirSync(directory)).toEqual(["writer"]);
      for (const { child } of makers) child.stdin.end();
      for (const { closed } of makers) await closed;
      rmSync(join(directory, "writer"), { recursive: true });
    }
  });

  it("leaves nothing of processes that were killed while they made it", async () => {
    const { closed } = await start("UNLUCKY");
    await closed;
    expect(readdirSync(directory)).toEqual([expect.stringMatching(/^writer-/)]);
    const [old, recent] = [join(directory, "writer-aB3xYz"), join(directory, "writer-bC4yZa")];
    for (const path of [old, recent]) mkdirSync(path);
    const longAgo = new Date(Date.now() - 2 * 60 * 60 * 1000);
    utimesSync(old, longAgo, longAgo);
    const living = join(directory, `writer-${processLabel("other")}-aB3xYz`);
    mkdirSync(living);
    const lock = make();
    expect(lock.tryAcquire()).toBe(true);
    lock.release();
    expect(readdirSync(directory).sort()).toEqual(
      ["writer", living, recent].map((path) => basename(path)).sort(),
    );
  });

  it("is not given back by a process that lost it while it was stopped", () => {
    const [slow, quick] = [make(), make()];
    expect(slow.tryAcquire()).toBe(true);
    // As if it had been silent for long, on a host where its process cannot be looked for.
    renameSync(join(directory, "writer", lockedBy()[0]!), join(directory, "writer", dead()));
    expect(quick.tryAcquire()).toBe(true);
    slow.release();
    expect(slow.tryAcquire()).toBe(false);
    quick.release();
  });

  it("is never two processes' at once, though every one of them dies with it", async () => {
    const holders = await Promise.all(
      [40, 80, 120, 160, 200, 240].map((count) => start("HOLDER", String(count))),
    );
    for (const { go } of holders) go();
    for (const { closed } of holders) await closed;
    expect(holders.map(({ child }) => child.signalCode)).toEqual(holders.map(() => "SIGKILL"));
    expect(holders.flatMap(({ lines }) => lines)).toEqual(holders.map(() => "ready"));
    const lock = make();
    expect(lock.tryAcquire()).toBe(true);
    lock.release();
    expect(lockedBy()).toEqual(["nobody"]);
  });

  it("is not taken by a late process, after another took it over from a dead one and gave it back", async () => {
    lockFor(dead());
    const late = await start("LATECOMER");
    const [quick, next] = [make(), make()];
    expect(quick.tryAcquire()).toBe(true);
    quick.release();
    expect(next.tryAcquire()).toBe(true);
    late.go();
    await late.closed;
    expect(late.lines).toEqual(["looked", "false"]);
    expect(lockedBy()).toHaveLength(1);
    next.release();
  });

  it("is not taken from a name that is no process", () => {
    lockFor("999999-1-x");
    expect(make().tryAcquire()).toBe(false);
  });

  it("is ours when we could not give it back", () => {
    const label = processLabel("mine");
    lockFor(label);
    const lock = make(label);
    expect(lock.tryAcquire()).toBe(true);
    lock.release();
    expect(lockedBy()).toEqual(["nobody"]);
  });
});

requires("root").describe("a directory that belongs to another user", () => {
  it("is refused, without its path", () => {
    mkdirSync(directory);
    chmodSync(join(directory, ".."), 0o755);
    const { stdout } = spawnSync(process.execPath, [join(programs, "OPENER.mjs"), directory], {
      uid: 65534,
      gid: 65534,
      encoding: "utf8",
    });
    const { code, message, hint } = JSON.parse(stdout);
    expect({ code, message }).toEqual({
      code: "AUDIT_FAILED",
      message: "The audit directory can be changed by other users",
    });
    expect(hint).not.toContain(directory);
  });

  it("is refused when it cannot be made", () => {
    chmodSync(join(directory, ".."), 0o755);
    const { stdout } = spawnSync(process.execPath, [join(programs, "OPENER.mjs"), directory], {
      uid: 65534,
      gid: 65534,
      encoding: "utf8",
    });
    expect(JSON.parse(stdout)).toMatchObject({
      code: "AUDIT_FAILED",
      message: "The audit log cannot be written (EACCES)",
    });
  });
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { beforeAll, describe, expect, it } from "vitest";
import { localTime } from "../../src/cli/output/local-time.js";
import { AuditLogger, type AuditRecord } from "../../src/guard/audit/index.js";
import { requires } from "../setup/requires.js";
import { createUser, LAUNCHER, type User } from "./run-skerry.js";

const START = Date.parse("2026-02-07T12:00:00Z");
const SESSIONS = ["one", "two", "one"] as const;
const RESULTS = ["success", "denied", "timeout"] as const;

let user: User;
let directory: string;
let records: AuditRecord[];

beforeAll(async () => {
  user = createUser();
  // Where the command line looks by itself, in a state directory as it makes it.
  mkdirSync(join(user.home, "state"), { mode: 0o711 });
  directory = join(user.home, "state/audit");
  records = await writeLog(directory);
});

/** Three attempts, a minute apart. */
async function writeLog(where: string): Promise<AuditRecord[]> {
  let now = START;
  const log = new AuditLogger({ directory: where, now: () => new Date(now) });
  const written: AuditRecord[] = [];
  for (const [index, sessionId] of SESSIONS.entries()) {
    const attempt = log.begin({
      sessionId,
      agentId: `agent-${index}`,
      orgId: "acme",
      tool: "shell_exec",
      command: "ls",
    });
    const error = RESULTS[index] === "success" ? null : "\x1b[2Jno\u009b\u202e";
    written.push(await attempt.end({ result: RESULTS[index]!, error }));
    now += 60_000;
  }
  await log.close();
  return written;
}

const logFile = (where: string) => join(where, readdirSync(where).find((name) => name.endsWith(".jsonl"))!);
const seqs = (stdout: string) => (JSON.parse(stdout) as AuditRecord[]).map(({ seq }) => seq);

describe("skerry audit query", () => {
  it("prints one line per record, in local time, in which nothing acts on the terminal", () => {
    const time = (index: number) => localTime(records[index]!.timestamp);
    expect(user.skerry(["audit", "query"])).toEqual({
      status: 0,
      stdout:
        `      1  ${time(0)}  success       shell_exec   one                   ls\n` +
        `      2  ${time(1)}  denied        shell_exec   two                   ls · \\x1b[2Jno\\x9b\\u{202e}\n` +
        `      3  ${time(2)}  timeout       shell_exec   one                   ls · \\x1b[2Jno\\x9b\\u{202e}\n`,
      stderr: "",
    });
  });

  it("prints one JSON array of whole records", () => {
    const { status, stdout, stderr } = user.skerry(["audit", "query", "--json"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual(records);
    // Shown on a terminal, JSON acts no more than the table does.
    expect(stdout).toContain('"error":"\\u001b[2Jno\\u009b\\u202e"');
  });

  it.each<[string[], number[]]>([
    [
      ["--session", "one"],
      [1, 3],
    ],
    [["--result", "denied"], [2]],
    [["--agent", "agent-2"], [3]],
    [
      ["--org", "acme", "--tool", "shell_exec"],
      [1, 2, 3],
    ],
    [["--tool", "run_code"], []],
    [
      ["--since", "2026-02-07T12:01:00Z"],
      [2, 3],
    ],
    [["--until", "2026-02-07T12:01:00Z"], [1]],
    [["--since", "2026-02-07T12:01:00Z", "--session", "one"], [3]],
    // The latest, and still the oldest of them first.
    [
      ["--limit", "2"],
      [2, 3],
    ],
    [["--session", "one", "--limit", "1"], [3]],
  ])("finds with %j what fits", (filter, expected) => {
    const { status, stdout } = user.skerry(["audit", "query", "--json", ...filter]);
    expect({ status, found: seqs(stdout) }).toEqual({ status: 0, found: expected });
  });

  it("takes a time as how long ago", () => {
    // Wherever the clock stands, the records are not from the last second.
    expect(user.skerry(["audit", "query", "--json", "--since", "1s"])).toEqual({
      status: 0,
      stdout: "[]\n",
      stderr: "",
    });
  });

  it.each<[string[], string]>([
    [["--since", "soon"], '--since: "soon" is not a time'],
    [["--result", "nope"], '--result: "nope" is none of success, failure, timeout,'],
    [["--limit", "0"], '--limit: "0" is not a number of records'],
  ])("refuses %j", (args, message) => {
    const { status, stdout, stderr } = user.skerry(["audit", "query", ...args]);
    expect({ status, stdout }).toEqual({ status: 64, stdout: "" });
    expect(stderr).toContain(`skerry: ${message}`);
  });
});

describe("skerry audit tail", () => {
  it("prints the last records as lines of JSON", () => {
    const { status, stdout } = user.skerry(["audit", "tail", "-n", "2", "--json"]);
    const lines = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect({ status, lines }).toEqual({ status: 0, lines: records.slice(1) });
  });

  it("goes on with new records until it is interrupted", async () => {
    const where = join(user.home, "followed");
    await writeLog(where);
    const args = ["audit", "tail", "-n", "1", "--follow", "--json", "--directory", where];
    const child = spawn(LAUNCHER, args, { env: user.environment, stdio: ["ignore", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const next = async () => (JSON.parse((await lines.next()).value ?? "{}") as AuditRecord).seq;
    expect(await next()).toBe(3);
    const log = new AuditLogger({ directory: where });
    await log.begin({ tool: "run_code" }).end({ result: "success" });
    await log.close();
    expect(await next()).toBe(4);
    const exit = once(child, "exit");
    child.kill("SIGINT");
    expect(await exit).toEqual([130, null]);
  });
});

describe("skerry audit verify", () => {
  it("says that the chain is whole, and its head", () => {
    expect(user.skerry(["audit", "verify"])).toEqual({
      status: 0,
      stdout: `whole: 3 records in 1 file\nhead 3:${records[2]!.hash}\n`,
      stderr: "",
    });
    const { status, stdout } = user.skerry(["audit", "verify", "--json", "--directory", directory]);
    expect({ status, verification: JSON.parse(stdout) }).toEqual({
      status: 0,
      verification: {
        ok: true,
        records: 3,
        files: 1,
        firstSeq: 1,
        head: { seq: 3, hash: records[2]!.hash },
        notes: [],
      },
    });
  });

  it("names the first record that was changed, and ends with 65", async () => {
    const where = join(user.home, "changed");
    await writeLog(where);
    const file = logFile(where);
    writeFileSync(file, readFileSync(file, "utf8").replace('"result":"denied"', '"result":"success"'));
    const name = file.slice(where.length + 1);
    const problem = "Record 2 was changed: its hash does not match";
    expect(user.skerry(["audit", "verify", "--directory", where])).toEqual({
      status: 65,
      stdout: `broken: ${name}:2: ${problem}\n1 record before it is right\n`,
      stderr: "",
    });
    const { status, stdout } = user.skerry(["audit", "verify", "--directory", where, "--json"]);
    expect({ status, verification: JSON.parse(stdout) }).toEqual({
      status: 65,
      verification: { ok: false, records: 1, file: name, line: 2, seq: 2, problem },
    });
  });

  it("notes what a crash left, and does not take it for tampering", async () => {
    const where = join(user.home, "crashed");
    await writeLog(where);
    const file = logFile(where);
    writeFileSync(file, '{"agent_id":nu', { flag: "a" });
    const { status, stdout } = user.skerry(["audit", "verify", "--directory", where]);
    expect(status).toBe(0);
    expect(stdout.split("\n").slice(2)).toEqual([
      `note: ${file.slice(where.length + 1)}: 14 bytes of an unfinished record are at the end`,
      "",
    ]);
  });

  it("finds a rewritten log, when it is given a head of the old one", async () => {
    const where = join(user.home, "rewritten");
    await writeLog(where);
    const head = `3:${records[2]!.hash}`;
    expect(user.skerry(["audit", "verify", "--directory", directory, "--expect", head]).status).toBe(0);
    const { status, stdout } = user.skerry(["audit", "verify", "--directory", where, "--expect", head]);
    expect({ status, stdout }).toEqual({
      status: 65,
      stdout: expect.stringContaining("Record 3 differs from the one that the caller recorded\n"),
    });
    expect(user.skerry(["audit", "verify", "--expect", "3"])).toMatchObject({ status: 64, stdout: "" });
  });
});

describe("where there is no log", () => {
  it.each(["tail", "query", "verify"])("skerry audit %s says so", (command) => {
    const empty = { SKERRY_STATE_DIR: join(user.home, "nothing") };
    expect(user.skerry(["audit", command], { env: empty })).toEqual({
      status: 66,
      stdout: "",
      stderr:
        "skerry: there is no audit log yet\n" +
        "hint: It begins with the first skerry run or exec. --directory reads another one.\n",
    });
    const json = user.skerry(["audit", command, "--json", "--directory", join(user.home, "nowhere")]);
    expect({ ...json, stdout: JSON.parse(json.stdout) }).toEqual({
      status: 66,
      stdout: { error: expect.objectContaining({ code: "FILE_NOT_FOUND" }) },
      stderr: "",
    });
  });

  it("the directory of the configuration counts", () => {
    const config = join(user.home, "config.yaml");
    writeFileSync(config, `sandbox:\n  audit:\n    directory: ${directory}\n`);
    const elsewhere = { SKERRY_STATE_DIR: join(user.home, "nothing") };
    expect(user.skerry(["audit", "verify", "--config", config], { env: elsewhere }).stdout).toContain(
      "whole: 3 records",
    );
  });
});

const real = requires("linux", "bubblewrap");

real.describe("what runs", () => {
  it("does not, when it cannot be remembered", () => {
    const env = { SKERRY_SANDBOX__AUDIT__DIRECTORY: "/proc/nowhere" };
    const { status, stdout, stderr } = user.skerry(["exec", "--", "echo", "ran"], { env });
    expect({ status, stdout }).toEqual({ status: 74, stdout: "" });
    expect(stderr).toMatch(/^skerry: The audit log cannot be written .*\nhint: /);
    expect(user.skerry(["exec", "--no-audit", "--", "echo", "ran"], { env })).toEqual({
      status: 0,
      stdout: "ran\n",
      stderr: "",
    });
  });

  it("has its record also when the command line was killed meanwhile", async () => {
    const where = join(user.home, "killed");
    const env = { ...user.environment, SKERRY_SANDBOX__AUDIT__DIRECTORY: where };
    const child = spawn(LAUNCHER, ["exec", "--agent", "a", "--", "sh", "-c", "echo on; sleep 1000"], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
    // The next one finds what is owed.
    expect(user.skerry(["exec", "--", "true"], { env }).status).toBe(0);
    const { stdout } = user.skerry(["audit", "query", "--json", "--directory", where]);
    expect(JSON.parse(stdout)).toEqual([
      expect.objectContaining({ result: "interrupted", agent_id: "a", tool: "shell_exec" }),
      expect.objectContaining({ result: "success", command: "true" }),
    ]);
    expect(user.skerry(["audit", "verify", "--directory", where]).status).toBe(0);
  });
});

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, readdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { requires } from "../../../test/setup/requires.js";
import { AuditLogger, type AuditLoggerOptions } from "./audit-logger.js";
import type { AuditRecord } from "./record.js";
import { verifyAudit } from "./verify.js";

let directory: string;

beforeEach(() => {
  directory = temporaryDirectory();
});

async function write(count: number, options: Partial<AuditLoggerOptions> = {}): Promise<AuditRecord[]> {
  await using logger = new AuditLogger({ directory, ...options });
  const records: AuditRecord[] = [];
  for (let index = 0; index < count; index++) {
    records.push(await logger.begin({ sessionId: `s${index}` }).end({ result: "success" }));
  }
  return records;
}

const FILE = "audit-000000000001.jsonl";
const files = () => readdirSync(directory).filter((name) => name.endsWith(".jsonl"));
const linesOf = (name = FILE) => readFileSync(join(directory, name), "latin1").split("\n").slice(0, -1);
const writeLines = (lines: string[], name = FILE) =>
  writeFileSync(join(directory, name), lines.map((line) => `${line}\n`).join(""));

/** A line whose own hash fits. */
function forge(line: string, change: Partial<AuditRecord>): string {
  const { hash: _, ...record } = { ...(JSON.parse(line) as AuditRecord), ...change };
  const keys = Object.keys(record).sort() as (keyof typeof record)[];
  const text = `{${keys.map((key) => `${JSON.stringify(key)}:${JSON.stringify(record[key])}`).join(",")}}`;
  return `${text.slice(0, -1)},"hash":"${createHash("sha256").update(text).digest("hex")}"}`;
}

describe("an untouched log", () => {
  it("is whole, over all of its files", async () => {
    const records = await write(30, { maxFileBytes: 8000 });
    const last = records.at(-1)!;
    expect(files().length).toBeGreaterThan(2);
    expect(await verifyAudit(directory)).toEqual({
      ok: true,
      records: 30,
      files: files().length,
      firstSeq: 1,
      head: { seq: 30, hash: last.hash },
      notes: [],
    });
  });

  it("is whole when it is empty", async () => {
    expect(await verifyAudit(directory)).toMatchObject({ ok: true, records: 0, head: null });
    await write(0);
    expect(await verifyAudit(directory)).toMatchObject({ ok: true, records: 0, head: null });
  });

  it("is checked from the first file that is kept, and the chain says what went before", async () => {
    await write(60, { maxFileBytes: 8000, keepFiles: 2 });
    const verification = await verifyAudit(directory);
    expect(verification).toMatchObject({ ok: true, files: 2 });
    expect(files()).toHaveLength(2);
    expect(verification.ok && verification.firstSeq).toBe(Number(/\d+/.exec(files()[0]!)![0]));
  });

  it("reports how far it is, and can be stopped", async () => {
    await write(5);
    const seen: unknown[] = [];
    await verifyAudit(directory, { onProgress: (progress) => seen.push(progress) });
    const size = readFileSync(join(directory, FILE)).length;
    expect(seen).toEqual([{ records: 5, bytes: size, totalBytes: size }]);
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(verifyAudit(directory, { signal })).rejects.toThrow("enough");
  });

  it("is an error when it is not there at all", async () => {
    await expect(verifyAudit(join(directory, "none"))).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
  });

  requires("python3").it("can be checked by ten lines of Python", async () => {
    await write(20, { maxFileBytes: 8000 });
    const program = `
import glob, hashlib, json, sys
prev, seq = "0" * 64, 0
for name in sorted(glob.glob(sys.argv[1] + "/audit-*.jsonl")):
    for line in open(name):
        record = json.loads(line)
        hash = record.pop("hash")
        text = json.dumps(record, sort_keys=True, separators=(",", ":"))
        assert hashlib.sha256(text.encode()).hexdigest() == hash
        assert record["prev"] == prev and record["seq"] == seq + 1
        prev, seq = hash, seq + 1
print(seq)
`;
    const { stdout, stderr } = spawnSync("/usr/bin/python3", ["-c", program, directory], {
      encoding: "utf8",
    });
    expect({ stdout, stderr }).toEqual({ stdout: "20\n", stderr: "" });
  });
});

describe("a log that was tampered with", () => {
  it.each<
    [string, (lines: string[]) => string[], { line: number; seq: number; problem: RegExp; records: number }]
  >([
    [
      "a byte changed",
      (lines) => lines.with(4, lines[4]!.replace('"session_id":"s4"', '"session_id":"sX"')),
      { line: 5, seq: 5, records: 4, problem: /^Record 5 was changed/ },
    ],
    [
      "a record rewritten with a hash that fits",
      (lines) => lines.with(4, forge(lines[4]!, { session_id: "sX" })),
      { line: 6, seq: 6, records: 5, problem: /^Record 6 does not follow the one before it/ },
    ],
    [
      "a record removed",
      (lines) => lines.toSpliced(4, 1),
      { line: 5, seq: 5, records: 4, problem: /^Record 5 is missing here: the next one is 6$/ },
    ],
    [
      "three records removed",
      (lines) => lines.toSpliced(4, 3),
      { line: 5, seq: 5, records: 4, problem: /^Records 5 to 7 are missing here/ },
    ],
    [
      "the first record removed",
      (lines) => lines.slice(1),
      { line: 1, seq: 1, records: 0, problem: /^Record 1 is missing here/ },
    ],
    [
      "two records swapped",
      (lines) => lines.with(4, lines[5]!).with(5, lines[4]!),
      { line: 5, seq: 5, records: 4, problem: /^Record 5 is missing here: the next one is 6$/ },
    ],
    [
      "a record twice",
      (lines) => lines.toSpliced(5, 0, lines[4]!),
      { line: 6, seq: 5, records: 5, problem: /^Record 5 is in the place of 6/ },
    ],
    [
      "a forged record put in",
      (lines) =>
        lines.toSpliced(5, 0, forge(lines[4]!, { seq: 6, prev: JSON.parse(lines[4]!).hash, id: "forged" })),
      { line: 7, seq: 6, records: 6, problem: /^Record 6 is in the place of 7/ },
    ],
    [
      "a line of something else put in",
      (lines) => lines.toSpliced(5, 0, "# nothing to see"),
      { line: 6, seq: 6, records: 5, problem: /^Record 6 is missing: there is something else in its place$/ },
    ],
    [
      "the last records cut off",
      (lines) => lines.slice(0, 8),
      {
        line: 9,
        seq: 9,
        records: 8,
        problem: /^Records 9 to 10 are missing at the end: the anchor recorded 10 records$/,
      },
    ],
    [
      "the last record rewritten with a hash that fits",
      (lines) => lines.with(9, forge(lines[9]!, { session_id: "sX" })),
      { line: 10, seq: 10, records: 9, problem: /^Record 10 differs from the one that the anchor recorded$/ },
    ],
    [
      "a forged line at the end",
      (lines) => [...lines, "{}"],
      { line: 11, seq: 11, records: 10, problem: /^Record 11 is missing: there is something else/ },
    ],
    [
      "everything removed but the file",
      () => [],
      { line: 1, seq: 1, records: 0, problem: /^Records 1 to 10 are missing at the end/ },
    ],
  ])("is found out: %s", async (_, tamper, { problem, ...where }) => {
    await write(10);
    writeLines(tamper(linesOf()));
    const verification = await verifyAudit(directory);
    expect(verification).toMatchObject({ ok: false, ...where });
    expect(verification).toHaveProperty("problem", expect.stringMatching(problem));
    expect(verification).toHaveProperty("file", FILE);
  });

  it.each([
    ["the first", 0, 1],
    ["one in the middle", 1, undefined],
    ["the last", -1, undefined],
  ])("is found out: %s of its files removed", async (_, which, seq) => {
    await write(30, { maxFileBytes: 8000 });
    const removed = files().at(which)!;
    unlinkSync(join(directory, removed));
    const firstLost = Number(/\d+/.exec(removed)![0]);
    expect(await verifyAudit(directory)).toMatchObject({ ok: false, seq: seq ?? firstLost });
  });

  it("is found out when a file has the name of another", async () => {
    await write(5);
    writeLines(linesOf(), "audit-000000000002.jsonl");
    expect(await verifyAudit(directory)).toMatchObject({
      ok: false,
      file: "audit-000000000002.jsonl",
      line: 1,
      seq: 1,
    });
  });

  it("is found out when the anchor is gone or damaged", async () => {
    await write(5);
    writeFileSync(join(directory, "head"), "nonsense");
    expect(await verifyAudit(directory)).toMatchObject({
      ok: false,
      problem: expect.stringContaining("damaged"),
    });
    unlinkSync(join(directory, "head"));
    expect(await verifyAudit(directory)).toMatchObject({
      ok: false,
      problem: expect.stringContaining("missing"),
    });
  });

  it("is found with an earlier head, even when everything was rewritten", async () => {
    await write(5);
    const before = await verifyAudit(directory);
    if (!before.ok) throw new Error(before.problem);
    await write(3);
    expect(await verifyAudit(directory, { expect: before.head! })).toMatchObject({ ok: true, records: 8 });
    rmSync(directory, { recursive: true });
    await write(8);
    expect(await verifyAudit(directory)).toMatchObject({ ok: true, records: 8 });
    expect(await verifyAudit(directory, { expect: before.head! })).toMatchObject({ ok: false, seq: 5 });
    expect(await verifyAudit(directory, { expect: { seq: 9, hash: "f".repeat(64) } })).toMatchObject({
      ok: false,
      problem: expect.stringContaining("the caller recorded 9 records"),
    });
  });
});

describe("a log that goes on after it was tampered with", () => {
  it("says for ever what was cut off", async () => {
    await write(10);
    writeLines(linesOf().slice(0, 7));
    await write(3);
    expect(await verifyAudit(directory)).toMatchObject({
      ok: false,
      line: 8,
      seq: 8,
      problem: "Records 8 to 10 were removed before this was written",
    });
  });

  it("says for ever that its anchor was gone", async () => {
    await write(10);
    writeLines(linesOf().slice(0, 7));
    unlinkSync(join(directory, "head"));
    await write(3);
    expect(await verifyAudit(directory)).toMatchObject({
      ok: false,
      seq: 8,
      problem: expect.stringContaining("anchor"),
    });
  });

  it("sets aside a forged line or file, and says so", async () => {
    await write(3);
    appendFileSync(join(directory, FILE), "forged\n");
    writeFileSync(join(directory, "audit-000000000900.jsonl"), "more\n");
    await write(1);
    expect(readFileSync(join(directory, `${FILE}.damaged`), "latin1")).toBe("forged\n");
    expect(readFileSync(join(directory, "audit-000000000900.jsonl.damaged"), "latin1")).toBe("more\n");
    expect(linesOf().map((line) => JSON.parse(line).event_type)).toEqual([
      ...Array(3).fill("sandbox_execution"),
      "audit_gap",
      "audit_gap",
      "sandbox_execution",
    ]);
    expect(await verifyAudit(directory)).toMatchObject({ ok: false, seq: 4 });
  });

  it("remembers how long it was when both the log and the anchor are cut under a running logger", async () => {
    await using logger = new AuditLogger({ directory });
    const once = () => logger.begin({}).end({ result: "success" });
    for (let index = 0; index < 4; index++) await once();
    const log = readFileSync(join(directory, FILE));
    const anchor = readFileSync(join(directory, "head"));
    for (let index = 0; index < 4; index++) await once();
    writeFileSync(join(directory, FILE), log);
    writeFileSync(join(directory, "head"), anchor);
    await once();
    expect(await verifyAudit(directory)).toMatchObject({
      ok: false,
      seq: 5,
      problem: "Records 5 to 8 were removed before this was written",
    });
  });
});

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AuditLogger } from "./audit-logger.js";
import { verifyAudit } from "./verify.js";

const FILE = "audit-000000000001.jsonl";
const COUNT = 4;
/** Every offset of a record is a thousand recoveries, each of which waits for the disk: memory has none to wait for. */
const base = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "skerry-audit-"));
const directory = join(base, "log");

afterAll(() => rmSync(base, { recursive: true, force: true }));

async function append(count: number): Promise<void> {
  await using logger = new AuditLogger({ directory, fsync: "never" });
  for (let index = 0; index < count; index++)
    await logger.begin({ sessionId: `s${index}` }).end({ result: "success" });
}

const path = (name: string) => join(directory, name);

/** What is on disk after the record before the last, and after the last. */
interface Disk {
  readonly log: Buffer;
  readonly anchor: Buffer;
}
let before: Disk;
let after: Disk;
const read = (): Disk => ({ log: readFileSync(path(FILE)), anchor: readFileSync(path("head")) });

function restore(log: Buffer, anchor: Buffer): void {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { mode: 0o700 });
  writeFileSync(path(FILE), log, { mode: 0o600 });
  writeFileSync(path("head"), anchor, { mode: 0o600 });
}

/** The anchor as another run of the machine would have left it. */
function fromBefore(anchor: Buffer, synced: number): Buffer {
  const head = { ...JSON.parse(anchor.toString("latin1", 0, 512)), boot: "0123456789abcdef" };
  const sectors = [head, { synced }].map((each) => `${JSON.stringify(each).padEnd(511)}\n`);
  return Buffer.from(sectors.join(""), "latin1");
}

const events = () =>
  readFileSync(path(FILE), "latin1")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
const typesOf = (records: { event_type: string }[]) => records.map(({ event_type }) => event_type);
const runs = (count: number) => Array<string>(count).fill("sandbox_execution");

beforeAll(async () => {
  await append(COUNT - 1);
  before = read();
  await append(1);
  after = read();
});

describe("a record that was being written when its writer was killed", () => {
  beforeEach(() => rmSync(directory, { recursive: true, force: true }));

  it("is set aside at whatever byte it ends, and the chain goes on and says so", async () => {
    for (let size = before.log.length + 1; size < after.log.length; size++) {
      const torn = after.log.subarray(before.log.length, size);
      restore(after.log.subarray(0, size), before.anchor);
      const unfinished = {
        file: FILE,
        seq: null,
        note: `${torn.length} bytes of an unfinished record are at the end`,
      };
      expect(await verifyAudit(directory)).toMatchObject({
        ok: true,
        records: COUNT - 1,
        notes: [unfinished],
      });
      await append(1);
      const records = events();
      expect(typesOf(records)).toEqual([...runs(COUNT - 1), "audit_recovered", ...runs(1)]);
      expect(records[COUNT - 1]).toMatchObject({
        error: `${torn.length} bytes of an unfinished record were set aside`,
        details: { file: FILE, damaged_bytes: torn.length },
      });
      expect(readFileSync(path(`${FILE}.damaged`)).equals(torn)).toBe(true);
      expect(await verifyAudit(directory)).toMatchObject({
        ok: true,
        records: COUNT + 1,
        notes: [{ seq: COUNT, note: records[COUNT - 1].error }],
      });
    }
  });

  it("is taken in when it is whole, though the anchor does not know it yet", async () => {
    restore(after.log, before.anchor);
    expect(await verifyAudit(directory)).toMatchObject({ ok: true, records: COUNT, notes: [] });
    await append(1);
    expect(typesOf(events())).toEqual(runs(COUNT + 1));
    expect(await verifyAudit(directory)).toMatchObject({ ok: true, records: COUNT + 1, notes: [] });
  });
});

describe("a machine that stopped before the last record was on disk", () => {
  it("loses at whatever byte no more than that record, and the chain says so", async () => {
    for (let size = before.log.length; size < after.log.length; size++) {
      restore(after.log.subarray(0, size), fromBefore(after.anchor, COUNT - 1));
      expect(await verifyAudit(directory)).toMatchObject({ ok: true, records: COUNT - 1 });
      await append(1);
      const records = events();
      expect(typesOf(records)).toEqual([...runs(COUNT - 1), "audit_recovered", ...runs(1)]);
      expect(records[COUNT - 1].error).toBe(`Record ${COUNT} was lost when the machine stopped`);
      expect(await verifyAudit(directory)).toMatchObject({ ok: true, records: COUNT + 1 });
    }
  });

  it("may leave a file with its length but without its bytes", async () => {
    const zeros = Buffer.concat([before.log, Buffer.alloc(after.log.length - before.log.length)]);
    restore(zeros, fromBefore(after.anchor, COUNT - 1));
    await append(1);
    expect(typesOf(events())).toEqual([...runs(COUNT - 1), "audit_recovered", ...runs(1)]);
    expect(await verifyAudit(directory)).toMatchObject({ ok: true, records: COUNT + 1 });
    expect(readdirSync(directory)).toContain(`${FILE}.damaged`);
  });

  it("is no excuse for a record that was on disk", async () => {
    const missing = { ok: false, seq: COUNT };
    restore(before.log, fromBefore(after.anchor, COUNT));
    expect(await verifyAudit(directory)).toMatchObject(missing);
    await append(1);
    expect(await verifyAudit(directory)).toMatchObject(missing);
  });

  it("is no excuse when the machine never stopped", async () => {
    const missing = { ok: false, seq: COUNT };
    restore(after.log.subarray(0, -10), after.anchor);
    expect(await verifyAudit(directory)).toMatchObject(missing);
    await append(1);
    expect(await verifyAudit(directory)).toMatchObject(missing);
  });
});

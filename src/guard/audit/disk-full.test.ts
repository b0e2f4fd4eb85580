import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { requires } from "../../../test/setup/requires.js";
import { AuditLogger } from "./audit-logger.js";
import { queryAudit } from "./query.js";
import type { AuditRecord } from "./record.js";
import { verifyAudit } from "./verify.js";

const FILE = "audit-000000000001.jsonl";
const PAGE_BYTES = 4096;

function mount(...args: string[]): void {
  const { status, stderr } = spawnSync(args[0]!, args.slice(1), { encoding: "utf8" });
  if (status !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
}

requires("root").describe("a disk of its own", () => {
  let disk: string;
  let directory: string;

  beforeEach(() => {
    disk = temporaryDirectory();
    mount("mount", "-t", "tmpfs", "-o", "size=64k,mode=0700", "tmpfs", disk);
    directory = join(disk, "log");
  });

  afterEach(() => {
    // A test that failed may have left files open.
    mount("umount", "--lazy", disk);
  });

  async function read(): Promise<AuditRecord[]> {
    const records: AuditRecord[] = [];
    for await (const record of queryAudit(directory)) records.push(record);
    return records;
  }

  it("that is full makes the attempt AUDIT_FAILED, and leaves nothing half-written", async () => {
    const logger = new AuditLogger({ directory });
    const kept: string[] = [];
    for (let index = 0; index < 3; index++) kept.push((await logger.begin({}).end({ result: "success" })).id);
    const attempt = logger.begin({ sessionId: "too-much" });
    // All but one page is gone, so that a part of a record can be written.
    const before = readFileSync(join(directory, FILE));
    const ballast = join(disk, "ballast");
    for (let pages = 16; pages > 0; pages--) {
      try {
        writeFileSync(ballast, Buffer.alloc(PAGE_BYTES * pages));
        break;
      } catch {
        // Fewer, then.
      }
    }
    const filesWritten = Array.from({ length: 100 }, (_, index) => `/workspace/${"x".repeat(100)}${index}`);
    await expect(attempt.end({ result: "success", filesWritten })).rejects.toMatchObject({
      code: "AUDIT_FAILED",
      message: "The audit log cannot be written: the disk is full",
    });
    expect(readFileSync(join(directory, FILE)).equals(before)).toBe(true);
    expect(() => logger.begin({})).toThrow(expect.objectContaining({ code: "AUDIT_FAILED" }));
    expect(await verifyAudit(directory)).toMatchObject({ ok: true, records: 3, notes: [] });

    rmSync(ballast);
    kept.push(attempt.id, (await logger.begin({}).end({ result: "success" })).id);
    await logger.close();
    expect((await read()).map(({ id }) => id)).toEqual(kept);
    expect(await verifyAudit(directory)).toMatchObject({ ok: true, records: 5, notes: [] });
  });

  it("that becomes read-only refuses the attempt, and can still be verified and queried", async () => {
    const logger = new AuditLogger({ directory });
    await logger.begin({ sessionId: "s" }).end({ result: "success" });
    await logger.close();
    mount("mount", "-o", "remount,ro", disk);
    const next = new AuditLogger({ directory });
    expect(() => next.begin({})).toThrow(
      expect.objectContaining({ code: "AUDIT_FAILED", message: "The audit log cannot be written (EROFS)" }),
    );
    expect(await verifyAudit(directory)).toMatchObject({ ok: true, records: 1 });
    const found: AuditRecord[] = [];
    for await (const record of queryAudit(directory, { session: "s" })) found.push(record);
    expect(found).toHaveLength(1);
  });
});

it("is not needed to refuse a log below /proc", () => {
  const logger = new AuditLogger({ directory: "/proc/self/audit/log" });
  expect(() => logger.begin({})).toThrow(expect.objectContaining({ code: "AUDIT_FAILED" }));
});

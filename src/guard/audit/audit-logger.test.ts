import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { processLabel } from "../../kit/process-label.js";
import { AuditLogger } from "./audit-logger.js";
import { queryAudit } from "./query.js";
import type { AuditRecord } from "./record.js";
import { createCallbackSink, createFileSink, createStreamSink } from "./sinks.js";
import { verifyAudit } from "./verify.js";

let base: string;
let directory: string;

beforeEach(() => {
  base = temporaryDirectory();
  directory = join(base, "deep", "log");
});

async function read(): Promise<AuditRecord[]> {
  const records: AuditRecord[] = [];
  for await (const record of queryAudit(directory)) records.push(record);
  return records;
}

const resultsOf = async () => (await read()).map(({ result }) => result);
const pending = () => readdirSync(join(directory, "pending"));
const failed = expect.objectContaining({ code: "AUDIT_FAILED" });

function replace(path: string, make: (path: string) => void): void {
  rmSync(path, { recursive: true });
  make(path);
}

describe("an attempt", () => {
  it("has one record with what was known at its beginning and at its end", async () => {
    const times = [new Date(1000), new Date(2500)];
    await using logger = new AuditLogger({ directory, now: () => times.shift() ?? new Date(9000) });
    const attempt = logger.begin({
      sessionId: "sess_abc123",
      agentId: "agent_456",
      orgId: "org_789",
      role: "code_assistant",
      tool: "run_code",
      language: "python",
      code: "print(1)",
    });
    const record = await attempt.end({
      result: "success",
      sandboxId: "sandbox_xyz",
      backend: "bubblewrap",
      executionTimeMs: 1234.5678,
      exitCode: 0,
      memoryUsedMb: 128,
      cpuTimeMs: 500,
      networkBytesSent: 0,
      networkBytesRecv: 0,
      filesRead: ["/workspace/input.txt"],
      filesWritten: ["/workspace/output.txt"],
      filesDeleted: [],
      riskLevel: "SAFE",
      findings: [],
      policyRule: "tools.run_code",
    });
    expect(await read()).toEqual([record]);
    const { host, pid, hash, code_hash, ...rest } = record;
    expect({ hash, code_hash }).toEqual({
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      code_hash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    });
    expect([typeof host, pid]).toEqual(["string", process.pid]);
    expect(rest).toEqual({
      seq: 1,
      id: attempt.id,
      prev: "0".repeat(64),
      timestamp: "1970-01-01T00:00:02.500Z",
      started_at: "1970-01-01T00:00:01.000Z",
      event_type: "sandbox_execution",
      session_id: "sess_abc123",
      agent_id: "agent_456",
      org_id: "org_789",
      role: "code_assistant",
      sandbox_id: "sandbox_xyz",
      backend: "bubblewrap",
      tool: "run_code",
      language: "python",
      code: null,
      command: null,
      execution_time_ms: 1234.568,
      exit_code: 0,
      memory_used_mb: 128,
      cpu_time_ms: 500,
      network_bytes_sent: 0,
      network_bytes_recv: 0,
      files_read: ["/workspace/input.txt"],
      files_written: ["/workspace/output.txt"],
      files_deleted: [],
      files_left_out: 0,
      result: "success",
      error: null,
      risk_level: "SAFE",
      findings: [],
      policy_rule: "tools.run_code",
      decided_by: null,
      confirmation: null,
      details: null,
    });
  });

  it("has one record however often it is ended", async () => {
    await using logger = new AuditLogger({ directory });
    const attempt = logger.begin({});
    const [first, second] = await Promise.all([
      attempt.end({ result: "success" }),
      attempt.end({ result: "error" }),
    ]);
    expect(second).toBe(first);
    expect(await attempt.end({ result: "denied" })).toBe(first);
    expect(await resultsOf()).toEqual(["success"]);
  });

  it("is not ended by a result that is none", async () => {
    await using logger = new AuditLogger({ directory });
    const attempt = logger.begin({});
    await expect(attempt.end({ result: "fine" as "success" })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    await attempt.end({ result: "failure" });
    expect(await resultsOf()).toEqual(["failure"]);
  });

  it("that is open when the log is closed is interrupted", async () => {
    const logger = new AuditLogger({ directory });
    const attempt = logger.begin({ sessionId: "s" });
    await logger.close();
    await logger.close();
    expect(await read()).toMatchObject([{ id: attempt.id, session_id: "s", result: "interrupted" }]);
    await expect(attempt.end({ result: "success" })).rejects.toEqual(failed);
    expect(() => logger.begin({})).toThrow(failed);
    await expect(logger.log({ eventType: "x" })).rejects.toEqual(failed);
    expect(pending()).toEqual([]);
  });

  it("keeps the order of the calls, many at once", async () => {
    await using logger = new AuditLogger({ directory, maxFileBytes: 200_000 });
    const records = await Promise.all(
      Array.from({ length: 1200 }, (_, index) =>
        logger.begin({ sessionId: `${index}` }).end({ result: "success" }),
      ),
    );
    expect(records.map(({ seq, session_id }) => [seq, session_id])).toEqual(
      Array.from({ length: 1200 }, (_, index) => [index + 1, `${index}`]),
    );
    expect(await verifyAudit(directory)).toMatchObject({ ok: true, records: 1200 });
  });
});

describe("an event that is no attempt", () => {
  it("has a record of its own type", async () => {
    await using logger = new AuditLogger({ directory });
    await logger.log({ eventType: "resource_alert", sandboxId: "x", details: { memory_percent: 93.5 } });
    expect(await read()).toMatchObject([
      {
        event_type: "resource_alert",
        sandbox_id: "x",
        result: null,
        details: { memory_percent: 93.5 },
        started_at: null,
      },
    ]);
  });

  it.each(["audit_gap", "audit_retired", "sandbox_execution", "", "Upper", "a\nb", 7, "x".repeat(65)])(
    "cannot take the type %j",
    async (eventType) => {
      await using logger = new AuditLogger({ directory });
      await expect(logger.log({ eventType: eventType as string })).rejects.toMatchObject({
        code: "INVALID_ARGUMENT",
      });
    },
  );
});

describe("the files", () => {
  it("are closed to all others", async () => {
    const logger = new AuditLogger({ directory });
    const attempt = logger.begin({});
    await logger.begin({}).end({ result: "success" });
    const modes = readdirSync(directory, { recursive: true, encoding: "utf8" }).map((name) => {
      return statSync(join(directory, name)).mode & 0o777;
    });
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(new Set(modes)).toEqual(new Set([0o600, 0o700]));
    await attempt.end({ result: "success" });
    await logger.close();
  });

  it("are followed by a new one when they are full, and the oldest go when that was asked for", async () => {
    const sink: AuditRecord[] = [];
    const callback = createCallbackSink((record) => void sink.push(record));
    const logger = new AuditLogger({ directory, maxFileBytes: 5000, keepFiles: 3, sinks: [callback] });
    for (let index = 0; index < 40; index++) await logger.begin({}).end({ result: "success" });
    await logger.close();
    const names = readdirSync(directory).filter((name) => name.endsWith(".jsonl"));
    expect(names).toHaveLength(3);
    for (const name of names) expect(statSync(join(directory, name)).size).toBeLessThanOrEqual(5000);
    const kept = await read();
    // The sink has seen every record, the log's own too, in the order of the chain.
    expect(sink.map(({ seq }) => seq)).toEqual(sink.map((_, index) => index + 1));
    expect(sink.slice(-kept.length)).toEqual(kept);
    expect(sink.filter(({ event_type }) => event_type === "sandbox_execution")).toHaveLength(40);
    const retired = kept.filter(({ event_type }) => event_type === "audit_retired").at(-1);
    expect(retired?.details).toMatchObject({ through_seq: kept[0]!.seq - 1, through_hash: kept[0]!.prev });
  });

  it("go on where they ended, with the next logger", async () => {
    for (const session of ["a", "b"]) {
      await using logger = new AuditLogger({ directory });
      await logger.begin({ sessionId: session }).end({ result: "success" });
    }
    const [first, second] = await read();
    expect(second).toMatchObject({ seq: 2, prev: first!.hash });
  });

  it.each(["always", "interval", "never"] as const)("are written with fsync %j", async (fsync) => {
    const logger = new AuditLogger({ directory, fsync, fsyncIntervalMs: 1 });
    await Promise.all([1, 2, 3].map(() => logger.begin({}).end({ result: "success" })));
    await logger.flush();
    const synced = /"synced":(\d+)/.exec(readFileSync(join(directory, "head"), "latin1"))?.[1];
    expect(synced).toBe(fsync === "never" ? undefined : "3");
    await logger.close();
    expect(pending()).toEqual([]);
  });

  it("are created again when they are removed under a running logger, and the chain says so", async () => {
    await using logger = new AuditLogger({ directory });
    await logger.begin({}).end({ result: "success" });
    rmSync(directory, { recursive: true });
    await logger.begin({}).end({ result: "success" });
    expect(await read()).toMatchObject([
      { event_type: "audit_gap", error: "Record 1 was removed" },
      { event_type: "sandbox_execution" },
    ]);
  });
});

describe("sinks", () => {
  it("get every record after it is in the chain, as the same line", async () => {
    const stream = new PassThrough();
    let printed = "";
    stream.on("data", (data: Buffer) => {
      printed += data.toString();
    });
    const copy = join(base, "copy.jsonl");
    const logger = new AuditLogger({ directory, sinks: [createStreamSink(stream), createFileSink(copy)] });
    await logger.begin({ error: "\u001b[31m\u202e" }).end({ result: "success" });
    await logger.begin({}).end({ result: "denied" });
    await logger.close();
    const log = readFileSync(join(directory, "audit-000000000001.jsonl"), "utf8");
    expect(printed).toBe(log);
    expect(readFileSync(copy, "utf8")).toBe(log);
    expect(statSync(copy).mode & 0o777).toBe(0o600);
  });

  it("alone have a chain of their own", async () => {
    const seen: AuditRecord[] = [];
    await using logger = new AuditLogger({ sinks: [createCallbackSink((record) => void seen.push(record))] });
    await logger.begin({}).end({ result: "success" });
    await logger.begin({}).end({ result: "success" });
    expect(seen.map(({ seq }) => seq)).toEqual([1, 2]);
    expect(seen[1]!.prev).toBe(seen[0]!.hash);
  });

  it("that fail make the attempt fail, and its record stays the only one", async () => {
    const sink = createCallbackSink(() => {
      throw new Error("no connection");
    });
    const logger = new AuditLogger({ directory, sinks: [sink] });
    const attempt = logger.begin({});
    await expect(attempt.end({ result: "success" })).rejects.toMatchObject({
      code: "AUDIT_FAILED",
      message: "A sink of the audit log failed",
      cause: new Error("no connection"),
    });
    await expect(attempt.end({ result: "success" })).rejects.toEqual(failed);
    await logger.close();
    expect(await resultsOf()).toEqual(["success"]);
  });
});

describe("a log that cannot be written", () => {
  it.each<[string, () => void]>([
    ["a file stands in its place", () => writeFileSync(directory, "")],
    ["a file stands above it", () => replace(join(base, "deep"), (path) => writeFileSync(path, ""))],
    ["others may write to it", () => mkdirSync(directory) ?? chmodSync(directory, 0o777)],
    ["it is a link", () => symlinkSync(tmpdir(), directory)],
    ["its place is not a disk", () => replace(join(base, "deep"), (path) => symlinkSync("/proc/self", path))],
  ])("refuses the attempt: %s", async (_, spoil) => {
    mkdirSync(join(base, "deep"));
    spoil();
    const logger = new AuditLogger({ directory });
    expect(() => logger.begin({})).toThrow(failed);
    await expect(logger.open()).rejects.toEqual(failed);
    await expect(logger.log({ eventType: "x" })).rejects.toEqual(failed);
  });

  it("refuses the next attempt after a record could not be written, and writes it first when it can again", async () => {
    const logger = new AuditLogger({ directory });
    const attempt = logger.begin({ sessionId: "owed" });
    // In the way of the first file.
    mkdirSync(join(directory, "audit-000000000001.jsonl"));
    await expect(attempt.end({ result: "timeout" })).rejects.toEqual(failed);
    expect(() => logger.begin({})).toThrow(failed);
    rmSync(join(directory, "audit-000000000001.jsonl"), { recursive: true });
    await logger.begin({ sessionId: "next" }).end({ result: "success" });
    await logger.close();
    expect((await read()).map(({ session_id, result }) => [session_id, result])).toEqual([
      ["owed", "timeout"],
      ["next", "success"],
    ]);
  });

  it("can be ended again after it failed, with one record", async () => {
    const logger = new AuditLogger({ directory });
    const attempt = logger.begin({});
    mkdirSync(join(directory, "head"));
    await expect(attempt.end({ result: "timeout" })).rejects.toEqual(failed);
    rmSync(join(directory, "head"), { recursive: true });
    expect(await attempt.end({ result: "failure" })).toMatchObject({ seq: 1, result: "failure" });
    await logger.close();
    expect(await resultsOf()).toEqual(["failure"]);
  });

  it("leaves out what it is told to later", async () => {
    const logger = new AuditLogger({ directory });
    const before = await logger.log({ eventType: "note", command: "use correct-horse" });
    logger.alsoRedact(["correct-horse"]);
    const after = await logger.log({
      eventType: "note",
      command: "use correct-horse",
      error: "token=abcdefgh12345",
    });
    await logger.close();
    expect(before.command).toContain("correct-horse");
    expect([after.command, after.error].join()).not.toMatch(/correct-horse|abcdefgh12345/);
  });

  it("is an error after a while when a living process keeps the lock", async () => {
    const logger = new AuditLogger({ directory, lockTimeoutMs: 50 });
    const attempt = logger.begin({});
    const writer = join(directory, "writer");
    mkdirSync(writer);
    writeFileSync(join(writer, processLabel("other")), "");
    await expect(attempt.end({ result: "success" })).rejects.toMatchObject({
      code: "AUDIT_FAILED",
      message: "Other processes kept the audit log locked for 50 ms",
    });
    renameSync(join(writer, readdirSync(writer)[0]!), join(writer, "nobody"));
    await logger.close();
    expect(await resultsOf()).toEqual(["success"]);
    expect(readdirSync(writer)).toEqual(["nobody"]);
  });

  it.each([
    ["nowhere to write", {}],
    ["a negative size", { directory: "x", maxFileBytes: -1 }],
    ["no files to keep", { directory: "x", keepFiles: 0 }],
    ["an fsync policy that is none", { directory: "x", fsync: "sometimes" as "never" }],
    ["half a millisecond", { directory: "x", fsyncIntervalMs: 0.5 }],
  ])("is refused with %s", (_, options) => {
    expect(() => new AuditLogger(options)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });
});

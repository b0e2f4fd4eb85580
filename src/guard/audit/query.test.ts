import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { AuditLogger } from "./audit-logger.js";
import { type AuditQuery, queryAudit } from "./query.js";
import { AUDIT_RESULTS, type AuditRecord } from "./record.js";
import { tailAudit } from "./tail.js";

const COUNT = 300;
const TOOLS = ["run_code", "shell_exec", "file_read"];
const at = (index: number) => new Date(Date.UTC(2026, 1, 7, 12, index));

let directory: string;
let all: AuditRecord[];

/** A log of several files, with sessions, tools and results that recur. */
beforeAll(async () => {
  directory = temporaryDirectory();
  let index = 0;
  await using logger = new AuditLogger({ directory, maxFileBytes: 60_000, now: () => at(index) });
  all = [];
  for (; index < COUNT; index++) {
    const attempt = logger.begin({
      sessionId: `s${index % 7}`,
      agentId: `a${index % 5}`,
      orgId: index % 2 === 0 ? "é\u202e" : null,
      tool: TOOLS[index % 3]!,
    });
    all.push(await attempt.end({ result: AUDIT_RESULTS[index % AUDIT_RESULTS.length]! }));
  }
  all.push(await logger.log({ eventType: "resource_alert", sessionId: "s1" }));
});

async function find(query: AuditQuery): Promise<number[]> {
  const seqs: number[] = [];
  for await (const { seq } of queryAudit(directory, query)) seqs.push(seq);
  return seqs;
}

/** The same by looking at every record. */
function expected({
  session,
  agent,
  org,
  tool,
  result,
  eventType,
  since,
  until,
  limit,
  reverse,
}: AuditQuery): number[] {
  const found = all.filter(
    (record) =>
      (session === undefined || record.session_id === session) &&
      (agent === undefined || record.agent_id === agent) &&
      (org === undefined || record.org_id === org) &&
      (tool === undefined || record.tool === tool) &&
      (result === undefined || record.result === result) &&
      (eventType === undefined || record.event_type === eventType) &&
      (since === undefined || new Date(record.timestamp) >= new Date(since)) &&
      (until === undefined || new Date(record.timestamp) < new Date(until)),
  );
  return (reverse ? found.toReversed() : found).slice(0, limit ?? COUNT * 2).map(({ seq }) => seq);
}

describe("a query", () => {
  it("finds what a look at every record finds, in either direction", async () => {
    const times = fc.integer({ min: -5, max: COUNT + 5 }).map(at);
    const queries = fc.record(
      {
        session: fc.constantFrom("s0", "s1", "s6", "none", "__proto__"),
        agent: fc.constantFrom("a0", "a3"),
        org: fc.constant("é\u202e"),
        tool: fc.constantFrom(...TOOLS),
        result: fc.constantFrom(...AUDIT_RESULTS),
        eventType: fc.constantFrom("sandbox_execution", "resource_alert"),
        since: times,
        until: fc.oneof(
          times,
          times.map((time) => time.toISOString()),
        ),
        limit: fc.nat(40),
        reverse: fc.boolean(),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(queries, async (query) => {
        expect(await find(query)).toEqual(expected(query));
      }),
      { numRuns: 150 },
    );
  });

  it("yields the records themselves", async () => {
    for await (const record of queryAudit(directory, { limit: 1, reverse: true }))
      expect(record).toEqual(all.at(-1));
  });

  it("refuses a time that is none, and a log that is not there", async () => {
    await expect(find({ since: "yesterday-ish" })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(queryAudit(join(directory, "none")).next()).rejects.toMatchObject({
      code: "FILE_NOT_FOUND",
    });
  });

  it("can be stopped", async () => {
    await expect(find({ tool: "run_code", signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow(
      "enough",
    );
  });
});

describe("the index", () => {
  const query = { session: "s3" };
  const indexes = () => readdirSync(directory).filter((name) => name.includes(".index"));
  const first = () => join(directory, indexes()[0]!);

  beforeEach(async () => {
    for (const name of indexes()) rmSync(join(directory, name));
    expect(await find(query)).toEqual(expected(query));
  });

  it("stands beside every file, closed to others", () => {
    const files = readdirSync(directory).filter((name) => name.endsWith(".jsonl"));
    expect(files.length).toBeGreaterThan(3);
    expect(indexes()).toEqual(files.map((name) => `${name}.index`));
    expect(statSync(first()).mode & 0o777).toBe(0o600);
  });

  it.each<[string, (path: string) => void]>([
    ["empty", (path) => truncateSync(path, 0)],
    ["cut", (path) => truncateSync(path, statSync(path).size - 9)],
    ["a byte off", (path) => writeFileSync(path, flipped(readFileSync(path)))],
    ["of another file", (path) => writeFileSync(path, readFileSync(join(directory, indexes()[1]!)))],
    [
      "of a larger file",
      (path) =>
        writeFileSync(
          path,
          readFileSync(path, "latin1").replace(/"covered":\d+/, '"covered":999999'),
          "latin1",
        ),
    ],
    ["nonsense", (path) => writeFileSync(path, "[]\n")],
  ])("is made again when it is %s", async (_, spoil) => {
    const good = readFileSync(first());
    spoil(first());
    expect(readFileSync(first()).equals(good)).toBe(false);
    expect(await find(query)).toEqual(expected(query));
    expect(readFileSync(first()).equals(good)).toBe(true);
  });

  it("follows a log that grows", async () => {
    const growing = temporaryDirectory();
    await using logger = new AuditLogger({ directory: growing, includeCode: true });
    const code = "x".repeat(200_000);
    // Each record a fifth of what is read without an index: it is extended on the way.
    for (let count = 1; count <= 12; count++) {
      await logger.begin({ sessionId: count % 2 === 0 ? "even" : "odd", code }).end({ result: "success" });
      const seqs: number[] = [];
      for await (const { seq } of queryAudit(growing, { session: "even" })) seqs.push(seq);
      expect(seqs).toEqual([2, 4, 6, 8, 10, 12].filter((seq) => seq <= count));
    }
  });
});

function flipped(bytes: Buffer): Buffer {
  const at = bytes.length - 5;
  return Buffer.from(bytes.with(at, bytes[at]! ^ 0xff));
}

describe("the tail of the log", () => {
  const take = async (options: Parameters<typeof tailAudit>[1], count = 1000) => {
    const seqs: number[] = [];
    if (count === 0) return seqs;
    for await (const { seq } of tailAudit(directory, options)) if (seqs.push(seq) === count) break;
    return seqs;
  };

  it("is the last records, the oldest of them first", async () => {
    expect(await take({ lines: 3 })).toEqual([COUNT - 1, COUNT, COUNT + 1]);
    expect(await take({})).toHaveLength(10);
    expect(await take({ lines: 0 })).toEqual([]);
    expect(await take({ lines: 2 * COUNT })).toEqual(all.map(({ seq }) => seq));
  });

  it("goes on with what is written, over files, until it is stopped", async () => {
    const growing = temporaryDirectory();
    const controller = new AbortController();
    await using logger = new AuditLogger({ directory: growing, maxFileBytes: 3000 });
    const once = () => logger.begin({}).end({ result: "success" });
    await once();
    await once();
    const seen: number[] = [];
    for await (const { seq } of tailAudit(growing, { lines: 1, follow: true, signal: controller.signal })) {
      seen.push(seq);
      // Each is written after the one before was seen: none can come by another way.
      if (seq < 9) await once();
      else controller.abort();
    }
    expect(seen).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
  });
});

import { execFile } from "node:child_process";
import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { AuditLogger } from "skerry";
import { queryAudit, verifyAudit } from "skerry/audit";
import type { BenchContext } from "../bench-context.js";
import type { Benchmark } from "../benchmark.js";
import { interleave, percentile, timeMs } from "../measure.js";

const RECORDS = 100_000;
const SESSIONS = 1000;
const BATCH = 500;
const QUERIES = 200;
const MAX_SECONDS = 10;
const MAX_QUERY_MS = 100;
const MAX_GROWTH_MIB = 64;
const MIB = 1024 * 1024;

export const audit100k: Benchmark = {
  name: "audit-100k",
  what: `verifying the chain of ${RECORDS / 1000},000 audit records`,
  baseline: "reading the same lines with readline and parsing each as JSON",
  unit: "ms",
  better: "lower",
  goal: 3,
  async measure(bench) {
    const records = bench.quick ? RECORDS / 10 : RECORDS;
    const directory = join(bench.directory, "audit");
    const writing = await writeRecords(bench, directory, records);
    const samples = await interleave(
      bench,
      { rounds: bench.rounds(5), warmUp: 1 },
      () => timeMs(() => verify(bench, directory, records)),
      () => timeMs(() => parse(bench, directory, records)),
    );
    const growth = await memoryGrowth(bench, directory);
    const queries = await timeQueries(bench, directory, records);
    return {
      ...samples,
      checks: [
        { what: "records written", value: records / (writing / 1000), unit: "per second", atLeast: 1000 },
        {
          what: "verifying, p50",
          value: percentile(samples.ours, 0.5) / 1000,
          unit: "s",
          atMost: MAX_SECONDS,
        },
        {
          what: "growth of a fresh process's memory while it verifies",
          value: growth / MIB,
          unit: "MiB",
          atMost: MAX_GROWTH_MIB,
        },
        {
          what: `query by session, indexed, p50 of ${queries.length}`,
          value: percentile(queries, 0.5),
          unit: "ms",
          atMost: MAX_QUERY_MS,
        },
        {
          what: `query by session, indexed, p99 of ${queries.length}`,
          value: percentile(queries, 0.99),
          unit: "ms",
          atMost: MAX_QUERY_MS,
        },
      ],
    };
  },
};

/** Through the public way: each attempt begins and ends. */
async function writeRecords(bench: BenchContext, directory: string, count: number): Promise<number> {
  const logger = new AuditLogger({ directory });
  const ms = await timeMs(async () => {
    for (let done = 0; done < count; done += BATCH) {
      bench.signal.throwIfAborted();
      await Promise.all(Array.from({ length: BATCH }, (_, index) => writeOne(logger, done + index)));
    }
    await logger.flush();
  });
  await logger.close();
  return ms;
}

function writeOne(logger: AuditLogger, index: number): Promise<unknown> {
  const attempt = logger.begin({
    sessionId: `session-${index % SESSIONS}`,
    agentId: `agent-${index % 50}`,
    orgId: "bench",
    role: "code_assistant",
    tool: "run_code",
    language: "python",
    code: `print(${index})`,
  });
  return attempt.end({
    result: "success",
    backend: "bubblewrap",
    sandboxId: `sbx-${index}`,
    executionTimeMs: 12.5,
    exitCode: 0,
    memoryUsedMb: 14.2,
    cpuTimeMs: 11,
    networkBytesSent: 0,
    networkBytesRecv: 0,
    filesRead: ["/workspace/input.txt"],
    filesWritten: ["/workspace/output.txt"],
    riskLevel: "SAFE",
    findings: [],
    policyRule: "tools.run_code",
  });
}

async function verify(bench: BenchContext, directory: string, records: number): Promise<void> {
  const verification = await verifyAudit(directory, { signal: bench.signal });
  if (!verification.ok) throw new Error(verification.problem);
  if (verification.records !== records) throw new Error(`${verification.records} records were verified`);
}

async function parse(bench: BenchContext, directory: string, records: number): Promise<void> {
  let parsed = 0;
  for (const name of await readdir(directory)) {
    if (!name.endsWith(".jsonl")) continue;
    for await (const line of createInterface({ input: createReadStream(join(directory, name)) })) {
      if (typeof (JSON.parse(line) as { seq?: unknown }).seq === "number") parsed++;
    }
    bench.signal.throwIfAborted();
  }
  if (parsed !== records) throw new Error(`${parsed} records were parsed`);
}

/** In a process of its own: ours has grown by writing already. */
async function memoryGrowth(bench: BenchContext, directory: string): Promise<number> {
  const module = import.meta.resolve("skerry");
  const program = `
    import { verifyAudit } from ${JSON.stringify(module)};
    const before = process.memoryUsage.rss();
    let highest = before;
    const onProgress = () => { highest = Math.max(highest, process.memoryUsage.rss()); };
    const { ok } = await verifyAudit(${JSON.stringify(directory)}, { onProgress });
    process.stdout.write(JSON.stringify({ ok, growth: highest - before }));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], {
    env: bench.env,
    signal: bench.signal,
  });
  const { ok, growth } = JSON.parse(stdout) as { ok: boolean; growth: number };
  if (!ok) throw new Error("the chain did not verify");
  return growth;
}

async function timeQueries(bench: BenchContext, directory: string, records: number): Promise<number[]> {
  const times: number[] = [];
  const query = async (session: number) => {
    let found = 0;
    for await (const record of queryAudit(directory, { session: `session-${session}` })) {
      if (record.session_id === `session-${session}`) found++;
    }
    if (found !== records / SESSIONS) throw new Error(`${found} records of a session were found`);
  };
  // The first one makes the index.
  await query(0);
  for (let index = 0; index < bench.rounds(QUERIES); index++) {
    bench.signal.throwIfAborted();
    times.push(await timeMs(() => query((index * 7) % SESSIONS)));
  }
  return times;
}

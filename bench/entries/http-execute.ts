import { join } from "node:path";
import { AuditLogger, createMetrics } from "skerry";
import type { Benchmark } from "../benchmark.js";
import { interleave, timeMs } from "../measure.js";
import { ServerProcess } from "../server-process.js";

const CODE = "print(40+2)";
/** V8 still compiles what decides and what answers for the first few hundred calls of a process. */
const WARM_UP = 500;

export const httpExecute: Benchmark = {
  name: "http-execute",
  what: `${CODE} in an existing session of a server, over a connection that stays open`,
  baseline: "the same by a library call, also with the audit log and metrics on",
  unit: "ms",
  better: "lower",
  goal: 1.6,
  async measure(bench) {
    await using server = await ServerProcess.start(bench);
    const audit = new AuditLogger({ directory: join(bench.directory, "audit") });
    try {
      const manager = bench.manager({ audit, metrics: await createMetrics() });
      const call = { sessionId: "bench", language: "python", code: CODE };
      return await interleave(
        bench,
        { rounds: bench.rounds(1000), warmUp: bench.rounds(WARM_UP) },
        () => timeMs(() => server.runPython("bench", CODE, "42\n")),
        () =>
          timeMs(async () => {
            const { stdout, error } = await manager.execute(call);
            if (stdout !== "42\n") throw new Error(`the sandbox answered ${error ?? stdout}`);
          }),
      );
    } finally {
      await audit.close();
    }
  },
};

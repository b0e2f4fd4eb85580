import { join } from "node:path";
import { AuditLogger, parsePolicy } from "skerry";
import type { Benchmark } from "../benchmark.js";
import { interleave, median, timeMs } from "../measure.js";

const CODE = "print(40+2)";
const MAX_ADDED_MS = 1.5;
/** V8 still compiles what decides for the first few hundred calls of a process. */
const WARM_UP = 500;
/** The document's own example of a tool and a role. */
const POLICY = `
policies:
  default: { max_execution_time: 30s, max_memory: 512MB }
  tools:
    run_code: { risk_level: high, supported_languages: [python], max_execution_time: 120s, max_memory: 1GB }
  agent_roles:
    code_assistant: { inherits: default, tools: [run_code] }
`;

export const decideOverhead: Benchmark = {
  name: "decide-overhead",
  what: "a program in an existing sandbox with policy, risk assessment and audit on, in a warm process",
  baseline: "the same program with all of them off",
  unit: "ms",
  better: "lower",
  goal: 2,
  async measure(bench) {
    const audit = new AuditLogger({ directory: join(bench.directory, "audit") });
    try {
      const on = bench.manager({ policy: parsePolicy(POLICY, "benchmark"), securityMode: "strict", audit });
      const off = bench.manager();
      const run = (manager: typeof on, role?: string) => async () => {
        const result = await manager.execute({
          sessionId: role ?? "plain",
          role,
          language: "python",
          code: CODE,
        });
        if (result.stdout !== "42\n")
          throw new Error(`the sandbox answered ${result.error ?? result.stdout}`);
      };
      const [guarded, plain] = [run(on, "code_assistant"), run(off)];
      const samples = await interleave(
        bench,
        { rounds: bench.rounds(1000), warmUp: bench.rounds(WARM_UP) },
        () => timeMs(guarded),
        () => timeMs(plain),
      );
      const added = median(samples.ours) - median(samples.baseline);
      return {
        ...samples,
        checks: [{ what: "added to an execution, p50", value: added, unit: "ms", atMost: MAX_ADDED_MS }],
      };
    } finally {
      await audit.close();
    }
  },
};

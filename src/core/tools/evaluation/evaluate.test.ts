import { join } from "node:path";
import { beforeAll, expect } from "vitest";
import { cleanUp, temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { openManager } from "../../../../test/setup/open-manager.js";
import { requires } from "../../../../test/setup/requires.js";
import { AuditLogger, queryAudit } from "../../../guard/audit/index.js";
import { parsePolicy } from "../../../guard/policy/index.js";
import { SandboxManager } from "../../manager/index.js";
import { type EvaluationOptions, evaluate } from "./evaluate.js";
import type { Problem, Sample } from "./problems.js";

const { describe, it } = requires("linux", "bubblewrap", "python3", "root");

const PROBLEM: Problem = {
  task_id: "T/0",
  prompt: "def add(a, b):\n",
  test: "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(-1, 1) == 0\n",
  entry_point: "add",
};

let stateDir: string;
let manager: SandboxManager;
let audit: AuditLogger;

beforeAll(() => {
  stateDir = temporaryDirectory();
  audit = new AuditLogger({ directory: join(stateDir, "audit") });
  cleanUp(() => audit.close());
  manager = openManager({ stateDir, audit, backend: "bubblewrap", limits: { memoryMb: 400 } });
});

function samplesOf(...completions: string[]): Sample[] {
  return completions.map((completion, completionId) => ({ taskId: "T/0", completionId, completion }));
}

function run(samples: readonly Sample[], more: Partial<EvaluationOptions> = {}) {
  const problems = new Map([[PROBLEM.task_id, PROBLEM]]);
  return evaluate({ manager, problems, samples, workers: 2, timeoutMs: 2000, memoryMb: 150, ...more });
}

async function verdictsOf(...completions: string[]) {
  return (await run(samplesOf(...completions))).map(({ verdict, result }) => [verdict, result]);
}

async function recorded() {
  const records = [];
  for await (const record of queryAudit(join(stateDir, "audit"))) records.push(record);
  return records;
}

describe("an evaluation", () => {
  it("says of each sample whether its tests passed, and why not", async () => {
    expect(
      await verdictsOf(
        "    return a + b\n",
        "    return a - b\n",
        "    return a + c\n",
        "    return a +\n",
        "    while True: pass\n",
        "    return [0] * (1 << 40)\n",
        "    import os, signal; os.kill(os.getpid(), signal.SIGSEGV)\n",
      ),
    ).toEqual([
      ["passed", "passed"],
      ["failed", "failed: AssertionError"],
      ["error", "failed: NameError: name 'c' is not defined"],
      ["error", "failed: SyntaxError: invalid syntax"],
      ["timeout", "timed out"],
      ["error", "failed: MemoryError"],
      ["signaled", "failed: Ended by SIGSEGV"],
    ]);
  });

  it.each([
    ["leaves with os._exit(0)", "    import os; os._exit(0)\n"],
    ["leaves with sys.exit()", "    import sys; sys.exit()\n"],
    ["leaves with exit(0) at its beginning", "    return 1\nexit(0)\n"],
    ["raises SystemExit", "    raise SystemExit(0)\n"],
    ["replaces itself", "    import os; os.execvp('true', ['true'])\n"],
    ["leaves with the status of an error", "    import os; os._exit(1)\n"],
    ["prints its own program, and leaves", "    print(open(__file__).read()); import os; os._exit(0)\n"],
  ])("does not take a sample for passed that %s", async (_, completion) => {
    const [[verdict]] = (await verdictsOf(completion)) as [[string, string]];
    expect(verdict).toBe("left-early");
  });

  it("does not take a sample for passed that leaves with a status, whichever it guesses", async () => {
    const early = Array.from({ length: 256 }, (_, status) => `    import os; os._exit(${status})\n`);
    const results = await run(samplesOf(...early));
    expect(new Set(results.map(({ verdict }) => verdict))).toEqual(new Set(["left-early"]));
  });

  it("takes a sample for passed that has closed its output", async () => {
    expect(
      await verdictsOf(
        "    import os; os.closerange(2, 3); return a + b\n",
        "    import sys; sys.stdout.close(); return a + b\n",
      ),
    ).toEqual([
      ["passed", "passed"],
      ["passed", "passed"],
    ]);
  });

  it("says of a sample that cannot be run why, and goes on with the others", async () => {
    const right = "    return a + b\n";
    expect(
      await verdictsOf(
        right,
        "    return '\0'\n",
        `${right}#${"x".repeat(200_000)}`,
        `${right}#${"x".repeat(9 << 20)}`,
        right,
      ),
    ).toEqual([
      ["passed", "passed"],
      ["invalid", "failed: A program or command cannot hold a NUL character"],
      ["invalid", "failed: A program in a cell has 184320 bytes at most"],
      ["invalid", "failed: A program in a cell has 184320 bytes at most"],
      ["passed", "passed"],
    ]);
  });

  it("is itself refused for what is wrong with all of it", async () => {
    await expect(run(samplesOf("    return a + b\n"), { memoryMb: 1 })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  });

  it("runs a sample that times out once, and tells it as soon as it has", async () => {
    await run(samplesOf("    return a + b\n"));
    const before = (await recorded()).length;
    const seen: string[] = [];
    const slow = "    import time; time.sleep(0.2); return a + b\n";
    const samples = samplesOf("    while True: pass\n", ...Array<string>(8).fill(slow));
    await run(samples, { timeoutMs: 1000, onResult: ({ verdict }) => seen.push(verdict) });
    expect((await recorded()).length - before).toBe(9);
    expect(seen.indexOf("timeout")).toBeLessThan(8);
    expect(seen.toSorted()).toEqual([...Array(8).fill("passed"), "timeout"]);
  });

  it("does not mind what samples print, fork or leave", async () => {
    const chatty = "    print('x' * 1000000)\n    return a + b\n";
    const forks =
      "    import os\n    if os.fork() == 0:\n        import time; time.sleep(60)\n    return a + b\n";
    const leaves = "    open('/workspace/left', 'w').write('x')\n    return a + b\n";
    const looks = "    import os\n    assert os.listdir('/workspace') == ['main.py']\n    return a + b\n";
    const results = await run(samplesOf(chatty, forks, leaves, looks, looks));
    expect(results.map(({ verdict }) => verdict)).toEqual(Array(5).fill("passed"));
  });

  it("lets no sample pay for another one that fills the memory of their sandbox", async () => {
    const many = `    import os, mmap
    for _ in range(20):
        if os.fork() == 0:
            held = mmap.mmap(-1, 100 << 20)
            for at in range(0, 100 << 20, 4096): held[at] = 1
            import time; time.sleep(60)
    assert os.wait()[1] == 0
    return a + b\n`;
    const quiet = "    held = b'x' * (30 << 20)\n    import time; time.sleep(0.2)\n    return a + b\n";
    const samples = samplesOf(many, ...Array<string>(6).fill(quiet));
    const results = await run(samples, { timeoutMs: 20_000 });
    expect(results.slice(1).map(({ verdict }) => verdict)).toEqual(Array(6).fill("passed"));
    expect(results[0]!.passed).toBe(false);
  });

  it("takes whole programs, too", async () => {
    const solution = "def helper(a, b):\n    return a + b\nadd = helper\n";
    const [result] = await run([{ taskId: "T/0", completionId: 0, solution }]);
    expect(result).toMatchObject({ passed: true, verdict: "passed" });
  });

  it("tells results as they come, and stops when it is told to", async () => {
    const controller = new AbortController();
    const seen: string[] = [];
    const endless = Array<string>(10).fill("    import time; time.sleep(30)\n");
    const running = run(samplesOf("    return a + b\n", ...endless), {
      timeoutMs: 60_000,
      signal: controller.signal,
      onResult: ({ verdict }) => {
        seen.push(verdict);
        controller.abort();
      },
    });
    await expect(running).rejects.toThrow();
    expect(seen).toEqual(["passed"]);
  });

  it("leaves an audit record of every sample, and no session", async () => {
    const before = (await recorded()).length;
    await run(samplesOf("    return a + b\n", "    return 0\n", "    return 1\n"));
    const records = (await recorded()).slice(before);
    expect(records.map(({ tool, language }) => [tool, language])).toEqual(
      Array(3).fill(["run_code", "python"]),
    );
    expect(await manager.listSessions()).toEqual([]);
  });

  it("is subject to the policy", async () => {
    const policy = parsePolicy(
      `policies:
  default: { sandbox_enabled: true }
  tools:
    run_code: { supported_languages: [javascript] }
`,
      "policy.yaml",
    );
    const guarded = new SandboxManager({ stateDir, policy, backend: "bubblewrap", handleSignals: false });
    const [result] = await run(samplesOf("    return a + b\n"), { manager: guarded });
    await guarded.close();
    expect(result).toMatchObject({ passed: false, verdict: "denied" });
  });
});

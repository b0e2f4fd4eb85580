import { createDeferred } from "../../../kit/deferred.js";
import { SandboxError } from "../../../kit/errors.js";
import { SandboxManager } from "../../manager/index.js";
import { withoutLineEnds } from "./cases/line-ends.js";
import type { TestCase } from "./cases/test-case.js";
import { describeFailures } from "./feedback.js";
import type { TestOptions } from "./options.js";
import type { TestReport } from "./report.js";
import { TestDrivenSandbox } from "./test-driven-sandbox.js";

/** A request for code to the caller's `generate` function. */
export interface GenerateRequest {
  readonly task: string;
  /** The first is 1. */
  readonly round: number;
  /** What was tried before, oldest first. */
  readonly previous: readonly { readonly code: string; readonly report: TestReport }[];
  /** What came of the last try, as text for a model; empty in the first round. */
  readonly feedback: string;
  readonly signal?: AbortSignal;
}

export interface ReflectionOptions extends Omit<TestOptions, "onProgress"> {
  readonly task: string;
  /** Writes code: a model, or anything else. One Markdown fence around it is taken off. */
  readonly generate: (request: GenerateRequest) => Promise<string> | string;
  readonly tests: readonly TestCase[] | string;
  /** Where it is tested; left out: in sandboxes of `manager`, or of a manager that is made for it and closed afterwards. */
  readonly sandbox?: TestDrivenSandbox | undefined;
  readonly manager?: SandboxManager | undefined;
  /** Left out: 3. */
  readonly maxIterations?: number | undefined;
  /** Called when a round's tests have ended. */
  readonly onRound?: ((round: ReflectionRound) => void) | undefined;
}

export interface ReflectionRound {
  readonly round: number;
  readonly code: string;
  readonly report: TestReport;
}

export interface ReflectionResult {
  readonly success: boolean;
  /** Of the last round that was tested. */
  readonly code: string;
  readonly report: TestReport;
  readonly rounds: readonly ReflectionRound[];
  /** `repeated`: the code was one that had been tried before. */
  readonly stoppedBecause: "passed" | "maximum" | "repeated" | "cancelled";
}

const DEFAULT_ITERATIONS = 3;
const MAX_ITERATIONS = 100;

/** Has code written and tested until it passes: each round's real failures go back to `generate`. */
export async function codeWithReflection(options: ReflectionOptions): Promise<ReflectionResult> {
  const { generate, maxIterations = DEFAULT_ITERATIONS, manager, sandbox } = options;
  if (typeof generate !== "function" || typeof options.task !== "string") {
    throw invalid("The task must be text, and generate a function", "Pass both.");
  }
  if (!Number.isInteger(maxIterations) || maxIterations < 1 || maxIterations > MAX_ITERATIONS) {
    throw invalid(`maxIterations must be a whole number from 1 to ${MAX_ITERATIONS}`, "Leave it out for 3.");
  }
  if (sandbox !== undefined) return reflect(options, sandbox, maxIterations);
  if (manager !== undefined) return reflect(options, new TestDrivenSandbox(manager), maxIterations);
  const own = new SandboxManager();
  try {
    return await reflect(options, new TestDrivenSandbox(own), maxIterations);
  } finally {
    await own.close();
  }
}

async function reflect(
  options: ReflectionOptions,
  sandbox: TestDrivenSandbox,
  maxIterations: number,
): Promise<ReflectionResult> {
  const {
    task,
    generate,
    tests,
    onRound,
    signal,
    sandbox: _,
    manager: __,
    maxIterations: ___,
    ...given
  } = options;
  const rounds: ReflectionRound[] = [];
  const tried = new Set<string>();
  const finish = (stoppedBecause: ReflectionResult["stoppedBecause"]): ReflectionResult => {
    const { code, report } = rounds.at(-1)!;
    return { success: report.allPassed, code, report, rounds, stoppedBecause };
  };
  for (let round = 1; ; round++) {
    const last = rounds.at(-1);
    if (signal?.aborted) {
      if (last !== undefined) return finish("cancelled");
      throw new SandboxError("CANCELLED", "It was cancelled before there was any code");
    }
    const answer = await unlessAborted(
      generate({
        task,
        round,
        previous: rounds.map((each) => ({ code: each.code, report: each.report })),
        feedback: last === undefined ? "" : describeFailures(last.report),
        ...(signal !== undefined && { signal }),
      }),
      signal,
    );
    if (answer === undefined && signal?.aborted) continue;
    const code = codeOf(answer);
    const normal = withoutLineEnds(code);
    if (tried.has(normal)) return finish("repeated");
    tried.add(normal);
    const report = await sandbox.executeWithTests(code, tests, {
      ...given,
      ...(signal !== undefined && { signal }),
    });
    const done = { round, code, report };
    rounds.push(done);
    onRound?.(done);
    if (report.allPassed) return finish("passed");
    if (report.outcome === "cancelled") return finish("cancelled");
    if (round === maxIterations) return finish("maximum");
  }
}

/** The code of an answer: models like to put a fence around it. */
function codeOf(answer: unknown): string {
  if (typeof answer !== "string")
    throw invalid("generate must resolve to text", "Return the code as a string.");
  const text = answer.trim();
  const [first = ""] = text.split("\n", 1);
  const [fence] = /^(?:`{3,}|~{3,})/.exec(first) ?? [];
  const isFenced =
    fence !== undefined &&
    !first.includes("`", fence.length) &&
    text.endsWith(fence) &&
    text.length >= first.length + 1 + fence.length;
  if (!isFenced) return answer;
  const inside = text.slice(first.length + 1, -fence.length);
  return inside.endsWith("\n") ? inside : `${inside}\n`;
}

/** The value, or an abort: the caller's function cannot be made to return. */
async function unlessAborted<T>(
  work: Promise<T> | T,
  signal: AbortSignal | undefined,
): Promise<T | undefined> {
  if (signal === undefined) return work;
  const aborted = createDeferred<undefined>();
  const end = () => aborted.resolve(undefined);
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", end);
  }
}

function invalid(message: string, hint: string): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", message, { hint });
}

import type { Duplex } from "node:stream";
import { SandboxError } from "../../../../kit/errors.js";
import { encodeMessage, readFrames } from "../../../../runtime/sandbox/index.js";
import type { SandboxManager, ToolCall } from "../../../manager/index.js";
import { type CallEnd, describeEnd, endedBy, endOf, throwFailure } from "../call-end.js";
import { judgeLoadFailure, judgeTests, type TestsVerdict } from "../judge-tests.js";
import type { TestedLanguage } from "../options.js";
import type { TestOutcome, TestResult } from "../report.js";
import type { LoadFailure } from "../runner-messages.js";
import { refusalOf, stoppedBy } from "../split-tests/judge-split.js";
import { TestList } from "../test-list.js";
import { type CaseMessage, parseCaseMessage } from "./case-messages.js";
import { encodeValue } from "./encoded-values.js";
import { judgeCase } from "./judge-case.js";
import { callText, nameOfCase, type TestCase } from "./test-case.js";

/** A solution and cases, as the tool call that they are. */
export interface CasesOrder {
  readonly manager: SandboxManager;
  readonly language: TestedLanguage;
  readonly module: string;
  readonly cases: readonly TestCase[];
  readonly caseTimeoutMs: number;
  readonly solution: ToolCall;
  readonly onResult: ((result: TestResult) => void) | undefined;
}

/** What is known when the solution's process has ended. */
export interface CasesEnd extends TestsVerdict {
  readonly list: TestList;
  readonly solution: CallEnd;
  readonly isolates: boolean;
}

/** More than any value of a case; one that is larger is refused inside already. */
const MAX_MESSAGE_BYTES = 17 * 1024 * 1024;
/** What says most about a run, first. */
const GRAVEST: readonly TestOutcome[] = ["timeout", "output-limit", "crash"];

/** Runs cases in one sandbox with the solution, and compares here: what is expected never goes there. */
export async function runCases(order: CasesOrder): Promise<CasesEnd> {
  const { manager, language, module, cases, solution } = order;
  checkValues(cases, language);
  const ending = new AbortController();
  const abort = () => ending.abort();
  solution.signal?.addEventListener("abort", abort, { once: true });
  if (solution.signal?.aborted) abort();
  const talk = new CaseTalk(order, abort);
  let walls = true;
  const end = await endOf(
    manager.executeBy(
      {
        name: "cases",
        command: (runtime, program) => language.tests.cases(runtime, program, module),
        control: (stream) => talk.begin(stream),
        mayStart: async ({ isolates }) => {
          walls = isolates;
        },
        scripts: scriptsOf(cases, language),
      },
      { ...solution, signal: ending.signal },
    ),
  );
  solution.signal?.removeEventListener("abort", abort);
  const list = talk.list;
  return { list, solution: end, isolates: walls, ...talk.judge(end) };
}

/** Refuses values that cannot be compared, before anything runs. */
function checkValues(cases: readonly TestCase[], { name, tests }: TestedLanguage): void {
  for (const each of cases) {
    encodeValue(each.expected);
    orderOf(each);
    if (tests.hasKeywords || typeof each.call !== "object" || each.call.kwargs === undefined) continue;
    throw new SandboxError("INVALID_ARGUMENT", `Functions of ${name} take no arguments by name (kwargs)`, {
      hint: "Pass them in args.",
    });
  }
}

/** What the cases would have the solution evaluate: code, like the solution itself. */
function scriptsOf(cases: readonly TestCase[], { name }: TestedLanguage) {
  const calls = cases.flatMap(({ call }) => (call === undefined ? [] : [callText(call)]));
  return calls.length === 0 ? [] : [{ name: "cases", text: calls.join("\n"), language: name }];
}

/** Gives the solution's process one case after the other, and judges what it says. */
class CaseTalk {
  readonly list: TestList;
  readonly #outcomes = new Set<TestOutcome>();
  #stream: Duplex | undefined;
  #current = -1;
  #loadFailure: LoadFailure | undefined;
  #violation: string | undefined;

  constructor(
    private readonly order: CasesOrder,
    private readonly abort: () => void,
  ) {
    this.list = new TestList("cases", order.onResult);
    this.list.add(order.cases.map(nameOfCase));
  }

  begin(stream: Duplex): void {
    this.#stream = stream;
    stream.on("error", () => undefined);
    readFrames(
      stream,
      MAX_MESSAGE_BYTES,
      (frame) => this.#hear(parseCaseMessage(JSON.parse(frame.toString("utf8")))),
      (problem) => {
        if (problem === undefined) return;
        this.#violation = String(problem);
        this.abort();
      },
    );
  }

  #hear(message: CaseMessage): void {
    if (message.type === "failed") this.#loadFailure ??= message.failure;
    else if (message.type === "ready" && this.#current === -1) this.#next();
    else if (message.type === "done" && message.case === this.#current) {
      const wanted = this.order.cases[this.#current]!;
      const { result, outcome } = judgeCase(wanted, message.done, this.order.language.tests);
      if (outcome !== undefined) this.#outcomes.add(outcome);
      this.list.end(this.#current, result);
      this.#next();
    } else throw new Error("an answer without a question");
  }

  #next(): void {
    const wanted = this.order.cases[++this.#current];
    if (wanted === undefined) {
      this.list.hasEnded = true;
      this.#stream?.end();
      return;
    }
    this.list.start(this.#current);
    const timeoutMs = wanted.timeoutMs ?? this.order.caseTimeoutMs;
    this.#stream?.write(encodeMessage({ case: this.#current, timeoutMs, ...orderOf(wanted) }));
  }

  judge(end: CallEnd): TestsVerdict {
    const refusal = refusalOf("solution", end);
    if (refusal !== undefined) return refusal;
    throwFailure(end);
    if (this.#loadFailure !== undefined) return judgeLoadFailure(this.#loadFailure);
    const stopped = stoppedBy("solution", end);
    if (stopped !== undefined) return stopped;
    if (this.#violation !== undefined) {
      return {
        outcome: "crash",
        error: `The solution broke the protocol: it sent ${this.#violation}`,
      };
    }
    if (endedBy(end) === "cancelled") return { outcome: "cancelled", error: "Cancelled" };
    if (!this.list.hasEnded)
      return { outcome: "crash", error: `The solution ${describeEnd(end)} while it was tested` };
    const gravest = GRAVEST.find((each) => this.#outcomes.has(each));
    if (gravest !== undefined) return { outcome: gravest };
    const verdict = judgeTests(this.list);
    if (verdict.outcome !== "passed" || end.result?.success === true) return verdict;
    return { outcome: "crash", error: `The solution ${describeEnd(end)}` };
  }
}

/** The part of a case that the solution's process gets: never the expected value. */
function orderOf({ call, input, args = [] }: TestCase): object {
  if (input !== undefined) return { input, args };
  if (typeof call === "string") return { expression: call };
  const { function: target, args: values = [], kwargs = {} } = call!;
  return {
    function: target,
    arguments: values.map((each) => encodeValue(each)),
    keywords: Object.fromEntries(Object.entries(kwargs).map(([key, each]) => [key, encodeValue(each)])),
  };
}

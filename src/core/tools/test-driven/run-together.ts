import type { Duplex } from "node:stream";
import { type PythonRunner, readFrames } from "../../../runtime/sandbox/index.js";
import type { SandboxManager, ToolCall } from "../../manager/index.js";
import { type CallEnd, describeEnd, endedBy, endOf, throwFailure } from "./call-end.js";
import { judgeLoadFailure, judgeTests, type TestsVerdict } from "./judge-tests.js";
import type { TestedLanguage } from "./options.js";
import type { TestResult } from "./report.js";
import { type LoadFailure, parseTestsMessage } from "./runner-messages.js";
import { refusalOf, stoppedBy } from "./split-tests/judge-split.js";
import { TestList } from "./test-list.js";

/** A solution and a file of tests beside it, as one tool call. */
export interface TogetherRequest {
  readonly manager: SandboxManager;
  readonly language: TestedLanguage;
  /** With the tests among its files. */
  readonly solution: ToolCall;
  readonly testsName: string;
  readonly runner: PythonRunner;
  readonly onResult: ((result: TestResult) => void) | undefined;
}

export interface TogetherEnd extends TestsVerdict {
  readonly list: TestList;
  readonly call: CallEnd;
}

const MAX_MESSAGE_BYTES = 17 * 1024 * 1024;

/** Runs solution and tests in one process. Nothing that comes of it is more than the solution's word. */
export async function runTogether(order: TogetherRequest): Promise<TogetherEnd> {
  const { manager, language, solution, testsName, runner } = order;
  const list = new TestList(language.tests.runner, order.onResult);
  const heard: { failure?: LoadFailure; violation?: string } = {};
  const call = await endOf(
    manager.executeBy(
      {
        name: "together",
        command: (runtime, program) => language.tests.together(runtime, program, testsName, runner),
        control: (stream) => listen(stream, list, heard),
      },
      solution,
    ),
  );
  return { list, call, ...judge(call, list, heard) };
}

function listen(stream: Duplex, list: TestList, heard: { failure?: LoadFailure; violation?: string }): void {
  stream.on("error", () => undefined);
  readFrames(
    stream,
    MAX_MESSAGE_BYTES,
    (frame) => {
      const message = parseTestsMessage(JSON.parse(frame.toString("utf8", 1)));
      if (message.type === "failed") heard.failure ??= message.failure;
      else if (message.type === "violation") throw new Error("a message that does not belong here");
      else list.hear(message);
    },
    (problem) => {
      if (problem !== undefined) heard.violation = String(problem);
    },
  );
}

function judge(
  call: CallEnd,
  list: TestList,
  { failure, violation }: { failure?: LoadFailure; violation?: string },
): TestsVerdict {
  const refusal = refusalOf("code", call);
  if (refusal !== undefined) return refusal;
  throwFailure(call);
  if (failure !== undefined) return judgeLoadFailure(failure);
  const stopped = stoppedBy("code", call);
  if (stopped !== undefined) return stopped;
  if (endedBy(call) === "cancelled") return { outcome: "cancelled", error: "Cancelled" };
  if (violation !== undefined) {
    return { outcome: "crash", error: `The code broke the protocol: it sent ${violation}` };
  }
  if (!list.hasEnded)
    return { outcome: "crash", error: `The code ${describeEnd(call)} before the tests finished` };
  const verdict = judgeTests(list);
  if (verdict.outcome !== "passed" || call.result?.success === true) return verdict;
  return { outcome: "crash", error: `The code ${describeEnd(call)}` };
}

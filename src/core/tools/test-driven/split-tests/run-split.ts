import { createDeferred } from "../../../../kit/deferred.js";
import { SandboxError } from "../../../../kit/errors.js";
import { Mutex } from "../../../../kit/mutex.js";
import type { PythonRunner } from "../../../../runtime/sandbox/index.js";
import type { SandboxManager, ToolCall } from "../../../manager/index.js";
import { type CallEnd, endOf } from "../call-end.js";
import type { TestedLanguage } from "../options.js";
import type { TestResult } from "../report.js";
import { type LoadFailure, parseSolutionMessage, parseTestsMessage } from "../runner-messages.js";
import { TestList } from "../test-list.js";
import { Relay, type RelaySide } from "./relay.js";

/** A solution and a file of tests, each as the tool call that it is. */
export interface SplitRequest {
  readonly manager: SandboxManager;
  readonly language: TestedLanguage;
  readonly module: string;
  readonly solution: ToolCall;
  readonly tests: ToolCall;
  readonly runner: PythonRunner;
  readonly signal: AbortSignal | undefined;
  readonly onResult: ((result: TestResult) => void) | undefined;
}

/** What is known when both have ended. */
export interface SplitEnd {
  readonly list: TestList;
  readonly solution: CallEnd;
  /** Left out: the solution was not even allowed to run. */
  readonly tests?: CallEnd;
  readonly loadFailure?: LoadFailure;
  /** A process that broke the protocol, and what it sent. */
  readonly violation?: { readonly by: RelaySide; readonly what: string };
  /** The solution ended before the tests finished. */
  readonly endedEarly: boolean;
  readonly hasLoaded: boolean;
  /** Whose work had not come to its end. */
  readonly atWork: RelaySide;
  /** The caller did not want it any more. */
  readonly isCancelled: boolean;
  readonly isolates: boolean;
}

/** How long a solution may take to go when there is nothing more to ask. */
const GOODBYE_MS = 2000;

/** Both need a sandbox: two runs that each wait for the second one of a full pool would wait for ever. */
const mutexes = new WeakMap<SandboxManager, Mutex>();

/** Runs tests in one sandbox against a solution in another. They share nothing but what is relayed. */
export async function runSplit(order: SplitRequest): Promise<SplitEnd> {
  const run = new SplitRun(order);
  const forward = () => run.abort();
  order.signal?.addEventListener("abort", forward, { once: true });
  if (order.signal?.aborted) forward();
  try {
    return await run.finish();
  } finally {
    order.signal?.removeEventListener("abort", forward);
  }
}

class SplitRun {
  readonly #ending = new AbortController();
  readonly #list: TestList;
  readonly #relay: Relay;
  /** Neither starts before both may. */
  readonly #go = createDeferred<void>();
  readonly #agreed = { solution: createDeferred<undefined>(), tests: createDeferred<undefined>() };
  readonly #attached = { solution: createDeferred<void>(), tests: createDeferred<void>() };
  #isolates = true;
  readonly #loaded = createDeferred<void>();
  #hasLoaded = false;
  #endedEarly = false;
  #haveTestsEnded = false;
  #loadFailure: LoadFailure | undefined;
  #violation: SplitEnd["violation"];

  constructor(private readonly order: SplitRequest) {
    this.#list = new TestList(order.language.tests.runner, order.onResult);
    this.#relay = new Relay({
      onMessage: (from, message) =>
        from === "solution" ? this.#hearSolution(message) : this.#hearTests(message),
      onViolation: (by, what) => this.#violate(by, what),
    });
  }

  abort(): void {
    this.#ending.abort();
    this.#go.reject(new SandboxError("CANCELLED", "The run of the tests was cancelled"));
  }

  async finish(): Promise<SplitEnd> {
    const solution = this.#start("solution");
    const notAgreed = await Promise.race([this.#agreed.solution.promise, solution]);
    if (notAgreed !== undefined) return this.#end(notAgreed);
    const tests = this.#start("tests");
    const refused = await Promise.race([this.#agreed.tests.promise, tests]);
    if (refused !== undefined) {
      this.#go.reject(new SandboxError("CANCELLED", "The tests were not allowed to run"));
      return this.#end(await solution, refused);
    }
    await this.#letGo(solution, tests);
    void solution.then(() => {
      if (this.#list.hasEnded || this.#haveTestsEnded) return;
      this.#endedEarly = true;
      this.abort();
    });
    const testsEnd = await tests;
    this.#haveTestsEnded = true;
    // Tests that do not even ask for it say nothing of a solution that cannot be loaded.
    if (this.#list.hasEnded) await Promise.race([this.#loaded.promise, solution]);
    this.#relay.end("solution");
    const timer = setTimeout(() => this.abort(), GOODBYE_MS);
    const solutionEnd = await solution;
    clearTimeout(timer);
    return this.#end(solutionEnd, testsEnd);
  }

  /** One of the two calls. What it would throw is how it ended. */
  #start(side: RelaySide): Promise<CallEnd> {
    const { manager, language, module, runner } = this.order;
    return endOf(
      manager.executeBy(
        {
          name: side,
          command: (runtime, program) =>
            side === "solution"
              ? language.tests.solution(runtime, program, module)
              : language.tests.tests(runtime, program, module, runner),
          control: (stream) => {
            this.#relay.attach(side, stream);
            this.#attached[side].resolve();
          },
          mayStart: async ({ isolates }) => {
            this.#isolates &&= isolates;
            this.#agreed[side].resolve(undefined);
            await this.#go.promise;
          },
        },
        { ...this.order[side], signal: this.#ending.signal },
      ),
    );
  }

  /** Lets both start, and the next pair only when both have. */
  async #letGo(solution: Promise<CallEnd>, tests: Promise<CallEnd>): Promise<void> {
    const { manager } = this.order;
    const line = mutexes.get(manager) ?? new Mutex();
    mutexes.set(manager, line);
    const both = Promise.all([this.#attached.solution.promise, this.#attached.tests.promise]);
    const take = line.run(async () => {
      this.#go.resolve();
      await Promise.race([both, solution, tests]);
    }, this.#ending.signal);
    // Cancelled while it waited: the calls end with that.
    await take.catch(() => undefined);
  }

  #hearSolution(message: unknown): void {
    const heard = parseSolutionMessage(message);
    if (heard.type === "failed") this.#loadFailure ??= heard.failure;
    else {
      this.#hasLoaded = true;
      this.#loaded.resolve();
    }
  }

  #hearTests(message: unknown): void {
    const heard = parseTestsMessage(message);
    if (heard.type === "violation") this.#violate("solution", heard.what);
    else if (heard.type === "failed") throw new Error("a message that only a solution sends");
    else this.#list.hear(heard);
  }

  #violate(by: RelaySide, what: string): void {
    this.#violation ??= { by, what };
    this.abort();
  }

  #end(solution: CallEnd, tests?: CallEnd): SplitEnd {
    return {
      list: this.#list,
      solution,
      ...(tests !== undefined && { tests }),
      ...(this.#loadFailure !== undefined && { loadFailure: this.#loadFailure }),
      ...(this.#violation !== undefined && { violation: this.#violation }),
      endedEarly: this.#endedEarly,
      hasLoaded: this.#hasLoaded,
      atWork: this.#hasLoaded ? (this.#relay.atWork ?? "tests") : "solution",
      isCancelled: this.order.signal?.aborted === true && !this.#list.hasEnded,
      isolates: this.#isolates,
    };
  }
}

import type { TestResult, TestRunner } from "./report.js";
import type { TestsMessage } from "./runner-messages.js";

const MAX_TESTS = 10_000;
/** What is kept of all of them together; of those beyond it, the first line of why they failed. */
const MAX_DETAILS = 16 * 1024 * 1024;

/** The tests of one run, from what its runner tells, in the order in which they were found. */
export class TestList {
  runner: TestRunner;
  /** The tests could not be found: whose fault, and why. */
  broken: { readonly bySolution: boolean; readonly message: string } | undefined;
  /** The runner has said that it is done. */
  hasEnded = false;
  readonly #tests: { readonly name: string; result?: TestResult; isRunning: boolean; isGroup: boolean }[] =
    [];
  #details = 0;
  readonly #onResult: ((result: TestResult) => void) | undefined;
  #fault: { readonly error: unknown } | undefined;

  constructor(runner: TestRunner, onResult?: (result: TestResult) => void) {
    this.runner = runner;
    this.#onResult = onResult;
  }

  /** Notes what the runner tells. Throws for what cannot be: it is no runner of ours then. */
  hear(message: Exclude<TestsMessage, { type: "failed" | "violation" }>): void {
    if (this.hasEnded) throw new Error("something after the end");
    if (message.type === "runner") this.runner = message.runner;
    else if (message.type === "found") this.add(message.tests);
    else if (message.type === "start") this.start(message.test);
    else if (message.type === "group") this.#at(message.test).isGroup = true;
    else if (message.type === "result") this.end(message.test, message.result);
    else if (message.type === "broken") {
      this.add([message.result.name]);
      this.end(this.#tests.length - 1, message.result);
      this.broken ??= { bySolution: message.bySolution, message: firstLine(message.result.message ?? "") };
    } else this.hasEnded = true;
  }

  add(names: readonly string[]): void {
    if (this.#tests.length + names.length > MAX_TESTS) throw new Error(`more than ${MAX_TESTS} tests`);
    for (const name of names) this.#tests.push({ name, isRunning: false, isGroup: false });
  }

  start(number: number): void {
    this.#at(number).isRunning = true;
  }

  end(number: number, result: Omit<TestResult, "name">): void {
    const test = this.#at(number);
    if (test.result !== undefined) throw new Error("a test that ends twice");
    test.isRunning = false;
    test.result = { name: test.name, ...this.#affordable(result) };
    this.#say(test.result);
  }

  /** All of them: those that were running when everything ended are errors for that reason, the rest did not run. */
  finish(why: string): readonly TestResult[] {
    for (const test of this.#tests) {
      if (test.result !== undefined || test.isGroup) continue;
      test.result = test.isRunning
        ? { name: test.name, status: "error", durationMs: 0, message: why }
        : { name: test.name, status: "not-run", durationMs: 0 };
      this.#say(test.result);
    }
    return this.#tests.flatMap(({ result }) => result ?? []);
  }

  /** Throws what the caller's own function has thrown: it did not come from inside. */
  throwFault(): void {
    if (this.#fault !== undefined) throw this.#fault.error;
  }

  #say(result: TestResult): void {
    if (this.#fault !== undefined) return;
    try {
      this.#onResult?.(result);
    } catch (error) {
      this.#fault = { error };
    }
  }

  /** The same, with details left out beyond the limit. */
  #affordable(result: Omit<TestResult, "name">): Omit<TestResult, "name"> {
    const { status, durationMs, message = "", expected = "", actual = "", traceback = "" } = result;
    this.#details += message.length + expected.length + actual.length + traceback.length;
    if (this.#details <= MAX_DETAILS) return result;
    return { status, durationMs, ...(message !== "" && { message: firstLine(message) }) };
  }

  #at(number: number) {
    const test = this.#tests[number];
    if (test === undefined) throw new Error("a test that was not found");
    return test;
  }
}

/** The first line of a text from inside, not too long. */
export function firstLine(text: string): string {
  const [line = ""] = text.split("\n", 1);
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}

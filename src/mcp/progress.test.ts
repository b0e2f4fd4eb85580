import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type Progress, ProgressReporter } from "./progress.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function report(send: (progress: Progress) => Promise<void> = async () => undefined) {
  const told: Progress[] = [];
  const reporter = new ProgressReporter({
    send: (progress) => {
      told.push(progress);
      return send(progress);
    },
  });
  return { told, reporter };
}

it("tells the first output at once, and then no more often than four times a second", async () => {
  const { told, reporter } = report();
  for (let i = 0; i < 1000; i++) {
    reporter.output(`${i}\n`);
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(told).toHaveLength(5);
  expect(told[0]).toEqual({ progress: expect.any(Number), message: "0" });
  expect(told.at(-1)!.message).toMatch(/\n999$/);
  reporter[Symbol.dispose]();
});

it("always grows, also where no time passes", async () => {
  const { told, reporter } = report();
  for (let i = 0; i < 3; i++) {
    reporter.output("x");
    await vi.advanceTimersByTimeAsync(250);
  }
  const values = told.map(({ progress }) => progress);
  expect(values).toEqual([...new Set(values)].sort((a, b) => a - b));
  expect(values.length).toBe(3);
  reporter[Symbol.dispose]();
});

it("tells the end of what was printed, with nothing in it that acts or hides", async () => {
  const { told, reporter } = report();
  reporter.output("x".repeat(100_000));
  reporter.output("\u001b[2Jred\u202e\r\ndone\n");
  await vi.advanceTimersByTimeAsync(0);
  expect(told).toHaveLength(1);
  expect(told[0]!.message).toMatch(/^x+\\x1b\[2Jred\\u\{202e\}\\x0d\ndone$/);
  expect(told[0]!.message.length).toBeLessThan(550);
  reporter[Symbol.dispose]();
});

it("says that a silent call still runs, so that a client does not give it up", async () => {
  const { told, reporter } = report();
  await vi.advanceTimersByTimeAsync(25_000);
  expect(told).toEqual([
    { progress: 10, message: "still running" },
    { progress: 20, message: "still running" },
  ]);
  reporter[Symbol.dispose]();
});

it("waits for a client that does not read, and keeps no more than one message for it", async () => {
  let read = () => {};
  const { told, reporter } = report(
    () =>
      new Promise((resolve) => {
        read = resolve;
      }),
  );
  for (let i = 0; i < 100; i++) {
    reporter.output(`${i} `);
    await vi.advanceTimersByTimeAsync(1000);
  }
  expect(told).toHaveLength(1);
  read();
  await vi.advanceTimersByTimeAsync(250);
  expect(told).toHaveLength(2);
  expect(told[1]!.message).toMatch(/ 98 99 $/);
  reporter[Symbol.dispose]();
});

it("tells nothing once the call is over, and survives a client that is gone", async () => {
  const { told, reporter } = report(async () => {
    throw new Error("closed");
  });
  reporter.output("a");
  await vi.advanceTimersByTimeAsync(0);
  reporter.output("b");
  reporter[Symbol.dispose]();
  reporter.output("c");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(told.map(({ message }) => message)).toEqual(["a"]);
  expect(vi.getTimerCount()).toBe(0);
});

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Interrupt } from "./interrupt.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** What the command is asked for: nothing yet, or to end with this status. */
const asked = ({ signal, status }: Interrupt) => [signal.aborted, status];

it.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const)("ends a command without a program at once on %s", (name, status) => {
  using interrupt = new Interrupt();
  process.emit(name, name);
  expect(asked(interrupt)).toEqual([true, status]);
});

it("gives a program two seconds after the first Ctrl-C", () => {
  using interrupt = new Interrupt();
  const pass = vi.fn(() => true);
  interrupt.passTo(pass);
  process.emit("SIGINT", "SIGINT");
  expect(pass).toHaveBeenCalledOnce();
  vi.advanceTimersByTime(1999);
  expect(asked(interrupt)).toEqual([false, undefined]);
  vi.advanceTimersByTime(1);
  expect(asked(interrupt)).toEqual([true, 130]);
});

it.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("ends it at once when %s follows", (name, status) => {
  using interrupt = new Interrupt();
  const pass = vi.fn(() => true);
  interrupt.passTo(pass);
  process.emit("SIGINT", "SIGINT");
  process.emit(name, name);
  expect(pass).toHaveBeenCalledOnce();
  expect(asked(interrupt)).toEqual([true, status]);
});

it("does not wait for a program that does not run", () => {
  using interrupt = new Interrupt();
  interrupt.passTo(() => false);
  process.emit("SIGINT", "SIGINT");
  expect(asked(interrupt)).toEqual([true, 130]);
});

it("asks for nothing once the command is over", () => {
  const interrupt = new Interrupt();
  interrupt.passTo(() => true);
  process.emit("SIGINT", "SIGINT");
  interrupt[Symbol.dispose]();
  vi.advanceTimersByTime(5000);
  expect(asked(interrupt)).toEqual([false, undefined]);
});

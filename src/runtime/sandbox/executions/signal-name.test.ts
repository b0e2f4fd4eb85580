import { expect, it } from "vitest";
import { SENDABLE_SIGNALS, type SendableSignal, sendableSignal, signalName } from "./signal-name.js";

it.each([
  [6, "SIGABRT"],
  [9, "SIGKILL"],
  [11, "SIGSEGV"],
  [29, "SIGIO"],
  [31, "SIGSYS"],
  [40, "SIG40"],
])("signal %d is %s", (number, name) => {
  expect(signalName(number)).toBe(name);
});

it("only a name of the list can be sent", () => {
  expect(SENDABLE_SIGNALS.map(sendableSignal)).toEqual([1, 2, 3, 6, 9, 10, 12, 14, 15, 18, 19, 20, 28]);
  for (const name of ["SIGSEGV", "TERM", "sigterm", "toString", "15", ""])
    expect(() => sendableSignal(name as SendableSignal)).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
});

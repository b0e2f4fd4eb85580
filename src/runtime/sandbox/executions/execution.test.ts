import { expect, it } from "vitest";
import { Execution } from "./execution.js";
import { outcomeOf } from "./run-command.js";

it("shows a caller what reads its output, and nothing that writes it", async () => {
  const execution = new Execution(async (sink) => {
    sink.output("stdout", Buffer.from("real"));
    const exit = { exitCode: 0, signal: null, cpuTimeMs: 1, memoryKb: 1, clean: true, warm: false };
    return { ...outcomeOf(exit, 1), ...sink.printed(false) } as never;
  });
  expect(Reflect.ownKeys(execution)).toEqual([]);
  expect(Reflect.ownKeys(Execution.prototype)).toEqual([
    "constructor",
    "then",
    "catch",
    "finally",
    "bytes",
    "interrupt",
    Symbol.toStringTag,
    Symbol.asyncIterator,
  ]);
  const { stdout } = await execution;
  expect(stdout).toBe("real");
});

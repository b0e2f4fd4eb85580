import { describe, expect, it } from "vitest";
import { type Config, DEFAULT_CONFIG } from "../config/index.js";
import { terminalLimits, terminalText } from "./terminal-guard.js";

const configured = (limits: Config["sandbox"]["limits"]): Config => ({
  sandbox: { ...DEFAULT_CONFIG.sandbox, limits },
});

describe("the limits of a terminal's sandbox", () => {
  it("are what was asked for where there is no policy", () => {
    expect(terminalLimits({ memoryMb: 64 }, {}, configured({ pids: 8 }))).toEqual({ memoryMb: 64 });
  });

  it("are the policy's where that is stricter, and never wider than what was asked for or configured", () => {
    const policy = { memoryMb: 256, pids: 100, cpus: 2, timeoutMs: 1000, outputBytes: 10 };
    const config = configured({ cpus: 0.5, outputBytes: 5, openFiles: 64 });
    expect(terminalLimits({ memoryMb: 64 }, policy, config)).toEqual({ memoryMb: 64, pids: 100, cpus: 0.5 });
    expect(terminalLimits({ memoryMb: 512 }, policy, DEFAULT_CONFIG)).toEqual({
      memoryMb: 256,
      pids: 100,
      cpus: 2,
    });
  });
});

it("a terminal is known by its command", () => {
  expect([terminalText([]), terminalText(["python3", "-i"])]).toEqual(["(a terminal)", "python3 -i"]);
});

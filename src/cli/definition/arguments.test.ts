import { describe, expect, it } from "vitest";
import {
  parseAll,
  parseChainPoint,
  parseCount,
  parseCpus,
  parseEnv,
  parseInput,
  parseMemoryMb,
  parseMount,
  parseOutput,
  parsePids,
  parseTimeoutMs,
} from "./arguments.js";

const wrong = (message: string) =>
  expect.objectContaining({ code: "INVALID_ARGUMENT", message, hint: expect.any(String) });

describe("limits", () => {
  it("are read with their units", () => {
    expect([parseTimeoutMs("30s"), parseMemoryMb("512mb"), parseCpus("0.5"), parsePids("128")]).toEqual([
      30_000, 512, 0.5, 128,
    ]);
  });

  it.each([
    [
      "a timeout of zero",
      () => parseTimeoutMs("0"),
      '--timeout: "0" is not a duration: it must be longer than zero',
    ],
    ["memory without a unit", () => parseMemoryMb("512"), '--memory: "512" is less than a mebibyte'],
    ["no processors", () => parseCpus("0"), '--cpus: "0" is not a number of processors'],
    ["negative processors", () => parseCpus("-1"), '--cpus: "-1" is not a number of processors'],
    ["processors in words", () => parseCpus("two"), '--cpus: "two" is not a number of processors'],
    ["no processes", () => parsePids("0"), '--pids: "0" is not a number of processes'],
    ["half a process", () => parsePids("1.5"), '--pids: "1.5" is not a number of processes'],
  ])("refuse %s", (_, parse, message) => {
    expect(parse).toThrow(wrong(message));
  });
});

describe("--env", () => {
  it("adds variables, the last one of a name wins, and a value may hold anything", () => {
    expect(parseEnv("B==x y=\n", parseEnv("A=1", parseEnv("A=0")))).toEqual({ A: "1", B: "=x y=\n" });
  });

  it("takes the value of our own environment when there is none", () => {
    expect(parseEnv("TOKEN", {}, { TOKEN: "t" })).toEqual({ TOKEN: "t" });
    expect(() => parseEnv("TOKEN", {}, {})).toThrow(wrong("--env: TOKEN is not set here"));
  });

  it.each(["=x", "1A=x", "A B=x", "A\0=x", ""])("refuses %j", (value) => {
    expect(() => parseEnv(value)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });
});

describe("--input and --output", () => {
  it("use the file's own name when no other is given", () => {
    expect(parseInput("/data/in.csv", [])).toEqual([{ hostPath: "/data/in.csv", path: "in.csv" }]);
    expect(parseOutput("out/plot.png")).toEqual([{ path: "out/plot.png", hostPath: "plot.png" }]);
  });

  it("take the other name after the colon, and repeat", () => {
    expect(parseInput("a:x/a", parseInput("b"))).toEqual([
      { hostPath: "b", path: "b" },
      { hostPath: "a", path: "x/a" },
    ]);
    expect(parseOutput("x/a:/tmp/b:c")).toEqual([{ path: "x/a", hostPath: "/tmp/b:c" }]);
  });

  it("let a file whose name has a colon win", () => {
    const exists = (path: string) => path === "12:30.log";
    expect(parseInput("12:30.log", [], exists)).toEqual([{ hostPath: "12:30.log", path: "12:30.log" }]);
    expect(parseInput("12:30.log:in.log", [], exists)).toEqual([{ hostPath: "12:30.log", path: "in.log" }]);
  });

  it.each(["", ":", "a:", ":a"])("refuse %j", (value) => {
    expect(() => parseInput(value)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
    expect(() => parseOutput(value)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });
});

describe("the audit log's options", () => {
  it("are read", () => {
    expect(parseAll("b", parseAll("a"))).toEqual(["a", "b"]);
    expect([parseCount("--lines", "0", 0), parseCount("--limit", "100", 1)]).toEqual([0, 100]);
    const hash = "0123456789abcdef".repeat(4);
    expect(parseChainPoint(`12:${hash}`)).toEqual({ seq: 12, hash });
  });

  it.each(["-1", "1.5", "many", "", "9999999999"])("refuse %j as a number of records", (value) => {
    expect(() => parseCount("--lines", value, 0)).toThrow(
      wrong(`--lines: ${JSON.stringify(value)} is not a number of records`),
    );
  });

  it("refuse none where at least one is needed", () => {
    expect(() => parseCount("--limit", "0", 1)).toThrow(wrong('--limit: "0" is not a number of records'));
  });

  it.each(["12", "12:abc", `x:${"a".repeat(64)}`, `12:${"A".repeat(64)}`, ""])(
    "refuse %j as a head of the chain",
    (value) => {
      expect(() => parseChainPoint(value)).toThrow(
        wrong(`--expect: ${JSON.stringify(value)} is not a head of the chain`),
      );
    },
  );
});

describe("a mount", () => {
  const none = () => false;

  it("is a directory, a place for it, and that it is a copy", () => {
    const [one, two, three] = ["src", "src:lib/x", "src:lib:copy"].map(
      (value) => parseMount(value, [], none)[0],
    );
    expect([one, two, three, parseMount(".:copy", [], none)[0]]).toEqual([
      { source: "src" },
      { source: "src", target: "lib/x" },
      { source: "src", target: "lib" },
      { source: "." },
    ]);
    expect(parseMount("b", [{ source: "a" }], none)).toEqual([{ source: "a" }, { source: "b" }]);
  });

  it("may have a colon in its own name", () => {
    expect(parseMount("a:b:copy", [], () => true)).toEqual([{ source: "a:b:copy" }]);
  });

  it.each(["", ":x", "a:", "a:b:c"])("is not %j", (value) => {
    expect(() => parseMount(value, [], none)).toThrow(
      wrong(`--mount: ${JSON.stringify(value)} is not DIR or DIR:path`),
    );
  });

  it.each(["ro", "rw"])("is never the directory itself, as %s would be", (mode) => {
    expect(() => parseMount(`a:${mode}`, [], none)).toThrow(expect.objectContaining({ code: "UNSUPPORTED" }));
  });
});

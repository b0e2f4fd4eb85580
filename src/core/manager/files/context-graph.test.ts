import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import type { FileChange } from "../../../runtime/sandbox/files/change-log.js";
import { SandboxManager } from "../sandbox-manager.js";
import { ChangeRecorder, type ContextGraph } from "./context-graph.js";

let stateDir: string;
let manager: SandboxManager;
let told: [string, string, string][];

beforeEach(() => {
  stateDir = temporaryDirectory();
  told = [];
});

afterEach(() => manager?.close());

const graph: ContextGraph = {
  async recordFileChange(session, path, change) {
    await delay(1);
    told.push([session, path, change]);
  },
};
const start = (contextGraph: ContextGraph) => {
  manager = new SandboxManager({ stateDir, backend: "subprocess", contextGraph });
};

describe("a manager with a context graph", () => {
  it("tells it what each execution created, modified and deleted, before the result is there", async () => {
    start(graph);
    const sandbox = await manager.startSandbox("chat");
    const result = await sandbox.exec("echo 1 > a; echo 1 > b; mkdir d; echo 1 > d/c");
    expect(told).toEqual([
      ["chat", "a", "created"],
      ["chat", "b", "created"],
      ["chat", "d/c", "created"],
    ]);
    expect(result.fileChanges).toEqual(told.map(([, path, change]) => ({ path, change })));
    told = [];
    await sandbox.runCode("echo 22 > b; rm a; ln -s b l", { language: "bash" });
    expect(told).toEqual([
      ["chat", "a", "deleted"],
      ["chat", "b", "modified"],
      ["chat", "l", "created"],
    ]);
    told = [];
    await sandbox.files.write("of-the-host.txt", "1");
    await sandbox.exec(["true"]);
    expect(told).toEqual([]);
  });

  it("tells it of tool calls, with an id of their own where there is no session", async () => {
    start(graph);
    const once = await manager.execute({ command: "echo 1 > x" });
    await manager.execute({ sessionId: "s", command: "echo 1 > y" });
    expect(once.sessionId).toMatch(/^once-/);
    expect(told).toEqual([
      [once.sessionId, "x", "created"],
      ["s", "y", "created"],
    ]);
  });

  it("tells it of a terminal when that ends, opened either way", async () => {
    start(graph);
    const sandbox = await manager.startSandbox("chat");
    const terminal = await sandbox.terminal({ rows: 24, columns: 80, argv: ["sh", "-c", "echo 1 > t"] });
    terminal.output.resume();
    expect((await terminal.exit).fileChanges).toEqual([{ path: "t", change: "created" }]);
    const guarded = await manager.openTerminal({
      sessionId: "chat",
      rows: 24,
      columns: 80,
      argv: ["sh", "-c", "rm t"],
    });
    guarded.output.resume();
    await guarded.exit;
    expect(told).toEqual([
      ["chat", "t", "created"],
      ["chat", "t", "deleted"],
    ]);
  });

  it("hands names on as programs made them", async () => {
    start(graph);
    const name = "new\nline \u202e..";
    const sandbox = await manager.startSandbox("chat");
    await sandbox.runCode(`open(${JSON.stringify(name)}, "w")`, { language: "python" });
    expect(told).toEqual([["chat", name, "created"]]);
  });

  it("keeps the result and the other changes when it throws, and says what was lost", async () => {
    const lost: unknown[] = [];
    start({
      recordFileChange(session, path, change) {
        if (path === "b") throw new Error("no room");
        told.push([session, path, change]);
      },
      onError: (error, session, changes) => lost.push([error.message, session, changes]),
    });
    const result = await manager.execute({ sessionId: "s", command: "touch a b c" });
    expect(result).toMatchObject({ success: true, filesWritten: ["a", "b", "c"] });
    expect(told.map(([, path]) => path)).toEqual(["a", "c"]);
    expect(lost).toEqual([
      [
        "The context graph did not record 1 changed files: no room",
        "s",
        [{ path: "b", change: "created" }] satisfies FileChange[],
      ],
    ]);
  });

  it("hands the result out when it hangs", async () => {
    start({ recordFileChange: () => new Promise(() => undefined), onError: () => undefined });
    const result = await manager.execute({ sessionId: "s", command: "touch a" });
    expect(result.success).toBe(true);
    // Or the manager waits for it.
    expect((await manager.execute({ sessionId: "s", command: "true" })).success).toBe(true);
  });

  it("refuses what is no context graph", () => {
    expect(() => new SandboxManager({ contextGraph: {} as ContextGraph })).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
    expect(() => new SandboxManager({ contextGraph: null as unknown as ContextGraph })).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
  });
});

describe("changes on their way to a context graph", () => {
  it("come in order within a session, also when results do not wait for them", async () => {
    const recorder = new ChangeRecorder(graph);
    const change = (path: string): FileChange => ({ path, change: "created" });
    const first = recorder.record("s", [change("1"), change("2")]);
    const second = recorder.record("s", [change("3")]);
    await Promise.all([first, second]);
    expect(told.map(([, path]) => path)).toEqual(["1", "2", "3"]);
  });

  it("do not pile up without end behind one that hangs", async () => {
    const lost: number[] = [];
    const recorder = new ChangeRecorder({
      recordFileChange: () => new Promise(() => undefined),
      onError: (_error, _session, changes) => lost.push(changes.length),
    });
    const many = Array.from({ length: 30_000 }, (_, index) => ({
      path: String(index),
      change: "created" as const,
    }));
    await Promise.all([recorder.record("s", many), recorder.record("s", many)]);
    expect(lost).toEqual([10_000]);
  });
});

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { uniqueSeconds } from "../../src/core/testing/unique-seconds.js";
import { waitUntil } from "../../src/kit/wait-until.js";
import { requires } from "../setup/requires.js";
import { isAlive, printedIn, processesWith, sessionsOf, startMcp } from "./mcp-client.js";
import { createUser, LAUNCHER, type User } from "./run-skerry.js";

const real = requires("linux", "bubblewrap", "python3");

let user: User;
beforeAll(() => {
  user = createUser();
});

const INITIALIZE = {
  jsonrpc: "2.0",
  id: "init",
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};
const sleep = (id: number, seconds: string) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: {
    name: "shell_exec",
    arguments: { command: `setsid sleep ${seconds} & sleep ${seconds}`, timeoutMs: 600_000 },
  },
});

/** The command with its three streams in our hands. */
function startRaw(): ChildProcessWithoutNullStreams & {
  lines(): Record<string, unknown>[];
  say(...messages: unknown[]): void;
} {
  const child = spawn(LAUNCHER, ["mcp"], { env: user.environment, cwd: user.home });
  onTestFinished(() => void child.kill("SIGKILL"));
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    out += text;
  });
  child.stdin.on("error", () => undefined);
  child.stderr.resume();
  return Object.assign(child, {
    // Whatever is no protocol makes this throw.
    lines: () =>
      out
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    say: (...messages: unknown[]) => {
      for (const each of messages)
        child.stdin.write(typeof each === "string" ? each : `${JSON.stringify(each)}\n`);
    },
  });
}

real.describe("skerry mcp whose client goes away", () => {
  it.each<[string, number | null, (child: ChildProcessWithoutNullStreams) => void]>([
    ["closes its end", 0, (child) => child.stdin.end()],
    [
      "stops reading as well",
      0,
      (child) => {
        child.stdout.destroy();
        child.stdin.end();
      },
    ],
    ["asks it to end", 143, (child) => void child.kill("SIGTERM")],
    ["interrupts it", 130, (child) => void child.kill("SIGINT")],
    ["hangs up", 129, (child) => void child.kill("SIGHUP")],
  ])("ends with everything in it when the client %s", async (_, status, leave) => {
    const seconds = uniqueSeconds();
    const child = startRaw();
    child.say(INITIALIZE, sleep(1, seconds), sleep(2, seconds));
    await waitUntil(() => processesWith(seconds).length === 4);
    expect(sessionsOf(user)).toHaveLength(1);
    const ended = once(child, "exit");
    leave(child);
    expect(await ended).toEqual([status, null]);
    expect(processesWith(seconds)).toEqual([]);
    expect(sessionsOf(user)).toEqual([]);
  });

  it("leaves nothing running when it is killed itself, and the next one removes its files", async () => {
    const seconds = uniqueSeconds();
    const child = startRaw();
    child.say(INITIALIZE, sleep(1, seconds));
    await waitUntil(() => processesWith(seconds).length === 2);
    child.kill("SIGKILL");
    await waitUntil(() => processesWith(seconds).length === 0);
    expect(sessionsOf(user)).toHaveLength(1);
    const next = await startMcp(user);
    await waitUntil(() => sessionsOf(user).length === 0);
    await next.client.close();
    await waitUntil(() => !isAlive(next.pid));
  });

  it("leaves alone the sessions of others that run, and those with names", async () => {
    const running = await startMcp(user);
    await running.call("file_write", { path: "mine", content: "1" });
    expect(user.skerry(["exec", "--session", "mcp-1-2-short", "--", "true"]).status).toBe(0);
    const second = await startMcp(user);
    await second.call("file_list");
    await second.client.close();
    await waitUntil(() => !isAlive(second.pid));
    expect(sessionsOf(user)).toHaveLength(2);
    expect(printedIn(await running.call("file_read", { path: "mine" }))).toBe("1");
    await running.client.close();
    await waitUntil(() => !isAlive(running.pid));
    expect(user.skerry(["sessions", "rm", "mcp-1-2-short"]).status).toBe(0);
  });
});

real.describe("skerry mcp and what is no protocol", () => {
  it("answers each with an error, prints nothing else, and goes on", async () => {
    const child = startRaw();
    child.say(
      "{oops\n",
      "\n",
      "[]\n",
      '{"jsonrpc":"2.0","id":7,"method":7}\n',
      { jsonrpc: "2.0", id: 8, method: "tools/list" },
      { jsonrpc: "2.0", id: 9, result: {} },
      { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 99 } },
      { jsonrpc: "2.0", method: "notifications/nonsense" },
      `{"jsonrpc":"2.0","id":10,"method":"ping","params":{"x":"${"y".repeat(33 * 1024 * 1024)}"}}\n`,
      INITIALIZE,
      { jsonrpc: "2.0", id: 11, method: "tools/call", params: { name: "format_disk", arguments: {} } },
      { jsonrpc: "2.0", id: 12, method: "tools/call", params: { name: "run_code", arguments: ["x"] } },
      { jsonrpc: "2.0", id: 13, method: "tools/call", params: { name: "run_code", arguments: { code: 1 } } },
      { jsonrpc: "2.0", id: 14, method: "prompts/list" },
      // Deeper than a recursive check can follow.
      `{"jsonrpc":"2.0","id":15,"method":"tools/call","params":{"name":"run_tests","arguments":{"language":"python","code":"","cases":[{"call":"f()","expected":${"[".repeat(100_000)}${"]".repeat(100_000)}}]}}}\n`,
      {
        jsonrpc: "2.0",
        id: 16,
        method: "tools/call",
        params: { name: "run_code", arguments: { language: "bash", code: "echo still here" } },
      },
    );
    await waitUntil(() => child.lines().some(({ id }) => id === 16));
    const errors = child
      .lines()
      .flatMap(({ id, error }) => (error === undefined ? [] : [[id, (error as { code: number }).code]]));
    expect(errors.sort()).toEqual(
      [
        [undefined, -32700],
        [undefined, -32600],
        [7, -32600],
        [8, -32600],
        [undefined, -32600],
        [11, -32602],
        [12, -32602],
        [14, -32601],
      ].sort(),
    );
    const results = new Map(child.lines().map(({ id, result }) => [id, result]));
    expect(results.get(13)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/"language" is missing; "code": .*expected string/) }],
    });
    expect(results.get(15)).toMatchObject({ isError: true });
    expect(results.get(16)).toMatchObject({
      isError: false,
      content: [{ text: expect.stringContaining("still here") }],
    });
    child.stdin.end();
    expect(await once(child, "exit")).toEqual([0, null]);
  });
});

import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { SandboxError } from "../../../kit/errors.js";
import {
  broadcastToSession,
  type ControlSocket,
  openControlSocket,
  reapControlSockets,
  requestFromSession,
  type SessionControlHandler,
} from "./session-control.js";

let stateDir: string;
const sockets: (ControlSocket | undefined)[] = [];

beforeEach(() => {
  stateDir = temporaryDirectory();
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) await socket?.close();
});

/** Says its name and then everything it is told. */
function handler(name: string, more: Partial<SessionControlHandler> = {}): SessionControlHandler {
  return {
    connect: async (port) => {
      if (port !== 8000) throw new SandboxError("EXECUTION_FAILED", `nothing listens on ${port}`);
      async function* answer(source: AsyncIterable<unknown>) {
        yield `${name}: `;
        yield* source;
      }
      return Duplex.from(answer);
    },
    changeEgress: async () => undefined,
    ...more,
  };
}

async function open(session: string, name = session, more?: Partial<SessionControlHandler>): Promise<void> {
  sockets.push(await openControlSocket(stateDir, session, handler(name, more)));
}

async function say(session: string, port: number, words: string): Promise<string> {
  const stream = await requestFromSession(stateDir, session, { ask: "connect", port });
  stream.end(words);
  return text(stream);
}

describe("a socket to a running session", () => {
  it("leads to its own session only", async () => {
    await open("a");
    await open("b");
    expect(await Promise.all([say("a", 8000, "hello"), say("b", 8000, "there")])).toEqual([
      "a: hello",
      "b: there",
    ]);
    await expect(say("c", 8000, "")).rejects.toMatchObject({ code: "SANDBOX_NOT_RUNNING" });
  });

  it("tells why the session refuses, and tries the next process that runs it", async () => {
    const refuses = async () => {
      throw new SandboxError("EXECUTION_FAILED", "not here", { hint: "there" });
    };
    await open("a", "first", { connect: refuses });
    await expect(say("a", 8000, "")).rejects.toMatchObject({
      code: "EXECUTION_FAILED",
      message: "not here",
      hint: "there",
    });
    await open("a", "second");
    expect(await say("a", 8000, "x")).toBe("second: x");
  });

  it("changes what every process that runs it lets out", async () => {
    const changes: unknown[] = [];
    const changeEgress = async (change: unknown) => void changes.push(change);
    await open("a", "1", { changeEgress });
    await open("a", "2", { changeEgress });
    const request = { ask: "change-egress", allow: ["x.example"], deny: [] } as const;
    expect(await broadcastToSession(stateDir, "a", request)).toBe(2);
    expect(changes).toEqual([expect.objectContaining({ allow: ["x.example"], deny: [] }), expect.anything()]);
    expect(await broadcastToSession(stateDir, "a", request, { exceptOwn: true })).toBe(0);
    expect(await broadcastToSession(stateDir, "b", request)).toBe(0);
  });

  it("changes the others though one refuses, and says so", async () => {
    const changed: string[] = [];
    const changeEgress = (name: string) => async () => void changed.push(name);
    const refuses = async () => {
      throw new SandboxError("POLICY_DENIED", "not here");
    };
    await open("a", "1", { changeEgress: changeEgress("1") });
    await open("a", "2", { changeEgress: refuses });
    await open("a", "3", { changeEgress: changeEgress("3") });
    const request = { ask: "change-egress", allow: [], deny: ["x.example"] } as const;
    await expect(broadcastToSession(stateDir, "a", request)).rejects.toMatchObject({
      code: "POLICY_DENIED",
      message: "not here (1 of 3 processes that run it)",
    });
    expect(changed.sort()).toEqual(["1", "3"]);
  });

  it.each([
    ["nonsense", "\n"],
    ["another request", '{"ask":"exec"}\n'],
    ["a number that is none", '{"ask":"connect","port":"8000"}\n'],
    ["a line without an end", "x".repeat(70_000)],
  ])("refuses %s", async (_, words) => {
    await open("a");
    const socket = connect(join(stateDir, "control", readdirSync(join(stateDir, "control"))[0]!));
    socket.write(words);
    expect(JSON.parse(await text(socket))).toMatchObject({ ok: false });
  });

  it("is for this user alone, and is gone when it is closed", async () => {
    await open("a");
    expect(statSync(join(stateDir, "control")).mode & 0o777).toBe(0o700);
    await sockets.pop()?.close();
    expect(readdirSync(join(stateDir, "control"))).toEqual([]);
  });

  it("of a process that was killed is passed by, and reaped", async () => {
    await open("a");
    const [name = ""] = readdirSync(join(stateDir, "control"));
    const dead = join(stateDir, "control", name.replace(/^\d+-\d+/, "999999-1"));
    writeFileSync(dead, "");
    expect(await say("a", 8000, "x")).toBe("a: x");
    expect([reapControlSockets(stateDir), existsSync(dead)]).toEqual([1, false]);
  });

  it("is left out where its path would be too long", async () => {
    const deep = join(stateDir, "x".repeat(100));
    expect(await openControlSocket(deep, "a", handler("a"))).toBeUndefined();
  });
});

import { readdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { type ControlSocket, listenOnControlSocket } from "../../kit/control-socket.js";
import { listPools } from "./list-pools.js";
import { PoolManager } from "./pool-manager.js";
import { poolFolder } from "./pool-socket.js";

let stateDir: string;
const sockets: (ControlSocket | undefined)[] = [];

beforeEach(() => {
  stateDir = temporaryDirectory();
});

afterEach(() => Promise.all(sockets.splice(0).map((socket) => socket?.close())));

const item = (id: string) => ({
  id,
  ended: new Promise<void>(() => undefined),
  isHealthy: async () => true,
  destroy: async () => undefined,
});

async function answerWith(answer: unknown): Promise<void> {
  sockets.push(
    await listenOnControlSocket(poolFolder(stateDir), "", async (_, socket) => {
      socket.end(`${JSON.stringify(answer)}\n`);
    }),
  );
}

describe("listPools", () => {
  it("asks each pool of this user, while it runs", async () => {
    await using manager = new PoolManager({ minInstances: 1, maxInstances: 2 });
    const pool = manager.bind({ create: async () => item("one") }, { stateDir, backend: () => "bubblewrap" });
    expect(await listPools(stateDir)).toEqual([]);
    const lease = await pool.acquire({ sessionId: "s" });
    await expect.poll(() => listPools(stateDir)).toHaveLength(1);
    const [found] = await listPools(stateDir);
    expect(found).toMatchObject({
      pid: process.pid,
      backend: "bubblewrap",
      status: {
        busy: 1,
        maxInstances: 2,
        instances: expect.arrayContaining([expect.objectContaining({ sessionId: "s" })]),
      },
    });
    await lease.release();
    await manager.stop();
    expect([await listPools(stateDir), readdirSync(join(stateDir, "pools"))]).toEqual([[], []]);
  });

  it("passes by what a killed process left, which the next pool removes", async () => {
    await answerWith({ ok: true });
    const dead = join(stateDir, "pools", "999999-1-abc");
    writeFileSync(dead, "");
    expect(await listPools(stateDir)).toHaveLength(1);
    await using manager = new PoolManager({ minInstances: 0 });
    manager.bind({ create: async () => item("one") }, { stateDir, backend: () => "x" }).start();
    await expect.poll(() => readdirSync(join(stateDir, "pools"))).not.toContain("999999-1-abc");
  });

  it.each([
    ["no status", { ok: true }],
    ["a status of wrong numbers", { ok: true, backend: "x", status: { idle: -1 } }],
    ["a refusal", { ok: false, code: "INTERNAL", message: "not now" }],
  ])("says that there is one that answers with %s", async (_, answer) => {
    await answerWith(answer);
    expect(await listPools(stateDir)).toEqual([{ pid: process.pid, problem: expect.any(String) }]);
  });

  it("is answered nothing but how it does", async () => {
    await using manager = new PoolManager({ minInstances: 0 });
    manager.bind({ create: async () => item("one") }, { stateDir, backend: () => "x" }).start();
    await expect.poll(() => listPools(stateDir)).toHaveLength(1);
    const socket = connect(join(stateDir, "pools", readdirSync(join(stateDir, "pools"))[0]!));
    socket.write('{"ask":"stop"}\n');
    expect(JSON.parse(await text(socket))).toMatchObject({ ok: false, code: "INVALID_ARGUMENT" });
  });
});

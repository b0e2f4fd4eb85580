import { createHash } from "node:crypto";
import { Writable } from "node:stream";
import { beforeAll, expect, it } from "vitest";
import { requires } from "../../../test/setup/requires.js";
import { SocketClient } from "../../../test/setup/socket-client.js";
import { TestServer } from "../../../test/setup/test-server.js";
import { waitUntil } from "../../kit/wait-until.js";

const POLICY = `
policies:
  tools:
    shell_exec: { risk_level: medium }
    file_read: { risk_level: low }
  agent_roles:
    worker: { tools: [shell_exec, file_read] }
    reader: { tools: [file_read] }
`;
const KIB = 1024;
/** Prints a block of so many numbered bytes for each line that is typed, and nothing else. */
const BLOCKS = `
import sys, tty
tty.setraw(0)
n = 0
sys.stdout.write("ready\\n"); sys.stdout.flush()
while True:
    size = int(sys.stdin.readline())
    text = "".join(f"{each};" for each in range(n, n + size))
    n += size
    sys.stdout.write(text[:size]); sys.stdout.flush()
`;

const logged: string[] = [];
const log = new Writable({
  write(chunk, _, done) {
    logged.push(String(chunk));
    done();
  },
});
let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await TestServer.open({ policy: POLICY, log });
  key = (await server.key()).secret;
  await server.call(key, "POST", "/v1/sessions", { sessionId: "s", role: "worker" });
});

const at = (session: string, rest = "") => `/v1/sessions/${session}/terminals${rest}`;
const open = async (body: object = {}, session = "s") => {
  const answer = await server.call(key, "POST", at(session), { rows: 24, columns: 80, ...body });
  expect(answer.status).toBe(201);
  return answer.body;
};
const connect = (id: string, more: Parameters<typeof SocketClient.open>[1] = { key }, query = "") =>
  SocketClient.open(`${server.url}${at("s", `/${id}/stream${query}`)}`, more);
const look = async (id: string) => (await server.call(key, "GET", at("s", `/${id}`))).body;
const refused = (code: string, status: number) => ({ status, body: expect.objectContaining({ code }) });

/** A terminal with the program of blocks on it, and a watcher that sees all of it. */
async function openBlocks(): Promise<{ id: string; all: SocketClient; print(bytes: number): Promise<void> }> {
  const { id } = await open({ argv: ["python3", "-c", BLOCKS] });
  const all = await connect(id);
  await all.shows("ready\n");
  const print = async (bytes: number) => {
    const before = all.received;
    all.send(`${bytes}\n`);
    await waitUntil(() => all.received === before + bytes);
  };
  return { id, all, print };
}

requires("bubblewrap", "python3").describe("a terminal", () => {
  it("shows the same to all who watch, takes what any of them types, and has the size they give it", async () => {
    const made = await open({ env: { PS1: "$ " }, cwd: "/tmp" });
    expect(made).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{24}$/),
      state: "running",
      role: "worker",
      startedAt: expect.any(String),
      rows: 24,
      columns: 80,
      outputBytes: expect.any(Number),
      watchers: 0,
    });
    const [one, two] = [await connect(made.id), await connect(made.id)];
    expect(await one.message("open")).toEqual({ type: "open", cursor: 0, dropped: 0 });
    one.send({ type: "resize", rows: 31, columns: 97 });
    one.send({ type: "input", data: "stty size; pwd\n" });
    await one.shows("31 97\r\n/tmp\r\n");
    two.send(Buffer.from("echo typed by $((1+1))\n"));
    await one.shows("typed by 2\r\n");
    for (const sent of ["{", { type: "resize", rows: 0, columns: 1 }, { type: "decide" }])
      one.socket.send(typeof sent === "string" ? sent : JSON.stringify(sent));
    await waitUntil(() => one.messages.filter(({ type }) => type === "error").length === 3);
    expect(one.messages.find(({ type }) => type === "error")).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await look(made.id)).toMatchObject({ state: "running", rows: 31, columns: 97, watchers: 2 });
    two.send("exit 3\n");
    for (const each of [one, two]) {
      expect((await each.message("exit")).result).toMatchObject({
        executionId: made.id,
        sessionId: "s",
        reason: "exited",
        exitCode: 3,
        stdout: "",
      });
      expect(await each.closed).toBe(1000);
    }
    expect(one.text).toBe(two.text);
    const ended = await look(made.id);
    expect(ended).toMatchObject({ state: "ended", exitCode: 3, watchers: 0, outputBytes: one.received });
    // Who comes later sees it all, and how it ended.
    const late = await connect(made.id);
    expect(await late.closed).toBe(1000);
    expect([late.text, late.messages.map(({ type }) => type)]).toEqual([one.text, ["open", "exit"]]);
    const { items } = (await server.call(key, "GET", at("s"))).body;
    expect(items.map(({ id }: { id: string }) => id)).toContain(made.id);
    expect((await server.call(key, "GET", `/v1/executions/${made.id}`)).body.state).toBe("done");
    const attached = (await server.call(key, "GET", "/v1/audit?sessionId=s&eventType=terminal_attached")).body
      .items;
    expect(attached).toMatchObject([{ role: "worker", details: { execution: made.id } }]);
  });

  it("replays what a connection has missed, byte for byte, and says what is no longer kept", async () => {
    const { id, all, print } = await openBlocks();
    const seen: Buffer[] = [];
    let cursor = 0;
    for (const bytes of [10, 100 * KIB, 1, 0, 255 * KIB, 3]) {
      const client = await connect(id, { key }, `?cursor=${cursor}`);
      expect(await client.message("open")).toEqual({ type: "open", cursor, dropped: 0 });
      await waitUntil(() => cursor + client.received === all.received);
      seen.push(client.bytes);
      cursor += client.received;
      await client.drop();
      if (bytes > 0) await print(bytes);
    }
    expect(Buffer.concat(seen).equals(all.bytes.subarray(0, cursor))).toBe(true);

    await print(500 * KIB);
    const late = await connect(id, { key }, `?cursor=${cursor}`);
    const { cursor: from, dropped } = await late.message("open");
    expect([from, dropped]).toEqual([all.received - 256 * KIB, from - cursor]);
    await waitUntil(() => from + late.received === all.received);
    expect(late.bytes.equals(all.bytes.subarray(from))).toBe(true);
    await expect(connect(id, { key }, `?cursor=${all.received + 1}`)).rejects.toEqual(
      refused("INVALID_ARGUMENT", 400),
    );
    await expect(connect(id, { key }, "?cursor=-1")).rejects.toEqual(refused("INVALID_ARGUMENT", 400));
    for (const each of [all, late]) await each.drop();
    await server.call(key, "DELETE", at("s", `/${id}`));
    await expect(connect(id)).rejects.toEqual(refused("NOT_FOUND", 404));
  });

  it("is held back by a slow reader, which misses nothing, and no more once that is gone", async () => {
    const code = `
import os, tty
tty.setraw(0)
os.write(1, b"ready")
os.read(0, 1)
for n in range(600):
    os.write(1, (b"%06d;" % n) * 9362)
    with open("progress", "w") as f: f.write(str(n))
`;
    const total = 5 + 600 * 7 * 9362;
    const expected = createHash("sha256").update("ready");
    for (let n = 0; n < 600; n++) expected.update(`${String(n).padStart(6, "0")};`.repeat(9362));
    const progress = async () =>
      (await server.fetch(key, "GET", "/v1/sessions/s/files/progress")).text().catch(() => "");
    const standsStill = async () => {
      let last = "";
      let same = 0;
      await waitUntil(async () => {
        const now = await progress();
        same = /^\d+$/.test(now) && now === last ? same + 1 : 0;
        last = now;
        return same >= 40;
      });
      return Number(last);
    };
    const { id } = await open({ argv: ["python3", "-c", code] });
    const slow = await connect(id);
    const got = createHash("sha256");
    slow.takeBytes((bytes) => got.update(bytes));
    const other = await connect(id);
    other.takeBytes(() => undefined);
    await waitUntil(() => slow.received === 5);
    slow.socket.pause();
    other.send("x");
    expect(await standsStill()).toBeLessThan(590);
    expect(other.received).toBeLessThan(total);
    slow.socket.resume();
    await slow.message("exit");
    expect([slow.received, got.digest("hex")]).toEqual([total, expected.digest("hex")]);

    const again = await open({ argv: ["python3", "-c", code] });
    const gone = await connect(again.id);
    await gone.shows("ready");
    gone.socket.pause();
    gone.send("x");
    expect(await standsStill()).toBeLessThan(590);
    await gone.drop();
    await waitUntil(async () => (await look(again.id)).state === "ended");
    expect(await look(again.id)).toMatchObject({ exitCode: 0, outputBytes: total });
  });

  it("ends with its session, and watchers are told", async () => {
    await server.call(key, "POST", "/v1/sessions", { sessionId: "short", role: "worker" });
    const { id } = await open({ argv: ["yes"] }, "short");
    const client = await SocketClient.open(`${server.url}${at("short", `/${id}/stream`)}`, { key });
    client.takeBytes(() => undefined);
    const stalled = await SocketClient.open(`${server.url}${at("short", `/${id}/stream`)}`, { key });
    stalled.socket.pause();
    await waitUntil(() => client.received > 0);
    expect((await server.call(key, "DELETE", "/v1/sessions/short")).status).toBe(200);
    expect(await client.message("exit")).toMatchObject({ result: { reason: "cancelled" } });
    expect(await client.closed).toBe(1000);
    stalled.socket.terminate();
  });

  it.each([
    ["no size", {}, "INVALID_ARGUMENT"],
    ["a size that no terminal has", { rows: 0, columns: 70_000 }, "INVALID_ARGUMENT"],
    ["a program that is not there", { rows: 1, columns: 1, argv: ["no-such"] }, "COMMAND_NOT_FOUND"],
    ["a role that may not", { rows: 1, columns: 1, role: "reader" }, "POLICY_DENIED"],
  ])("does not open with %s, and then there is none", async (_, body, code) => {
    const before = (await server.call(key, "GET", at("s"))).body.items.length;
    expect((await server.call(key, "POST", at("s"), body)).body.code).toBe(code);
    expect((await server.call(key, "GET", at("s"))).body.items).toHaveLength(before);
  });
});

requires("bubblewrap").describe("a terminal without watchers", () => {
  it("waits for a watcher to come back, but not for ever", async () => {
    const impatient = await TestServer.open({ server: { terminals: { detached: "1500ms" } } });
    try {
      const call = (method: string, rest = "", body?: object) =>
        impatient.call(impatient.admin, method, at("s", rest), body);
      const isOver = async (id: string) => (await call("GET", `/${id}`)).body.state === "ended";
      await impatient.call(impatient.admin, "POST", "/v1/sessions", { sessionId: "s" });
      const come = async () => {
        const { id } = (await call("POST", "", { rows: 1, columns: 1 })).body;
        const url = `${impatient.url}${at("s", `/${id}/stream`)}`;
        return { id, client: await SocketClient.open(url, { key: impatient.admin }) };
      };
      // On a busy machine its time may be over before the watcher gets there.
      let watched = await come();
      while (await isOver(watched.id)) watched = await come();
      const { id } = (await call("POST", "", { rows: 1, columns: 1 })).body;
      await waitUntil(() => isOver(id));
      expect((await call("GET", `/${id}`)).body).toMatchObject({ reason: "cancelled" });
      expect((await call("GET", `/${watched.id}`)).body).toMatchObject({ state: "running", watchers: 1 });
      await watched.client.drop();
      await waitUntil(() => isOver(watched.id));
    } finally {
      await impatient.close();
    }
  });
});

requires("bubblewrap").describe("who may come to a terminal", () => {
  it("is a key that may act in the role it was opened in, of its org, and may write", async () => {
    const [reader, readOnly, other] = [
      (await server.key("default", { roles: ["reader"] })).secret,
      (await server.key("default", { readOnly: true })).secret,
      (await server.key("other", { admin: true })).secret,
    ];
    // The session is the reader's to use; the terminal in it is not.
    await server.call(reader, "POST", "/v1/sessions", { sessionId: "readers" });
    const { id } = await open({ role: "worker" }, "readers");
    const url = `${server.url}${at("readers", `/${id}/stream`)}`;
    await expect(SocketClient.open(url, { key: reader })).rejects.toEqual(refused("FORBIDDEN", 403));
    await expect(SocketClient.open(url, { key: readOnly })).rejects.toEqual(refused("FORBIDDEN", 403));
    await expect(SocketClient.open(url, { key: other })).rejects.toEqual(refused("SESSION_NOT_FOUND", 404));
    await expect(SocketClient.open(url, {})).rejects.toEqual(refused("UNAUTHENTICATED", 401));
    for (const by of [reader, readOnly])
      expect(await server.call(by, "DELETE", at("readers", `/${id}`))).toMatchObject(
        refused("FORBIDDEN", 403),
      );
    const client = await SocketClient.open(url, { key });
    await client.message("open");
    expect((await server.call(key, "DELETE", at("readers", `/${id}`))).body).toEqual({ deleted: true });
    expect(await client.message("exit")).toMatchObject({ result: { reason: "cancelled" } });
  });

  it("is cut off when its key is revoked: what it types is dropped", async () => {
    const revoked = await server.key();
    const { id } = await open({ env: { PS1: "$ " } });
    const [client, witness] = [await connect(id, { key: revoked.secret }), await connect(id)];
    client.send("echo before > typed\n");
    await waitUntil(async () => {
      const file = await server.fetch(key, "GET", "/v1/sessions/s/files/typed");
      return (await file.text()) === "before\n";
    });
    await (await server.store()).apiKeys.revoke("default", revoked.id);
    client.send("echo after > typed\n");
    expect(await client.closed).toBe(1008);
    witness.send("echo still here\n");
    await witness.shows("still here\r\n");
    expect(witness.text).not.toContain("after");
    await witness.drop();
  });

  it("is a page that offers its key as a protocol, which is never said back nor written down", async () => {
    const { id } = await open();
    const offered = [`skerry.key.${key}`, "skerry"];
    for (const protocols of [offered, [...offered].reverse()]) {
      const client = await connect(id, { protocols });
      expect(client.socket.protocol).toBe("skerry");
      expect(JSON.stringify(client.upgrade.rawHeaders)).not.toContain(key.slice(-20));
      await client.message("open");
      await client.drop();
    }
    const wrong = `skerry.key.sk_${"0".repeat(24)}_${"a".repeat(43)}`;
    for (const protocols of [[wrong, "skerry"], [offered[0]!], ["skerry"], [`skerry.key.${key}x`, "skerry"]])
      await expect(connect(id, { protocols })).rejects.toEqual(refused("UNAUTHENTICATED", 401));
    const headers = { origin: "https://evil.example" };
    await expect(connect(id, { protocols: offered, headers })).rejects.toEqual(refused("FORBIDDEN", 403));
    const approver = (await server.key("default", { approve: true })).secret;
    const approvals = await SocketClient.open(`${server.url}/v1/approvals/stream`, {
      protocols: ["skerry", `skerry.key.${approver}`],
    });
    expect(await approvals.message("pending")).toEqual({ type: "pending", approvals: [] });
    await approvals.drop();
    for (const secret of [key, approver]) expect(logged.join("")).not.toContain(secret.slice(-20));
  });

  it("is no plain request, whatever protocol it offers", async () => {
    const { id } = await open();
    const { host } = new URL(server.url);
    const protocol = { "sec-websocket-protocol": `skerry, skerry.key.${key}` };
    const ask = async (headers: Record<string, string>, path = at("s", `/${id}/stream`)) => {
      const { status, body } = await server.raw("GET", path, { host, ...headers });
      return { status, body: JSON.parse(body) };
    };
    expect(await ask(protocol)).toEqual(refused("UNAUTHENTICATED", 401));
    const half = { ...protocol, upgrade: "websocket", connection: "close" };
    expect(await ask(half)).toEqual(refused("UNAUTHENTICATED", 401));
    expect(await ask(protocol, "/v1/sessions")).toEqual(refused("UNAUTHENTICATED", 401));
    expect(await ask({ authorization: `Bearer ${key}` })).toEqual(refused("UPGRADE_REQUIRED", 426));
  });
});

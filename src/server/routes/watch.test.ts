import { request as httpRequest, type IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { requires } from "../../../test/setup/requires.js";
import { TestServer } from "../../../test/setup/test-server.js";
import { waitUntil } from "../../kit/wait-until.js";

const LONG_MS = 60_000;
let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await TestServer.open();
  key = (await server.key()).secret;
});

const execute = (session: string, command: string) =>
  server.call(key, "POST", `/v1/sessions/${session}/execute`, { command });

/** Asks, and hands the response over unread. */
function ask(session: string, query = "", secret = key): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      `${server.url}/v1/sessions/${session}/watch${query}`,
      { agent: false, headers: { authorization: `Bearer ${secret}` } },
      (response) => {
        onTestFinished(() => void response.destroy());
        // A server that stops may cut the connection.
        response.on("error", () => undefined);
        resolve(response);
      },
    );
    request.on("error", reject);
    request.end();
  });
}

/** The same, read: what came by now, as `event data`. */
async function watch(session: string, query?: string, secret?: string) {
  const response = await ask(session, query, secret);
  const told: string[] = [];
  let rest = "";
  response.setEncoding("utf8").on("data", (text: string) => {
    const blocks = (rest + text).split("\n\n");
    rest = blocks.pop()!;
    for (const block of blocks) {
      const [, event, data] = /^id: \d+\nevent: (\w+)\ndata: (.*)$/.exec(block) ?? [];
      if (event !== undefined) told.push(data === "{}" ? event : `${event} ${data}`);
    }
  });
  let isOver = false;
  response.on("close", () => {
    isOver = true;
  });
  const wait = (text: string) => waitUntil(() => told.includes(text), LONG_MS);
  return { response, told, wait, isOver: () => isOver };
}

requires("bubblewrap").describe("watching files", () => {
  it("tells what executions and uploads change, as events, also to a key that may only read", async () => {
    await execute("one", "mkdir sub; touch old");
    const reader = (await server.key("default", { readOnly: true })).secret;
    const [all, flat] = [await watch("one", "", reader), await watch("one", "?path=sub&recursive=false")];
    expect(all.response.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
    await all.wait('watching {"path":".","recursive":true}');
    await flat.wait('watching {"path":"sub","recursive":false}');
    await execute("one", "rm old; mkdir sub/deep; touch sub/deep/f");
    await all.wait('deleted {"path":"old","type":"file"}');
    await all.wait('created {"path":"sub/deep/f","type":"file"}');
    await server.fetch(key, "PUT", "/v1/sessions/one/files/watch", {
      body: "a file of that name",
      headers: { "content-type": "application/octet-stream" },
    });
    await all.wait('created {"path":"watch","type":"file"}');
    const file = await server.fetch(key, "GET", "/v1/sessions/one/files/watch");
    expect(await file.text()).toBe("a file of that name");
    await waitUntil(() => flat.told.length === 2, LONG_MS);
    expect(flat.told[1]).toBe('created {"path":"sub/deep","type":"directory"}');
    const audit = await server.call(key, "GET", "/v1/audit?sessionId=one&tool=file_list");
    expect(audit.body.items).toHaveLength(2);
  });

  it.each([
    ["?path=none", 404, "FILE_NOT_FOUND"],
    ["?path=..%2Fx", 400, "PATH_TRAVERSAL"],
    ["?recursive=perhaps", 400, "INVALID_ARGUMENT"],
    ["?pth=a", 400, "INVALID_ARGUMENT"],
  ])("of %s is refused", async (query, status, code) => {
    await execute("one", "true");
    expect(await server.call(key, "GET", `/v1/sessions/one/watch${query}`)).toMatchObject({
      status,
      body: { code },
    });
  });

  it("ends with the session, and says so, whether the caller reads or not", async () => {
    await execute("gone", "true");
    const read = await watch("gone");
    await read.wait('watching {"path":".","recursive":true}');
    await ask("gone");
    // Far more than fits on the way to a client that does not read: of each file a path of 3750 characters.
    const deep = Array.from({ length: 15 }, () => "x".repeat(249)).join("/");
    await execute("gone", `mkdir -p ${deep}`);
    for (let round = 0; read.told.length < 4000; round++) {
      const before = read.told.length;
      await execute("gone", `cd ${deep} && ${round % 2 === 0 ? "touch" : "rm -f"} $(seq 900)`);
      await waitUntil(() => read.told.length > before, LONG_MS);
      // What comes and goes between two looks is not told: this one has to be over.
      await delay(1500);
    }
    expect((await server.call(key, "DELETE", "/v1/sessions/gone")).status).toBe(200);
    await waitUntil(read.isOver, LONG_MS);
    expect(read.told.at(-1)).toBe('ended {"why":"The session has ended"}');
  });

  it("ends with the key, with its caller, whose place is free then, and with the server", async () => {
    await execute("ends", "true");
    const revoked = await server.key();
    const first = await watch("ends", "", revoked.secret);
    await (await server.store()).apiKeys.revoke("default", revoked.id);
    await first.wait('ended {"why":"The key was revoked"}');

    const many = await Promise.all(Array.from({ length: 16 }, () => ask("ends")));
    expect(many.map(({ statusCode }) => statusCode)).toEqual(many.map(() => 200));
    const status = async () => (await ask("ends")).statusCode;
    expect(await status()).toBe(409);
    for (const response of many) response.destroy();
    await waitUntil(async () => (await status()) === 200, LONG_MS);

    const last = await watch("ends");
    await last.wait('watching {"path":".","recursive":true}');
    await server.stop();
    await waitUntil(last.isOver);
    expect(last.told.at(-1)).toBe('ended {"why":"The server stops"}');
    await server.start();
  });
});

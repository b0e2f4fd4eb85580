import { beforeAll, expect, it } from "vitest";
import { requires } from "../../../test/setup/requires.js";
import { createDatabase } from "../../../test/setup/test-databases.js";
import { TestServer } from "../../../test/setup/test-server.js";
import { waitUntil } from "../../kit/wait-until.js";

/** Two servers on one PostgreSQL, each with a session and a log of its own. */
let a: TestServer;
let b: TestServer;
let key: string;
let stranger: string;

requires("bubblewrap", "postgresql").describe("what the store finds", () => {
  beforeAll(async () => {
    const { url: store } = await createDatabase();
    const server = { store };
    a = await TestServer.open({ server });
    b = await TestServer.open({ server });
    key = (await a.key()).secret;
    stranger = (await a.key("other")).secret;
  });

  const run = (testServer: TestServer, name: string, command: string) =>
    testServer.call(key, "POST", `/v1/sessions/${name}/execute`, { command });
  const idOf = async (name: string) =>
    (await a.call(key, "GET", `/v1/sessions/${name}`)).body.sessionUid as string;

  it("of audit records is in every server's log, for their org, and leads to the records", async () => {
    await run(a, "one", "true");
    await run(b, "two", "false");
    const index = async (query = "") => (await b.call(key, "GET", `/v1/audit/index${query}`)).body.items;
    await waitUntil(async () => (await index()).length === 2);
    const [second, first] = await index();
    expect(first).toEqual({
      server: expect.stringMatching(/^[0-9a-f]{24}$/),
      seq: expect.any(Number),
      sessionId: "one",
      sessionUid: await idOf("one"),
      eventType: "sandbox_execution",
      tool: "shell_exec",
      result: "success",
      at: expect.any(String),
    });
    expect(second).toMatchObject({ sessionId: "two", sessionUid: await idOf("two"), result: "failure" });
    expect(second.server).not.toBe(first.server);
    expect(await index("?sessionId=two")).toEqual([second]);
    expect(await index("?result=success")).toEqual([first]);
    expect(await index(`?until=${first.at}`)).toEqual([]);
    expect((await a.call(stranger, "GET", "/v1/audit/index")).body).toEqual({ items: [] });
    // The record itself is on its host, which is asked for it.
    for (const testServer of [a, b]) {
      const { items } = (await testServer.call(key, "GET", `/v1/audit?server=${first.server}`)).body;
      expect(items).toMatchObject([{ seq: first.seq, session_id: first.sessionUid, result: "success" }]);
    }
    const nowhere = await a.call(key, "GET", "/v1/audit?server=none");
    expect(nowhere).toMatchObject({ status: 404, body: { code: "NOT_FOUND" } });
  });

  it("of snapshots is what all the sessions have, wherever they are, until they end", async () => {
    await run(b, "two", "echo x > f");
    const taken = await a.call(key, "POST", "/v1/sessions/two/snapshots", { name: "first" });
    expect(taken.status).toBe(201);
    const other = await b.call(key, "POST", "/v1/sessions/one/snapshots");
    expect(other.status).toBe(201);
    const list = async (testServer: TestServer, who = key) =>
      (await testServer.call(who, "GET", "/v1/snapshots")).body.items;
    const newest = { ...other.body, sessionId: "one", sessionUid: await idOf("one") };
    const oldest = { ...taken.body, sessionId: "two", sessionUid: await idOf("two") };
    for (const testServer of [a, b]) expect(await list(testServer)).toEqual([newest, oldest]);
    expect(await list(a, stranger)).toEqual([]);
    await a.call(key, "DELETE", `/v1/sessions/two/snapshots/${taken.body.id}`);
    expect(await list(b)).toEqual([newest]);
    await b.call(key, "DELETE", "/v1/sessions/one");
    expect(await list(b)).toEqual([]);
  });
});

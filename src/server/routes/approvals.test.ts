import { beforeEach, expect, it } from "vitest";
import { WebSocket } from "ws";
import { requires } from "../../../test/setup/requires.js";
import { TestServer } from "../../../test/setup/test-server.js";
import { waitUntil } from "../../kit/wait-until.js";

const DANGEROUS = { command: "rm -rf /; echo ran" };
const POLICY = `
policies:
  tools:
    shell_exec: { risk_level: high, requires_confirmation: true }
`;

let server: TestServer;
let agent: string;
let one: string;
let two: string;

beforeEach(async () => {
  server = await TestServer.open({ policy: POLICY });
  agent = (await server.key()).secret;
  one = (await server.key("default", { readOnly: true, approve: true })).secret;
  two = (await server.key("default", { readOnly: true, approve: true })).secret;
});

const ask = (command = "echo ran") => server.call(agent, "POST", "/v1/sessions/s/execute", { command });

/** The id of the one request that waits. */
async function pendingId(): Promise<string> {
  let ids: string[] = [];
  await waitUntil(async () => {
    const { items } = (await server.call(one, "GET", "/v1/approvals")).body;
    ids = items.map(({ id }: { id: string }) => id);
    return ids.length === 1;
  });
  return ids[0]!;
}

// biome-ignore lint/suspicious/noExplicitAny: whatever the server says
type Message = any;

/** A socket on the stream, and what came over it. */
async function watch(
  key: string,
): Promise<{ socket: WebSocket; messages: Message[]; wait(type: string): Promise<Message> }> {
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/v1/approvals/stream`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const messages: Message[] = [];
  socket.on("message", (data) => messages.push(JSON.parse(String(data))));
  const wait = async (type: string) => {
    await waitUntil(() => messages.some((each) => each.type === type));
    return messages.find((each) => each.type === type);
  };
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  await wait("pending");
  return { socket, messages, wait };
}

requires("bubblewrap").describe("an approval", () => {
  it("is asked for, decided over HTTP, and told to the second who decides", async () => {
    const running = ask();
    const id = await pendingId();
    const [item] = (await server.call(one, "GET", "/v1/approvals")).body.items;
    expect(item.request).toMatchObject({
      tool: "shell_exec",
      code: "echo ran",
      orgId: "default",
      rule: { source: "policy.yaml" },
    });
    const decide = (key: string, body: object) =>
      server.call(key, "POST", `/v1/approvals/${id}/decide`, body);
    expect((await decide(one, { decision: "perhaps" })).status).toBe(400);
    const [first, second] = await Promise.all([
      decide(one, { decision: "approve" }),
      decide(two, { decision: "reject", reason: "no" }),
    ]);
    expect([first.status, second.status].sort()).toEqual([200, 409]);
    const [won, lost] = first.status === 200 ? [first, second] : [second, first];
    expect(lost.body).toMatchObject({ accepted: false, approval: { outcome: won.body.approval.outcome } });
    const { body } = await running;
    const approved = won.body.approval.outcome.decision === "approved";
    expect(body).toMatchObject(
      approved
        ? { success: true, stdout: "ran\n", confirmation: { approved: true } }
        : { reason: "rejected" },
    );
    expect(body.confirmation.by).toBe(won.body.approval.outcome.by);
  });

  it("is told and decided over the socket, and a watcher that comes back misses nothing", async () => {
    const first = await watch(one);
    expect(first.messages).toEqual([{ type: "pending", approvals: [] }]);
    const running = ask();
    const { approval } = await first.wait("requested");
    first.socket.terminate();

    const again = await watch(one);
    expect(again.messages[0].approvals.map(({ id }: { id: string }) => id)).toEqual([approval.id]);
    const other = await watch(two);
    other.socket.send(JSON.stringify({ type: "decide", id: approval.id, answer: { decision: "approve" } }));
    expect(await other.wait("answer")).toMatchObject({ id: approval.id, accepted: true });
    expect(await again.wait("decided")).toMatchObject({ id: approval.id, outcome: { decision: "approved" } });
    again.socket.send(JSON.stringify({ type: "decide", id: approval.id, answer: { decision: "reject" } }));
    expect(await again.wait("answer")).toMatchObject({ accepted: false });
    expect((await running).body.stdout).toBe("ran\n");
    again.socket.send("{");
    expect(await again.wait("error")).toMatchObject({ code: "INVALID_ARGUMENT" });
    for (const { socket } of [again, other]) socket.close();
  });

  it("of edited code runs what was edited", async () => {
    const running = ask("echo before");
    const id = await pendingId();
    await server.call(one, "POST", `/v1/approvals/${id}/decide`, { decision: "edit", code: "echo after" });
    // Edited code is decided about again.
    const next = await pendingId();
    expect(next).not.toBe(id);
    await server.call(one, "POST", `/v1/approvals/${next}/decide`, { decision: "approve" });
    expect((await running).body).toMatchObject({ stdout: "after\n", confirmation: { edited: true } });
  });

  it("is hidden from other orgs: not listed, not told, not decided", async () => {
    const stranger = (await server.key("other", { approve: true })).secret;
    const watcher = await watch(stranger);
    const running = ask();
    const id = await pendingId();
    expect((await server.call(stranger, "GET", "/v1/approvals")).body).toEqual({ items: [] });
    const decided = await server.call(stranger, "POST", `/v1/approvals/${id}/decide`, {
      decision: "approve",
    });
    expect(decided).toMatchObject({ status: 404, body: { code: "NOT_FOUND" } });
    watcher.socket.send(JSON.stringify({ type: "decide", id, answer: { decision: "approve" } }));
    expect(await watcher.wait("error")).toMatchObject({ code: "NOT_FOUND" });
    expect(watcher.messages.filter(({ type }) => type === "requested")).toEqual([]);
    await server.call(one, "POST", `/v1/approvals/${id}/decide`, { decision: "reject", reason: "not now" });
    expect((await running).body).toMatchObject({ reason: "rejected", error: "not now" });
    watcher.socket.close();
  });

  it("goes when its caller hangs up", async () => {
    const caller = new AbortController();
    const running = server
      .fetch(agent, "POST", "/v1/sessions/s/execute", {
        body: JSON.stringify(DANGEROUS),
        headers: { "content-type": "application/json" },
        signal: caller.signal,
      })
      .catch(() => "hung up");
    const id = await pendingId();
    caller.abort();
    expect(await running).toBe("hung up");
    await waitUntil(async () => (await server.call(one, "GET", "/v1/approvals")).body.items.length === 0);
    const late = await server.call(one, "POST", `/v1/approvals/${id}/decide`, { decision: "approve" });
    expect(late).toMatchObject({ status: 409, body: { approval: { outcome: { decision: "cancelled" } } } });
  });

  it("takes a key that still may", async () => {
    const key = await server.key("default", { approve: true });
    const watcher = await watch(key.secret);
    await (await server.store()).apiKeys.revoke("default", key.id);
    const running = ask();
    const id = await pendingId();
    const closed = new Promise((resolve) => watcher.socket.once("close", resolve));
    watcher.socket.send(JSON.stringify({ type: "decide", id, answer: { decision: "approve" } }));
    expect(await closed).toBe(1008);
    await server.call(one, "POST", `/v1/approvals/${id}/decide`, { decision: "reject" });
    expect((await running).body.reason).toBe("rejected");
  });

  it("takes a key, a name and a page that may, also for the socket", async () => {
    const upgrade = (headers: Record<string, string>) =>
      new Promise((resolve) => {
        const socket = new WebSocket(`${server.url.replace("http", "ws")}/v1/approvals/stream`, { headers });
        socket.once("unexpected-response", (_, response) => resolve(response.statusCode));
        socket.once("open", () => resolve("open"));
        socket.once("error", () => undefined);
      });
    const authorization = `Bearer ${one}`;
    expect(await upgrade({})).toBe(401);
    expect(await upgrade({ authorization: `Bearer ${agent}` })).toBe(403);
    expect(await upgrade({ authorization, origin: "https://evil.example" })).toBe(403);
    expect(await upgrade({ authorization, host: "rebound.example" })).toBe(403);
    // A refused client does not keep the server from stopping.
    await server.stop();
  });
});

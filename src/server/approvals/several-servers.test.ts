import { afterEach, beforeEach, expect, it } from "vitest";
import { WebSocket } from "ws";
import { requires } from "../../../test/setup/requires.js";
import { createDatabase } from "../../../test/setup/test-databases.js";
import { TestServer } from "../../../test/setup/test-server.js";
import { waitUntil } from "../../kit/wait-until.js";

const POLICY = "policies:\n  tools:\n    shell_exec: { risk_level: high, requires_confirmation: true }\n";

let a: TestServer;
let b: TestServer;
let agent: string;
let decider: string;
const sockets: WebSocket[] = [];

beforeEach(async () => {
  const { url: store } = await createDatabase();
  const options = { policy: POLICY, server: { store } };
  a = await TestServer.open(options);
  b = await TestServer.open(options);
  agent = (await a.key()).secret;
  decider = (await a.key("default", { readOnly: true, approve: true })).secret;
});

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.terminate();
});

// biome-ignore lint/suspicious/noExplicitAny: whatever the server says
type Message = any;

/** What a watcher of a server is told, in short. */
async function watch(server: TestServer): Promise<{ socket: WebSocket; told: string[] }> {
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/v1/approvals/stream`, {
    headers: { authorization: `Bearer ${decider}` },
  });
  sockets.push(socket);
  const told: string[] = [];
  socket.on("message", (data) => {
    const { type, id, approvals, approval, outcome }: Message = JSON.parse(String(data));
    if (type === "pending") told.push(`pending ${approvals.map((each: Message) => each.request.code)}`);
    else if (type === "requested")
      told.push(`requested ${approval.request.code} ${approval.outcome ?? ""}`.trim());
    else told.push(`${type} ${outcome?.decision ?? id}`);
  });
  await waitUntil(() => told.length > 0);
  return { socket, told };
}

const ask = (server: TestServer, session: string, command: string) =>
  server.call(agent, "POST", `/v1/sessions/${session}/execute`, { command });

async function pendingId(server: TestServer): Promise<string> {
  let items: { id: string }[] = [];
  await waitUntil(async () => {
    items = (await server.call(decider, "GET", "/v1/approvals")).body.items;
    return items.length === 1;
  });
  return items[0]!.id;
}

const decide = (server: TestServer, id: string, decision: string) =>
  server.call(decider, "POST", `/v1/approvals/${id}/decide`, { decision });

requires("bubblewrap", "postgresql").describe("approvals of several servers", () => {
  it("are seen, decided and told everywhere, once, and the server that waits goes on", async () => {
    const watchers = [await watch(a), await watch(b)];
    const first = ask(a, "s", "echo one");
    const id = await pendingId(b);
    await waitUntil(() => watchers.every(({ told }) => told.includes("requested echo one")));
    // Who comes now has it in the list, and not again.
    watchers.push(await watch(b));
    expect((await decide(b, id, "approve")).status).toBe(200);
    expect((await first).body).toMatchObject({ success: true, stdout: "one\n" });
    await waitUntil(() => watchers.every(({ told }) => told.includes("decided approved")));
    expect((await decide(a, id, "reject")).status).toBe(409);

    const second = ask(b, "t", "echo two");
    expect((await decide(a, await pendingId(a), "reject")).status).toBe(200);
    expect((await second).body.reason).toBe("rejected");
    await waitUntil(() => watchers.every(({ told }) => told.includes("decided rejected")));
    const rest = ["decided approved", "requested echo two", "decided rejected"];
    expect(watchers.map(({ told }) => told)).toEqual([
      ["pending ", "requested echo one", ...rest],
      ["pending ", "requested echo one", ...rest],
      ["pending echo one", ...rest],
    ]);
  });

  it("that were asked and decided between two looks are told all the same", async () => {
    const { told } = await watch(b);
    // The first look has been: what comes now is news.
    const first = ask(a, "s", "echo first");
    const firstId = await pendingId(a);
    await waitUntil(() => told.includes("requested echo first"));
    const store = await a.store();
    const record = (await store.approvals.get("default", firstId))!;
    const { id } = await store.approvals.add("default", {
      id: "short",
      server: record.server,
      request: { code: "echo short" },
      expiresAt: Date.now() + 60_000,
    });
    await store.approvals.decide("default", id, { decision: "approved", by: "ann" });
    await waitUntil(() => told.includes("decided approved"));
    await decide(a, firstId, "reject");
    await first;
    await waitUntil(() => told.includes("decided rejected"));
    expect(told).toEqual([
      "pending ",
      "requested echo first",
      "requested echo short",
      "decided approved",
      "decided rejected",
    ]);
  });
});

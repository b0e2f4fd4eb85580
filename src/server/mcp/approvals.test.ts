import type { ElicitResult } from "@modelcontextprotocol/sdk/types.js";
import { beforeAll, beforeEach, expect, it } from "vitest";
import { type Person, printedIn, textOf } from "../../../test/e2e/mcp-client.js";
import { connectMcp, type McpConnectOptions } from "../../../test/setup/mcp-http.js";
import { requires } from "../../../test/setup/requires.js";
import { TestServer } from "../../../test/setup/test-server.js";
import { waitUntil } from "../../kit/wait-until.js";

const LONG_MS = 60_000;
const POLICY = `
policies:
  tools:
    shell_exec: { risk_level: high, requires_confirmation: true }
    file_list: {}
`;
const APPROVE: ElicitResult = { action: "accept", content: { decision: "approve once" } };

let server: TestServer;
/** An agent's key; one that may decide as well; one of another approver. */
let agent: string;
let decider: { id: string; secret: string };
let approver: { id: string; secret: string };

beforeAll(async () => {
  server = await TestServer.open({ policy: POLICY });
  agent = (await server.key()).secret;
  decider = await server.key("default", { approve: true });
  approver = await server.key("default", { readOnly: true, approve: true });
});

let asked: string[];
let takenBack: number;
beforeEach(() => {
  asked = [];
  takenBack = 0;
});

/** A client whose person answers so. */
function connect(
  answer: () => ElicitResult | Promise<ElicitResult>,
  options: McpConnectOptions = {},
  key = decider.secret,
) {
  const person: Person = ({ message }, signal) => {
    asked.push(message);
    signal.addEventListener("abort", () => takenBack++);
    return answer();
  };
  return connectMcp(server.url, key, { person, ...options });
}

const never = () => new Promise<ElicitResult>(() => {});

async function pendingId(): Promise<string> {
  let ids: string[] = [];
  await waitUntil(async () => {
    const { items } = (await server.call(approver.secret, "GET", "/v1/approvals")).body;
    ids = items.map(({ id }: { id: string }) => id);
    return ids.length === 1;
  }, LONG_MS);
  return ids[0]!;
}

const decide = (id: string, answer: object) =>
  server.call(approver.secret, "POST", `/v1/approvals/${id}/decide`, answer);
const outcomeOf = async (id: string) => (await (await server.store()).approvals.get("default", id))?.outcome;

requires("bubblewrap").describe("an approval over MCP", () => {
  it("is never asked of a client whose key may not decide; others do", async () => {
    const { call } = await connect(() => APPROVE, {}, agent);
    const running = call("shell_exec", { command: "echo ran" });
    const id = await pendingId();
    await decide(id, { decision: "approve" });
    expect(printedIn(await running)).toBe("ran");
    expect(asked).toEqual([]);
    const rejected = call("shell_exec", { command: "echo again" });
    await decide(await pendingId(), { decision: "reject", reason: "not now" });
    expect(textOf(await rejected)).toBe("Rejected: not now");
    expect(asked).toEqual([]);
  });

  it("is asked of the person at the client, with the code, and waits for the other approvers; who decided is recorded", async () => {
    let answer = (_: ElicitResult) => {};
    const { call } = await connect(
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
      { session: "asked" },
    );
    const running = call("shell_exec", { command: "echo ran" });
    const id = await pendingId();
    await waitUntil(() => asked.length === 1, LONG_MS);
    expect(asked[0]).toContain("1 │ echo ran");
    answer(APPROVE);
    expect(printedIn(await running)).toBe("ran");
    const by = `key:${decider.id} (mcp: test-client)`;
    expect(await outcomeOf(id)).toMatchObject({ decision: "approved", by, answer: { scope: "once" } });
    expect(await decide(id, { decision: "reject" })).toMatchObject({
      status: 409,
      body: { accepted: false, approval: { outcome: { decision: "approved", by } } },
    });
    const { items } = (await server.call(approver.secret, "GET", "/v1/audit?sessionId=asked")).body;
    expect(items[0]).toMatchObject({ confirmation: "approved", decided_by: by, result: "success" });
  });

  it("is taken back from the client when another approver was first, and nothing the client says counts then", async () => {
    let answer = (_: ElicitResult) => {};
    const { call } = await connect(
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    );
    const running = call("shell_exec", { command: "echo ran" });
    const id = await pendingId();
    await waitUntil(() => asked.length === 1, LONG_MS);
    await decide(id, { decision: "reject", reason: "the approver says no" });
    expect(textOf(await running)).toBe("Rejected: the approver says no");
    await waitUntil(() => takenBack === 1, LONG_MS);
    answer(APPROVE);
    expect(printedIn(await call("file_list"))).toBe("");
    expect(await outcomeOf(id)).toMatchObject({ decision: "rejected", by: `key:${approver.id}` });
  });

  it("has one decision when the client and another approver decide at once, and that is what happens", async () => {
    let answer = (_: ElicitResult) => {};
    const { call } = await connect(
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    );
    for (let round = 0; round < 8; round++) {
      const running = call("shell_exec", { command: `echo ${round}` });
      const id = await pendingId();
      await waitUntil(() => asked.length === round + 1, LONG_MS);
      // The first that is recorded.
      if (round % 2 === 0) answer(APPROVE);
      const rejecting = decide(id, { decision: "reject", reason: "approver" });
      answer(APPROVE);
      const [result, rejected] = await Promise.all([running, rejecting]);
      const outcome = await outcomeOf(id);
      const isApproved = outcome?.decision === "approved";
      expect(rejected).toMatchObject({
        status: isApproved ? 409 : 200,
        body: { accepted: !isApproved, approval: { outcome: { decision: outcome?.decision } } },
      });
      expect(textOf(result)).toMatch(isApproved ? new RegExp(`^${round}$`, "m") : /^Rejected: approver$/);
    }
  });

  it.each<[string, ElicitResult, string | undefined]>([
    ["declines", { action: "decline" }, "Rejected: The person declined"],
    ["rejects", { action: "accept", content: { decision: "reject", reason: "no" } }, "Rejected: no"],
    ["closes the question", { action: "cancel" }, undefined],
    ["answers nonsense", { action: "accept", content: { decision: "sure" } }, undefined],
  ])("whose person %s is rejected, or left to the other approvers", async (_, result, text) => {
    const { call } = await connect(() => result);
    const running = call("shell_exec", { command: "echo ran" });
    if (text === undefined) {
      const id = await pendingId();
      await waitUntil(() => asked.length === 1, LONG_MS);
      // Comes after the answer.
      await call("file_list");
      expect(await outcomeOf(id)).toBeUndefined();
      await decide(id, { decision: "approve" });
      expect(printedIn(await running)).toBe("ran");
    } else {
      expect(textOf(await running)).toBe(text);
    }
  });

  it("is asked where the call's answer comes, also of a client that listens to nothing else", async () => {
    const { call } = await connect(() => APPROVE, {
      transport: {
        fetch: (url, init) =>
          init?.method === "GET" ? Promise.resolve(new Response(null, { status: 405 })) : fetch(url, init),
      },
    });
    expect(printedIn(await call("shell_exec", { command: "echo ran" }))).toBe("ran");
    expect(asked).toHaveLength(1);
  });

  it("of one client is not another's to answer, in the same session with the same key", async () => {
    const [mine, theirs] = [
      await connect(never, { session: "both", name: "mine" }),
      await connectMcp(server.url, decider.secret, {
        session: "both",
        person: () => {
          throw new Error("was asked");
        },
      }),
    ];
    const running = mine.call("shell_exec", { command: "echo ran" });
    const id = await pendingId();
    await waitUntil(() => asked.length === 1, LONG_MS);
    expect(printedIn(await theirs.call("file_list"))).toBe("");
    await decide(id, { decision: "approve" });
    expect(printedIn(await running)).toBe("ran");
    // And a call by plain HTTP asks no client.
    const plain = server.call(agent, "POST", "/v1/sessions/both/execute", { command: "echo plain" });
    await decide(await pendingId(), { decision: "approve" });
    expect((await plain).body).toMatchObject({
      stdout: "plain\n",
      confirmation: { by: `key:${approver.id}` },
    });
    expect(asked).toHaveLength(1);
    expect(theirs.errors).toEqual([]);
  });

  it("is not given by a key that was revoked while its person was asked", async () => {
    const late = await server.key("default", { approve: true });
    const { call } = await connect(
      async () => {
        await (await server.store()).apiKeys.revoke("default", late.id);
        return APPROVE;
      },
      {},
      late.secret,
    );
    const running = call("shell_exec", { command: "echo ran" });
    running.catch(() => undefined);
    const id = await pendingId();
    await waitUntil(async () => (await outcomeOf(id)) !== undefined, LONG_MS);
    expect(await outcomeOf(id)).toMatchObject({ decision: "cancelled" });
    expect(asked).toHaveLength(1);
  });
});

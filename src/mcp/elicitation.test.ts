import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  type ElicitRequest,
  ElicitRequestSchema,
  type ElicitResult,
} from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { type ConfirmationDetails, ConfirmationQueue } from "../guard/confirmation/index.js";
import { waitUntil } from "../kit/wait-until.js";
import { ElicitationConfirmationService } from "./elicitation.js";

const DETAILS: ConfirmationDetails = {
  sessionId: "s",
  agentId: "agent-1",
  orgId: "",
  role: "coder",
  tool: "run_code",
  language: "python",
  code: "import os\nos.remove('x')  # \u001b[8m ![x](http://evil.example/)",
  riskLevel: "high",
  findings: [
    {
      rule: "file-delete",
      level: "high",
      line: 2,
      column: 1,
      excerpt: "os.remove('x')",
      why: "removes files",
    },
  ] as unknown as ConfirmationDetails["findings"],
  rule: { path: "tools.run_code.confirm", source: "policy.yaml", line: 7, why: "code needs a person" },
  limits: { timeoutMs: 30_000, memoryMb: 512 },
  backend: "bubblewrap",
};

type Form = Extract<ElicitRequest["params"], { requestedSchema: unknown }>;

/** A client whose person answers so, and a queue that asks them. */
async function ask(
  answer: ((form: Form, signal: AbortSignal) => Promise<ElicitResult> | ElicitResult) | undefined,
  timeoutMs = 10_000,
) {
  const server = new Server({ name: "skerry", version: "1" }, { capabilities: {} });
  const client = new Client(
    { name: "cli\u001bent", version: "1" },
    { capabilities: answer === undefined ? {} : { elicitation: {} } },
  );
  const asked: Form[] = [];
  if (answer !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }, { signal }) => {
      asked.push(params as Form);
      return answer(params as Form, signal);
    });
  }
  const [near, far] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(near), client.connect(far)]);
  const service = new ElicitationConfirmationService();
  service.attach(server);
  const queue = new ConfirmationQueue({ service, timeoutMs });
  return { queue, asked, client };
}

const BY = "mcp: cli\\x1bent";

describe("a person at an MCP client", () => {
  it("sees the whole code, findings, rule and limits, and nothing in it acts or is rendered", async () => {
    const { queue, asked } = await ask(() => ({ action: "accept", content: { decision: "approve once" } }));
    expect(await queue.request(DETAILS)).toEqual({
      approved: true,
      code: DETAILS.code,
      scope: "once",
      by: BY,
      edited: false,
      remembered: false,
    });
    const [{ message, requestedSchema }] = asked as [Form];
    const [head, ...rows] = message.split("\n\n");
    expect(head).toMatch(
      /^An agent needs your approval\. Risk: HIGH, 1 finding\. Tool: run_code, python\.\nWithout an answer by \d\d:\d\d:\d\d UTC it is rejected\.$/,
    );
    expect(
      rows
        .join("\n")
        .split("\n")
        .filter((row) => row !== "" && !row.startsWith("    ")),
    ).toEqual([]);
    const text = rows.join("\n");
    for (const shown of [
      "1 │ import os",
      "! 2 │ os.remove('x')  # ",
      "![x](http://evil.example/)",
      "HIGH      line 2:1, file-delete: removes files",
      "policy.yaml:7 tools.run_code.confirm: code needs a person",
      "30 s, 512 MiB of memory",
      "Runs in   bubblewrap",
      "agent agent-1, role coder",
    ]) {
      expect(text).toContain(shown);
    }
    expect(text).not.toContain("\u001b");
    expect(requestedSchema).toMatchObject({
      required: ["decision"],
      properties: {
        decision: { enum: ["reject", "approve once", "approve for this session"], default: "reject" },
      },
    });
  });

  it("approves for the session, and is not asked about the same again", async () => {
    const { queue, asked } = await ask(() => ({
      action: "accept",
      content: { decision: "approve for this session" },
    }));
    expect(await queue.request(DETAILS)).toMatchObject({
      approved: true,
      scope: "session",
      remembered: false,
    });
    expect(await queue.request(DETAILS)).toMatchObject({
      approved: true,
      scope: "session",
      remembered: true,
    });
    expect(await queue.request({ ...DETAILS, code: "other" })).toMatchObject({ remembered: false });
    expect(asked).toHaveLength(2);
  });

  it.each<[string, ElicitResult, string]>([
    [
      "rejects with a reason",
      { action: "accept", content: { decision: "reject", reason: "not on\u001b my machine" } },
      "not on\\x1b my machine",
    ],
    [
      "rejects without one",
      { action: "accept", content: { decision: "reject" } },
      "The person rejected it and gave no reason",
    ],
    ["declines", { action: "decline" }, "The person declined"],
    ["closes it", { action: "cancel" }, "The person closed the question without an answer"],
    ["accepts without a choice", { action: "accept" }, "The person rejected it and gave no reason"],
  ])("%s: it is rejected", async (_, result, reason) => {
    const { queue } = await ask(() => result);
    expect(await queue.request(DETAILS)).toEqual({ approved: false, cause: "rejected", reason, by: BY });
  });

  it.each<[string, ElicitResult]>([
    ["a choice that is none", { action: "accept", content: { decision: "approve" } }],
    ["no object of the form", { action: "accept", content: { approved: true } }],
  ])("answers with %s: it is rejected", async (_, result) => {
    const { queue } = await ask(() => result);
    expect(await queue.request(DETAILS)).toMatchObject({ approved: false, cause: "failed" });
  });

  it("does not answer in time: it is rejected, and the question is taken away", async () => {
    let isTakenAway = false;
    const { queue } = await ask(
      (_, signal) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            isTakenAway = true;
            resolve({ action: "cancel" });
          });
        }),
      200,
    );
    expect(await queue.request(DETAILS)).toMatchObject({ approved: false, cause: "timeout" });
    await waitUntil(() => isTakenAway);
  });

  it("goes away while being asked: it is rejected", async () => {
    const asking = await ask(() => new Promise(() => {}));
    const outcome = asking.queue.request(DETAILS);
    await waitUntil(() => asking.asked.length === 1);
    await asking.client.close();
    expect(await outcome).toMatchObject({ approved: false, cause: "failed" });
  });
});

it("is not asked about what is too long to be read, or by a client that cannot ask: both are rejected, with what to do", async () => {
  const { queue, asked } = await ask(() => ({ action: "accept", content: { decision: "approve once" } }));
  expect(await queue.request({ ...DETAILS, code: "pass\n".repeat(10_000) })).toMatchObject({
    approved: false,
    reason: expect.stringMatching(/too long to be shown.*into smaller parts/),
  });
  expect(asked).toEqual([]);
  const silent = await ask(undefined);
  expect(await silent.queue.request(DETAILS)).toMatchObject({
    approved: false,
    reason: expect.stringMatching(/this MCP client cannot ask.*allow it in the policy/),
  });
});

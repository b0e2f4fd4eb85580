import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { SandboxManager } from "../core/manager/index.js";
import { createTools, defineTool } from "../core/tools/index.js";
import { waitUntil } from "../kit/wait-until.js";
import { createMcpServer, type McpConnection } from "./create-mcp-server.js";
import { askByElicitation } from "./elicitation.js";

const ANNOTATIONS = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: false,
};

/** A tool that asks its caller, reports progress, and waits to be cancelled if asked to. */
function asking(connection: () => McpConnection, cancelled: string[]) {
  return defineTool({
    name: "ask",
    title: "Ask",
    description: "Asks.",
    input: z.strictObject({ waits: z.boolean().optional() }),
    annotations: ANNOTATIONS,
    run: async ({ waits }, { caller, signal, onOutput }) => {
      onOutput?.("stdout", `for ${caller.sessionId}`);
      if (waits) {
        await new Promise((resolve) => signal!.addEventListener("abort", resolve));
        cancelled.push(caller.sessionId);
      }
      const now = new Date();
      const request = {
        ...{
          id: "1",
          createdAt: now,
          expiresAt: new Date(now.getTime() + 60_000),
          riskLevel: "high" as const,
        },
        ...{ sessionId: caller.sessionId, agentId: "", orgId: "", role: "", tool: "ask", code: "x" },
        ...{ findings: [], limits: {} },
      };
      const answer = await askByElicitation(connection().server, request, { signal: signal! });
      const text = `${caller.sessionId}: ${answer.decision}`;
      return { status: "success", summary: text, text, data: {} };
    },
  });
}

it("serves clients over streamable HTTP, each with tools, questions and cancelling of its own", async () => {
  const manager = new SandboxManager({ handleSignals: false });
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const cancelled: string[] = [];
  const standing: ServerResponse[] = [];
  const http = createServer(async (request, response) => {
    const known = transports.get(String(request.headers["mcp-session-id"]));
    if (known !== undefined) {
      if (request.method === "GET") standing.push(response);
      return known.handleRequest(request, response);
    }
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void transports.set(id, transport),
    });
    const sessionId = String(request.headers["x-session"]);
    const more = [asking(() => connection, cancelled)];
    const tools = createTools(manager, { sessionId, only: ["ask"], more });
    const connection = createMcpServer({ tools, version: "1" });
    await connection.connect(transport as Transport);
    await transport.handleRequest(request, response);
  }).listen(0, "127.0.0.1");
  await once(http, "listening");
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });

  const connect = async (session: string, decision: string) => {
    const client = new Client({ name: session, version: "1" }, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { decision } }));
    const url = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
    const requestInit = { headers: { "x-session": session } };
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit }) as Transport);
    onTestFinished(() => client.close());
    return client;
  };
  const [one, two] = await Promise.all([connect("one", "approve once"), connect("two", "reject")]);
  // Questions go to a client's standing stream, which it opens by itself.
  await waitUntil(() => standing.filter(({ headersSent }) => headersSent).length === 2);
  const told: unknown[] = [];
  const [first, second] = await Promise.all([
    one.callTool({ name: "ask" }, undefined, { onprogress: ({ message }) => void told.push(message) }),
    two.callTool({ name: "ask" }),
  ]);
  expect([first["content"], second["content"]]).toEqual([
    [{ type: "text", text: "one: approve" }],
    [{ type: "text", text: "two: reject" }],
  ]);

  const controller = new AbortController();
  const waiting = two.callTool({ name: "ask", arguments: { waits: true } }, undefined, {
    signal: controller.signal,
    onprogress: ({ message }) => void told.push(message),
  });
  waiting.catch(() => undefined);
  await waitUntil(() => told.includes("for two"));
  controller.abort();
  await waitUntil(() => cancelled.length === 1);
  expect(cancelled).toEqual(["two"]);
});

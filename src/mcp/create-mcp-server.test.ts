import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { expect, it } from "vitest";
import { z } from "zod";
import { SandboxManager } from "../core/manager/index.js";
import { createTools, defineTool, type Tool, type ToolReply } from "../core/tools/index.js";
import { waitUntil } from "../kit/wait-until.js";
import { createMcpServer } from "./create-mcp-server.js";

const ANNOTATIONS = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};
const DONE: ToolReply = { status: "success", summary: "done", text: "done", data: {} };

/** A tool that takes no sandbox, so that what is seen is the protocol's doing. */
function toolOf(name: string, run: Tool["run"]): Tool {
  return defineTool({
    name,
    title: name,
    description: name,
    input: z.strictObject({ text: z.string().optional() }),
    annotations: ANNOTATIONS,
    run,
  });
}

/** The far end of a connection to a server with these tools. */
async function serve(...more: Tool[]) {
  const manager = new SandboxManager({ handleSignals: false });
  const tools = createTools(manager, { sessionId: "unit", only: more.map(({ name }) => name), more });
  const errors: string[] = [];
  const onError = (error: Error) => void errors.push(error.message);
  const connection = createMcpServer({ tools, facts: ["No network."], version: "1.2.3", onError });
  const [near, far] = InMemoryTransport.createLinkedPair();
  await connection.connect(near);
  return { connection, far, errors };
}

/** The same as a client of the SDK sees it. */
async function connect(...more: Tool[]) {
  const { connection, far } = await serve(...more);
  const client = new Client({ name: "unit", version: "1" });
  await client.connect(far);
  return { connection, client };
}

it("says what it is, and offers no resources where there are no files", async () => {
  const { client } = await connect(toolOf("one", async () => DONE));
  expect(client.getServerVersion()).toEqual({ name: "skerry", title: "Skerry sandbox", version: "1.2.3" });
  expect(client.getServerCapabilities()).toEqual({ tools: {} });
  expect(client.getInstructions()).toMatch(/`context`.*\nNo network\.\n[\s\S]*are data/);
  expect((await client.listTools()).tools).toEqual([
    {
      name: "one",
      title: "one",
      description: "one",
      annotations: ANNOTATIONS,
      inputSchema: expect.objectContaining({ type: "object", additionalProperties: false }),
    },
  ]);
});

it("answers whatever is wrong with a request by an error of the protocol", async () => {
  const { far, errors } = await serve(
    toolOf("one", async () => DONE),
    toolOf("breaks", async () => {
      throw new RangeError("at /root/secret.ts");
    }),
  );
  const answers = new Map<unknown, unknown>();
  far.onmessage = (message: JSONRPCMessage) => {
    if ("error" in message) answers.set(message.id, message.error);
    else if ("result" in message) answers.set(message.id, message.result);
  };
  await far.start();
  let id = 0;
  const ask = async (method: string, params?: unknown) => {
    const own = ++id;
    await far.send({
      jsonrpc: "2.0",
      id: own,
      method,
      ...(params !== undefined && { params }),
    } as JSONRPCMessage);
    await waitUntil(() => answers.has(own));
    return answers.get(own);
  };
  const early = { code: -32600, message: "initialize must be the first request" };
  expect(await ask("tools/list")).toEqual(early);
  expect(await ask("tools/call", { name: "one" })).toEqual(early);
  expect(await ask("ping")).toEqual({});
  await ask("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "raw", version: "1" },
  });
  expect(await ask("tools/call", { name: "two" })).toEqual({
    code: -32602,
    message: 'There is no tool "two"; there are one, breaks',
  });
  for (const params of [
    undefined,
    {},
    { name: 7 },
    { name: "one", arguments: [] },
    { name: "one", arguments: "x" },
  ]) {
    expect(await ask("tools/call", params)).toMatchObject({ code: -32602 });
  }
  expect(await ask("resources/list")).toMatchObject({ code: -32601 });
  expect(await ask("__proto__")).toMatchObject({ code: -32601 });
  expect(await ask("constructor")).toMatchObject({ code: -32601 });
  // What a model can put right it is told as a result.
  expect(await ask("tools/call", { name: "one", arguments: { txet: 1 } })).toMatchObject({
    isError: true,
    content: [
      { type: "text", text: expect.stringContaining('"txet" is not an argument (did you mean text?)') },
    ],
  });
  // Where it broke is for the log.
  expect(await ask("tools/call", { name: "breaks" })).toMatchObject({
    isError: true,
    content: [
      { type: "text", text: "INTERNAL: Something went wrong in Skerry itself; its standard error says what" },
    ],
  });
  expect(errors).toEqual(["at /root/secret.ts"]);
  expect(await ask("tools/call", { name: "one" })).toMatchObject({ isError: false });
});

it("refuses the 65th request at once, and takes one when another has ended", async () => {
  const waiting: (() => void)[] = [];
  const { client } = await connect(
    toolOf("waits", () => new Promise((resolve) => waiting.push(() => resolve(DONE)))),
  );
  const call = () => client.callTool({ name: "waits" });
  const calls = Array.from({ length: 64 }, call);
  await waitUntil(() => waiting.length === 64);
  await expect(call()).rejects.toMatchObject({
    code: -32000,
    data: { code: "SANDBOX_BUSY", retryable: true },
  });
  waiting.pop()!();
  await Promise.race(calls);
  const last = call();
  await waitUntil(() => waiting.length === 64);
  for (const end of waiting) end();
  await Promise.all([...calls, last]);
});

it("cancels every call of a client that goes, and is closed when the last of them has ended", async () => {
  const reasons: unknown[] = [];
  let end = () => {};
  const { client, connection } = await connect(
    toolOf("waits", (_, { signal }) => {
      return new Promise((resolve) => {
        signal!.addEventListener("abort", () => {
          reasons.push(signal!.reason);
          end = () => resolve(DONE);
        });
      });
    }),
  );
  const call = client.callTool({ name: "waits" });
  call.catch(() => undefined);
  await client.listTools();
  let isClosed = false;
  const closed = connection.closed.then(() => {
    isClosed = true;
  });
  await client.close();
  await waitUntil(() => reasons.length === 1);
  expect(reasons).toEqual([expect.objectContaining({ code: "CANCELLED" })]);
  await new Promise(setImmediate);
  expect(isClosed).toBe(false);
  end();
  await closed;
});

it("tells of progress only where the client wants it", async () => {
  const seen: boolean[] = [];
  const { client } = await connect(
    toolOf("prints", async (_, { onOutput }) => {
      seen.push(onOutput !== undefined);
      onOutput?.("stdout", "half\u0007 way\n");
      if (onOutput !== undefined) await waitUntil(() => told.length > 0);
      return DONE;
    }),
  );
  const told: unknown[] = [];
  await client.callTool({ name: "prints" });
  await client.callTool({ name: "prints" }, undefined, {
    onprogress: (progress) => void told.push(progress),
  });
  expect(seen).toEqual([false, true]);
  expect(told).toEqual([{ progress: expect.any(Number), message: "half\\x07 way" }]);
});

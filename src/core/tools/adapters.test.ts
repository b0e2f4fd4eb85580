import { expect, it } from "vitest";
import { z } from "zod";
import { SandboxManager } from "../manager/index.js";
import {
  toAnthropicResult,
  toAnthropicTools,
  toMcpResult,
  toMcpTools,
  toOpenAiTools,
  toVercelTools,
} from "./adapters.js";
import { createTools } from "./create-tools.js";
import type { ToolReply } from "./replies/tool-reply.js";
import { defineTool, READS } from "./tool.js";

const say = defineTool({
  name: "say",
  title: "Say",
  description: "Says a word.",
  input: z.strictObject({ word: z.string().describe("The word.") }),
  annotations: READS,
  run: async ({ word }, { signal }) => ({
    status: "success",
    summary: "said",
    data: { word, cancelled: signal?.aborted ?? false },
    text: `said ${word}`,
  }),
});
const tools = createTools(new SandboxManager({ handleSignals: false }), {
  sessionId: "s",
  more: [say],
  only: ["say"],
});

const schema = {
  $schema: "http://json-schema.org/draft-07/schema#",
  type: "object",
  properties: { word: { type: "string", description: "The word." } },
  required: ["word"],
  additionalProperties: false,
};
const reply: ToolReply = {
  status: "error",
  summary: "It failed",
  data: { exitCode: 1 },
  text: "Exit code: 1",
  images: [{ mimeType: "image/png", data: "AAAA" }],
};

it("gives OpenAI's API its tools", () => {
  expect(toOpenAiTools(tools)).toEqual([
    { type: "function", function: { name: "say", description: "Says a word.", parameters: schema } },
  ]);
});

it("gives Anthropic's API its tools and the answer to a call", () => {
  expect(toAnthropicTools(tools)).toEqual([
    { name: "say", description: "Says a word.", input_schema: schema },
  ]);
  expect(toAnthropicResult(reply, "id-1")).toEqual({
    type: "tool_result",
    tool_use_id: "id-1",
    is_error: true,
    content: [
      { type: "text", text: "Exit code: 1" },
      { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
    ],
  });
});

it("gives MCP its tools and the answer to a call", () => {
  expect(toMcpTools(tools)).toEqual([
    { name: "say", title: "Say", description: "Says a word.", inputSchema: schema, annotations: READS },
  ]);
  expect(toMcpResult(reply)).toEqual({
    isError: true,
    content: [
      { type: "text", text: "Exit code: 1" },
      { type: "image", data: "AAAA", mimeType: "image/png" },
    ],
    structuredContent: { status: "error", summary: "It failed", data: { exitCode: 1 } },
  });
});

it("gives the Vercel AI SDK tools that run", async () => {
  const { say: tool } = toVercelTools(tools);
  expect(tool!.inputSchema.parse({ word: "x" })).toEqual({ word: "x" });
  expect(await tool!.execute({ word: "hello" })).toBe("said hello");
  expect(await tool!.execute({ word: 1 })).toContain('say: "word": Invalid input');
});

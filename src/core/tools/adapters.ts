import type { z } from "zod";
import type { ToolDescription, ToolSet } from "./create-tools.js";
import { boundData } from "./replies/bounded-data.js";
import type { ToolReply } from "./replies/tool-reply.js";
import type { ToolAnnotations } from "./tool.js";

export type JsonSchema = Readonly<Record<string, unknown>>;

/** As OpenAI's chat completions take tools; the answer to a call is a message with `reply.text` as its content. */
export interface OpenAiTool {
  readonly type: "function";
  readonly function: { readonly name: string; readonly description: string; readonly parameters: JsonSchema };
}

export function toOpenAiTools(tools: ToolSet): OpenAiTool[] {
  return tools.list().map(({ name, description, inputSchema }) => ({
    type: "function",
    function: { name, description, parameters: inputSchema },
  }));
}

/** As Anthropic's messages take tools. */
export interface AnthropicTool {
  readonly name: string;
  readonly description: string;
  readonly input_schema: JsonSchema;
}

export function toAnthropicTools(tools: ToolSet): AnthropicTool[] {
  return tools
    .list()
    .map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema }));
}

/** The block that answers a `tool_use`. */
export interface AnthropicToolResult {
  readonly type: "tool_result";
  readonly tool_use_id: string;
  readonly is_error: boolean;
  readonly content: readonly (
    | { readonly type: "text"; readonly text: string }
    | {
        readonly type: "image";
        readonly source: { readonly type: "base64"; readonly media_type: string; readonly data: string };
      }
  )[];
}

export function toAnthropicResult(
  { status, text, images = [] }: ToolReply,
  toolUseId: string,
): AnthropicToolResult {
  return {
    type: "tool_result",
    tool_use_id: toolUseId,
    is_error: status !== "success",
    content: [
      { type: "text", text },
      ...images.map(({ mimeType, data }) => ({
        type: "image" as const,
        source: { type: "base64" as const, media_type: mimeType, data },
      })),
    ],
  };
}

/** As the Vercel AI SDK takes tools: `generateText({ tools: toVercelTools(tools), … })`. */
export interface VercelTool {
  readonly description: string;
  readonly inputSchema: z.ZodType;
  readonly execute: (args: unknown, options?: { readonly abortSignal?: AbortSignal }) => Promise<string>;
}

export function toVercelTools(tools: ToolSet): Record<string, VercelTool> {
  const entries = tools.tools.map(({ name, description, input }): [string, VercelTool] => [
    name,
    {
      description,
      inputSchema: input,
      execute: async (args, { abortSignal } = {}) =>
        (await tools.call(name, args, { signal: abortSignal })).text,
    },
  ]);
  return Object.fromEntries(entries);
}

/** As MCP lists tools. */
export interface McpTool extends Pick<ToolDescription, "name" | "title" | "description"> {
  readonly inputSchema: JsonSchema;
  readonly annotations: ToolAnnotations;
}

export function toMcpTools(tools: Pick<ToolSet, "list">): McpTool[] {
  return tools.list();
}

/** As MCP answers a call. */
export interface McpToolResult {
  readonly isError: boolean;
  readonly content: readonly (
    | { readonly type: "text"; readonly text: string }
    | { readonly type: "image"; readonly data: string; readonly mimeType: string }
  )[];
  readonly structuredContent: Pick<ToolReply, "status" | "summary" | "data"> & {
    readonly dataTruncated?: boolean;
  };
}

/** The structured part is for programs, not marked, and holds 20,000 characters at most; `dataTruncated`: there was more. */
export function toMcpResult({ status, summary, text, images = [], ...reply }: ToolReply): McpToolResult {
  const { data, isCut } = boundData(reply.data);
  return {
    isError: status !== "success",
    content: [{ type: "text", text }, ...images.map((image) => ({ type: "image" as const, ...image }))],
    structuredContent: { status, summary, data, ...(isCut && { dataTruncated: true }) },
  };
}

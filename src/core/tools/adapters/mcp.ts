import type { ToolDescription, ToolSet } from "../create-tools.js";
import type { JsonSchema } from "../model-schema.js";
import { boundData } from "../replies/bounded-data.js";
import type { ReplyImage, ToolReply } from "../replies/tool-reply.js";
import type { ToolAnnotations } from "../tool.js";

/** As MCP lists tools. */
export interface McpTool<Name extends string = string>
  extends Pick<ToolDescription<Name>, "name" | "title" | "description"> {
  readonly inputSchema: JsonSchema;
  readonly annotations: ToolAnnotations;
}

export function toMcpTools<Name extends string>(tools: Pick<ToolSet<Name>, "list">): McpTool<Name>[] {
  return tools.list();
}

/** As MCP answers a call. */
export interface McpToolResult {
  readonly isError: boolean;
  readonly content: (
    | { readonly type: "text"; readonly text: string }
    | ({ readonly type: "image" } & ReplyImage)
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

import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { type McpToolResult, TOOL_STATUSES, type ToolReply, toMcpResult } from "../core/tools/index.js";

/** Tools that answer with facts of ours alone, nothing from inside the sandbox. */
const STRUCTURED = ["file_write", "file_edit", "file_delete"];

/**
 * The schema of a tool's structured content; undefined: it has none. Where there is structured content, clients show a model
 * that and nothing else: pictures would be lost, and with the text the marks that say what in it is data.
 */
export function outputSchemaOf(tool: string): StructuredSchema | undefined {
  return STRUCTURED.includes(tool) ? STRUCTURED_SCHEMA : undefined;
}

type StructuredSchema = typeof STRUCTURED_SCHEMA;

const STRUCTURED_SCHEMA = {
  type: "object" as const,
  properties: {
    status: { type: "string", enum: [...TOOL_STATUSES] },
    summary: { type: "string", description: "What was done, in one line." },
    path: { type: "string", description: "Relative to the workspace." },
  },
  required: ["status", "summary", "path"],
};

/** A reply as MCP answers a call. */
export function toCallResult(tool: string, reply: ToolReply): CallToolResult {
  const { status, summary, data } = reply;
  const { content, structuredContent } = toMcpResult(reply);
  return {
    content,
    isError: status !== "success",
    ...(status === "success" &&
      outputSchemaOf(tool) !== undefined && { structuredContent: { status, summary, path: data["path"] } }),
    _meta: {
      "skerry/outcome": { status, ...(data["outcome"] !== undefined && { outcome: data["outcome"] }) },
      // Only of what ran: programs find the JSON of its result here, and no client shows it to a model.
      ...("version" in data && { "skerry/result": resultOf(structuredContent) }),
    },
  };
}

/** What had to be cut of the JSON is output that was cut. */
function resultOf({ data, dataTruncated }: McpToolResult["structuredContent"]): object {
  return { ...data, ...(dataTruncated === true && { truncated: true }) };
}

import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import {
  type McpToolResult,
  type ReplyImage,
  TOOL_STATUSES,
  type ToolReply,
  toMcpResult,
} from "../core/tools/index.js";

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
  const { status, summary, data, images = [] } = reply;
  const checked = images.map(checkImage);
  const left = checked.filter((each) => typeof each === "string");
  const pictures = checked.filter((each) => typeof each !== "string");
  const { content, structuredContent } = toMcpResult({ ...reply, images: pictures });
  return {
    content: [...content, ...left.map((text) => ({ type: "text" as const, text }))] as Content[],
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

type Content = McpToolResult["content"][number];

const MAX_IMAGE_BYTES = 5 * 1024 * 1024;
const SIGNATURES: Readonly<Record<string, Buffer>> = {
  "image/png": Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
  "image/jpeg": Buffer.from([0xff, 0xd8, 0xff]),
};

/** The image, or why it is left out. A program can call anything a picture, and one that is none fails the whole answer. */
function checkImage({ mimeType, data }: ReplyImage): ReplyImage | string {
  const bytes = Buffer.from(data, "base64");
  if (bytes.length > MAX_IMAGE_BYTES) {
    return `A picture of ${bytes.length} bytes is left out: the maximum is ${MAX_IMAGE_BYTES}.`;
  }
  const signature = SIGNATURES[mimeType];
  if (signature === undefined || !bytes.subarray(0, signature.length).equals(signature)) {
    return `Something labelled as a picture (${mimeType}) is left out: it is not one.`;
  }
  // Encoded again: what came may have line breaks and more in it.
  return { mimeType, data: bytes.toString("base64") };
}

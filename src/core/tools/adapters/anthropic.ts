import type { ToolSet } from "../create-tools.js";
import type { JsonSchema } from "../model-schema.js";
import type { ImageType, ToolReply } from "../replies/tool-reply.js";

/** As Anthropic's messages take tools. */
export interface AnthropicTool<Name extends string = string> {
  readonly name: Name;
  readonly description: string;
  readonly input_schema: JsonSchema;
}

export function toAnthropicTools<Name extends string>(tools: ToolSet<Name>): AnthropicTool<Name>[] {
  return tools
    .list()
    .map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema }));
}

/** A picture in an `AnthropicToolResult`. */
export interface AnthropicImage {
  readonly type: "image";
  readonly source: { readonly type: "base64"; readonly media_type: ImageType; readonly data: string };
}

/** The block that answers a `tool_use`. */
export interface AnthropicToolResult {
  readonly type: "tool_result";
  readonly tool_use_id: string;
  readonly is_error: boolean;
  // The SDK takes no readonly list.
  readonly content: ({ readonly type: "text"; readonly text: string } | AnthropicImage)[];
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
      ...images.map(
        ({ mimeType, data }): AnthropicImage => ({
          type: "image",
          source: { type: "base64", media_type: mimeType, data },
        }),
      ),
    ],
  };
}

import type { ToolSet } from "../create-tools.js";
import type { JsonSchema } from "../model-schema.js";
import type { ImageType, ToolReply } from "../replies/tool-reply.js";

/** As Google's Gen AI SDK takes tools: one entry of `config.tools` with all functions. */
export interface GoogleTool<Name extends string = string> {
  readonly functionDeclarations: {
    readonly name: Name;
    readonly description: string;
    readonly parametersJsonSchema: JsonSchema;
  }[];
}

export function toGoogleTools<Name extends string>(tools: ToolSet<Name>): GoogleTool<Name>[] {
  return [
    {
      functionDeclarations: tools.list().map(({ name, description, inputSchema }) => ({
        name,
        description,
        parametersJsonSchema: inputSchema,
      })),
    },
  ];
}

/** What is needed of a `functionCall`; not every service gives it an id. */
export interface GoogleFunctionCall {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
}

/** The part that answers a `functionCall`. */
export interface GoogleToolResult {
  readonly functionResponse: {
    readonly id?: string;
    readonly name: string;
    readonly response: { readonly output: string } | { readonly error: string };
    readonly parts?: {
      readonly inlineData: { readonly mimeType: ImageType; readonly data: string };
    }[];
  };
}

/** Pictures are inside of the answer, as models from Gemini 3 on take them. */
export function toGoogleResult(
  { status, text, images = [] }: ToolReply,
  { id, name = "" }: GoogleFunctionCall,
): GoogleToolResult {
  return {
    functionResponse: {
      ...(id !== undefined && { id }),
      name,
      response: status === "success" ? { output: text } : { error: text },
      ...(images.length > 0 && {
        parts: images.map(({ mimeType, data }) => ({ inlineData: { mimeType, data } })),
      }),
    },
  };
}

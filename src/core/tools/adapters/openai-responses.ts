import type { ToolSet } from "../create-tools.js";
import { type JsonSchema, strictSchema } from "../model-schema.js";
import { imageUrl } from "../replies/reply-images.js";
import type { ToolReply } from "../replies/tool-reply.js";

/** As OpenAI's Responses API takes tools. */
export interface OpenAiResponsesTool<Name extends string = string> {
  readonly type: "function";
  readonly name: Name;
  readonly description: string;
  readonly parameters: JsonSchema;
  readonly strict: boolean;
}

/** `strict`: the API holds the model to the schemas. Not with tools of your own whose schemas have unions. */
export function toOpenAiResponsesTools<Name extends string>(
  tools: ToolSet<Name>,
  { strict = false }: { readonly strict?: boolean } = {},
): OpenAiResponsesTool<Name>[] {
  return tools.list().map(({ name, description, inputSchema }) => ({
    type: "function",
    name,
    description,
    parameters: strict ? strictSchema(inputSchema) : inputSchema,
    strict,
  }));
}

/** The item that answers a `function_call`. */
export interface OpenAiResponsesResult {
  readonly type: "function_call_output";
  readonly call_id: string;
  /** A text, where there are no pictures: servers that are not OpenAI's often take nothing else. */
  readonly output:
    | string
    | (
        | { readonly type: "input_text"; readonly text: string }
        | { readonly type: "input_image"; readonly image_url: string; readonly detail: "auto" }
      )[];
}

export function toOpenAiResponsesResult(
  { text, images = [] }: ToolReply,
  callId: string,
): OpenAiResponsesResult {
  return {
    type: "function_call_output",
    call_id: callId,
    output:
      images.length === 0
        ? text
        : [
            { type: "input_text", text },
            ...images.map((image) => ({
              type: "input_image" as const,
              image_url: imageUrl(image),
              detail: "auto" as const,
            })),
          ],
  };
}

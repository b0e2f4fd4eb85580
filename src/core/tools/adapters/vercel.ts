import type { z } from "zod";
import type { ToolSet } from "../create-tools.js";
import type { ImageType, ToolReply } from "../replies/tool-reply.js";

/** What a tool of the Vercel AI SDK resolves to. Without the data: an SDK that has lost the tool shows a model all of it. */
export type VercelToolOutput = Pick<ToolReply, "status" | "text" | "images">;

/** What a model is given of that. */
export type VercelModelOutput =
  | { readonly type: "text" | "error-text"; readonly value: string }
  | {
      readonly type: "content";
      readonly value: (
        | { readonly type: "text"; readonly text: string }
        | { readonly type: "image-data"; readonly mediaType: ImageType; readonly data: string }
      )[];
    };

/** As the Vercel AI SDK takes tools: `generateText({ tools: toVercelTools(tools), … })`. */
export interface VercelTool {
  readonly title: string;
  readonly description: string;
  readonly inputSchema: z.ZodObject;
  readonly execute: (
    input: unknown,
    options?: { readonly abortSignal?: AbortSignal | undefined; readonly toolCallId?: string },
  ) => Promise<VercelToolOutput>;
  readonly toModelOutput: (options: { readonly output: VercelToolOutput }) => VercelModelOutput;
}

export function toVercelTools<Name extends string>(tools: ToolSet<Name>): Record<Name, VercelTool> {
  const entries = tools.tools.map(({ name, title, description, input }): [Name, VercelTool] => [
    name,
    {
      title,
      description,
      inputSchema: input,
      execute: async (args, { abortSignal } = {}) => {
        const { status, text, images } = await tools.call(name, args, { signal: abortSignal });
        return { status, text, ...(images !== undefined && { images }) };
      },
      toModelOutput: ({ output }) => modelOutput(output),
    },
  ]);
  return Object.fromEntries(entries) as Record<Name, VercelTool>;
}

function modelOutput({ status, text, images = [] }: VercelToolOutput): VercelModelOutput {
  if (images.length === 0) return { type: status === "success" ? "text" : "error-text", value: text };
  return {
    type: "content",
    value: [
      { type: "text", text },
      ...images.map(({ mimeType, data }) => ({ type: "image-data" as const, mediaType: mimeType, data })),
    ],
  };
}

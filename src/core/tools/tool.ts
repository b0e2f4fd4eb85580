import type { z } from "zod";
import type { SandboxManager, ToolCall } from "../manager/index.js";
import type { ToolReply } from "./replies/tool-reply.js";

/** In whose name tools are called, and where. */
export type ToolCaller = Pick<ToolCall, "agentId" | "orgId" | "role" | "backend" | "requestId"> & {
  readonly sessionId: string;
};

/** What a tool is given besides its arguments. */
export interface ToolContext {
  readonly manager: SandboxManager;
  readonly caller: ToolCaller;
  readonly signal?: AbortSignal | undefined;
  /** Output as it is printed, to show the progress of a long call. */
  readonly onOutput?: ((type: "stdout" | "stderr", text: string) => void) | undefined;
}

/** Hints for a client that shows or confirms a tool, with MCP's names. */
export interface ToolAnnotations {
  /** It changes nothing. */
  readonly readOnlyHint: boolean;
  /** It may change or remove what is there. */
  readonly destructiveHint: boolean;
  /** To call it again with the same arguments changes nothing more. */
  readonly idempotentHint: boolean;
  /** It may reach other hosts, where the policy lets it. */
  readonly openWorldHint: boolean;
}

/** Something an agent can do. */
export interface Tool<Input extends z.ZodObject = z.ZodObject, Name extends string = string> {
  readonly name: Name;
  readonly title: string;
  /** For a model: what it does, and what to know about it. */
  readonly description: string;
  readonly input: Input;
  readonly annotations: ToolAnnotations;
  /** How many characters of what it found its text has at most. Left out: 10,000. */
  readonly maxTextCharacters?: number;
  /** May throw a SandboxError, which becomes an error reply. */
  readonly run: (args: z.infer<Input>, context: ToolContext) => Promise<ToolReply>;
}

/** Declares a tool; its arguments have the types of its schema. */
export function defineTool<Input extends z.ZodObject, const Name extends string>(
  tool: Tool<Input, Name>,
): Tool<z.ZodObject, Name> {
  return tool as unknown as Tool<z.ZodObject, Name>;
}

export const READS: ToolAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};
export const CHANGES: ToolAnnotations = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: true,
  openWorldHint: false,
};
export const RUNS: ToolAnnotations = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};

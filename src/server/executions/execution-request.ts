import { z } from "zod";
import { type Config, DEFAULT_LIMITS } from "../../core/config/index.js";
import type { ToolCall } from "../../core/manager/index.js";
import { LONGEST_TIMEOUT_MS } from "../../runtime/sandbox/index.js";
import { agentId, roleName } from "../http/index.js";

const fileContent = z.union([z.string(), z.strictObject({ base64: z.base64() })]);

const surroundings = {
  timeoutMs: z.number().int().min(1).max(LONGEST_TIMEOUT_MS).optional(),
  maxOutputBytes: z
    .number()
    .int()
    .min(1)
    .max(2 ** 32)
    .optional()
    .describe("No more than `sandbox.limits.output` of the configuration, whatever is asked for."),
  files: z
    .record(z.string(), fileContent)
    .optional()
    .describe("Files to put into the workspace first, by path: text, or bytes as base64."),
  role: roleName.optional(),
  agentId: agentId.optional(),
};

/** A program, a shell's command line, or a command without a shell: one of them. */
export const executeBody = z
  .strictObject({
    language: z
      .string()
      .min(1)
      .max(50)
      .optional()
      .describe("Of `code`: python, javascript, typescript, bash."),
    code: z.string().optional(),
    filename: z.string().min(1).max(255).optional(),
    args: z.array(z.string()).max(10_000).optional(),
    command: z.string().optional().describe("A shell's command line."),
    argv: z.array(z.string()).min(1).max(10_000).optional().describe("A command without a shell."),
    stdin: fileContent.optional().describe("Text, or bytes as base64."),
    env: z.record(z.string().min(1).max(1000), z.string()).optional(),
    cwd: z.string().min(1).max(4096).optional(),
    context: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .describe("Runs the code in this context, and makes it if need be."),
    ...surroundings,
  })
  .meta({ id: "ExecuteRequest" });

/** Code in a context, which has its language. */
export const contextExecuteBody = z
  .strictObject({
    language: z.string().min(1).max(50).optional(),
    code: z.string(),
    stdin: z.string().optional().describe("What Python's `input()` reads; other languages have none."),
    ...surroundings,
  })
  .meta({ id: "ContextExecuteRequest" });

export type ExecuteBody = z.output<typeof executeBody>;

/** The call for the manager, without its caller. Output is capped by the configuration. */
export function callOf(
  { role: _, agentId: __, files, stdin, ...given }: ExecuteBody,
  config: Config,
): ToolCall {
  const { maxOutputBytes } = given;
  const { outputBytes = DEFAULT_LIMITS.outputBytes } = config.sandbox.limits;
  const rest = {
    ...given,
    ...(stdin !== undefined && { stdin: bytesOf(stdin) }),
    ...(maxOutputBytes !== undefined && { maxOutputBytes: Math.min(maxOutputBytes, outputBytes) }),
  };
  if (files === undefined) return rest;
  return {
    ...rest,
    files: Object.fromEntries(Object.entries(files).map(([path, content]) => [path, bytesOf(content)])),
  };
}

function bytesOf(content: z.output<typeof fileContent>): string | Buffer {
  return typeof content === "string" ? content : Buffer.from(content.base64, "base64");
}

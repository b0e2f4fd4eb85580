import { z } from "zod";
import { runAndReply, timeoutArgument } from "../run-and-reply.js";
import { defineTool, RUNS } from "../tool.js";

const SHELL_TIMEOUT_MS = 60_000;

/** `shell_exec`: a command line of bash. */
export const shellExec = defineTool({
  name: "shell_exec",
  title: "Run a command",
  description:
    "Runs a command line with bash in an isolated sandbox, not on the person's machine, and returns what it printed. It starts in " +
    "the session's workspace. Its processes end with it. Files stay between calls; variables and the current directory do not.",
  input: z.strictObject({
    command: z.string().min(1).describe("The command line, for example `ls -la && wc -l *.py`."),
    cwd: z
      .string()
      .optional()
      .describe("Where it starts, relative to the workspace. Default: the workspace."),
    stdin: z.string().optional().describe("What it reads from its standard input."),
    timeoutMs: timeoutArgument(SHELL_TIMEOUT_MS),
  }),
  annotations: RUNS,
  run: (args, context) =>
    runAndReply(context, { ...args, tool: "shell_exec", timeoutMs: args.timeoutMs ?? SHELL_TIMEOUT_MS }),
});

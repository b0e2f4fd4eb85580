import { z } from "zod";
import { languageNames } from "../../../runtime/sandbox/index.js";
import { runAndReply, timeoutArgument } from "../run-and-reply.js";
import { defineTool, RUNS } from "../tool.js";

const CODE_TIMEOUT_MS = 30_000;

/** `run_code`: a program, or a piece of code in a context that keeps its state. */
export const runCode = defineTool({
  name: "run_code",
  title: "Run code",
  description:
    "Runs code in an isolated sandbox, not on the person's machine, and returns what it printed. The working directory is the session's workspace, whose " +
    "files stay between calls. With `context`, variables, imports and functions stay too, as in a notebook: the value of the " +
    "last expression is shown, and so are figures. Without it, each call is a fresh program.",
  input: z.strictObject({
    // What is none of them is the manager's to refuse, and remembered as any attempt.
    language: z.string().meta({
      enum: languageNames,
      description: "The language of the code.",
    }),
    code: z.string().min(1).describe("The code: the content of a file."),
    context: z
      .string()
      .regex(/^[\w.:-]{1,100}$/, "expected 1 to 100 letters, digits, dots, colons or dashes")
      .optional()
      .describe(
        'Name of a context that keeps its state between calls, for example "main". One per language.',
      ),
    stdin: z
      .string()
      .optional()
      .describe("What the program reads from its standard input. In a context: only of python."),
    args: z.array(z.string()).max(1000).optional().describe("The program's arguments. Not with a context."),
    timeoutMs: timeoutArgument(CODE_TIMEOUT_MS),
  }),
  annotations: RUNS,
  run: (args, context) =>
    runAndReply(context, { ...args, tool: "run_code", timeoutMs: args.timeoutMs ?? CODE_TIMEOUT_MS }),
});

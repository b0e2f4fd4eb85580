import { SandboxError } from "../../../kit/errors.js";
import { findLanguage, type Language } from "../programs/languages.js";
import { encodeMessage } from "./messages.js";

/** How a language keeps its state between pieces of code. */
export interface ContextLanguage {
  /** The runner and its arguments, below the guest's runtime. */
  readonly runner: string;
  readonly interpreter: readonly string[];
  readonly args?: readonly string[];
  /** Copies of its state can be made. */
  readonly copies: boolean;
  /** Its runner takes interrupts as messages: a signal would only reach what the code started. */
  readonly hearsInterrupts?: boolean;
  /** An order to run code, as its runner reads it. */
  encodeRun(run: number, code: string, resultBytes: number): Buffer | Promise<Buffer>;
}

const asJson = (run: number, code: string, resultBytes: number) =>
  encodeMessage({ op: "run", run, code, resultBytes });

/** Two lines of bash: an interrupt makes it forget the first, never the second. */
const asShell = (run: number, code: string) =>
  Buffer.from(`__skerry_run ${run} ${quoteForBash(code)}\n__skerry_done $? ${run}\n`);

/** Module syntax is only understood in files: it is rewritten. */
const asModule =
  (grammar: "javascript" | "typescript") => async (run: number, code: string, bytes: number) => {
    const { rewriteModuleSyntax } = await import("./module-syntax.js");
    return asJson(run, await rewriteModuleSyntax(code, grammar), bytes);
  };

const NODE = {
  // Code that is broken off inside a callback leaves it without the end that these checks look for.
  interpreter: ["node", "--no-force-async-hooks-checks"],
  runner: "javascript/context/node-context.cjs",
  copies: false,
  hearsInterrupts: true,
} as const;

const CONTEXT_LANGUAGES: ReadonlyMap<string, ContextLanguage> = new Map<string, ContextLanguage>([
  [
    "python",
    { interpreter: ["python3"], runner: "python/context/python-context.py", copies: true, encodeRun: asJson },
  ],
  ["javascript", { ...NODE, args: ["javascript"], encodeRun: asModule("javascript") }],
  ["typescript", { ...NODE, args: ["typescript"], encodeRun: asModule("typescript") }],
  ["bash", { interpreter: ["bash"], runner: "shell/bash-context.sh", copies: false, encodeRun: asShell }],
]);

export function findContextLanguage(name: string): Language & { readonly context: ContextLanguage } {
  const language = findLanguage(name);
  const context = CONTEXT_LANGUAGES.get(language.name);
  if (context !== undefined) return { ...language, context };
  throw new SandboxError("UNSUPPORTED", `There are no contexts for ${language.name}`, {
    hint: `They are for ${[...CONTEXT_LANGUAGES.keys()].join(", ")}. Programs of every language run with runCode.`,
  });
}

/** The command that starts a context's interpreter the plain way. */
export function contextCommand(
  { context }: { readonly context: ContextLanguage },
  runtime: string,
): string[] {
  return [...context.interpreter, `${runtime}/${context.runner}`, ...(context.args ?? [])];
}

/** Text as one word of bash, in printable ASCII and on one line. */
export function quoteForBash(text: string): string {
  const bytes = [...Buffer.from(text)].map((byte) => {
    const letter = String.fromCharCode(byte);
    if (letter === "\n") return "\\n";
    return byte < 0x20 || byte > 0x7e || letter === "'" || letter === "\\"
      ? `\\x${byte.toString(16).padStart(2, "0")}`
      : letter;
  });
  return `$'${bytes.join("")}'`;
}

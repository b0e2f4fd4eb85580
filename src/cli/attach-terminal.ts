import { pipeline } from "node:stream/promises";
import { systemCode } from "../errors.js";
import type { PolicyLimits } from "../policy/index.js";
import type { Terminal } from "../sandbox/index.js";
import type { ExecutionResult } from "../sandbox/result.js";

/** Makes our terminal the one inside, until it ends, uses up a limit, or the signal says so. */
export async function attachTerminal(
  terminal: Terminal,
  { timeoutMs, outputBytes }: Pick<PolicyLimits, "timeoutMs" | "outputBytes">,
  signal: AbortSignal,
): Promise<ExecutionResult> {
  const { stdin, stdout } = process;
  let cut: Pick<ExecutionResult, "reason" | "error"> | undefined;
  const end = (reason: "timeout" | "output-limit", error: string) => {
    cut ??= { reason, error };
    terminal.kill();
  };
  const restore = () => {
    stdin.setRawMode(false);
    stdin.pause();
  };
  const resize = () => {
    const { rows, columns } = sizeOf(stdout);
    terminal.resize(rows, columns);
  };
  const kill = () => terminal.kill();
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => end("timeout", `Execution timeout (${timeoutMs / 1000}s)`), timeoutMs);
  process.once("exit", restore);
  stdout.on("resize", resize);
  signal.addEventListener("abort", kill, { once: true });
  if (signal.aborted) kill();
  try {
    // From here on Ctrl-C is a byte for the program inside.
    stdin.setRawMode(true);
    stdin.pipe(terminal.input);
    terminal.input.on("error", ignoreClosed);
    let left = outputBytes ?? Number.POSITIVE_INFINITY;
    const upToLimit = async function* (source: AsyncIterable<Buffer>) {
      for await (const chunk of source) {
        left -= chunk.length;
        if (left >= 0) yield chunk;
        else end("output-limit", "Killed: the output limit was reached");
      }
    };
    await pipeline(terminal.output, upToLimit, stdout, { end: false });
    const result = await terminal.exit;
    return cut === undefined ? result : { ...result, success: false, ...cut };
  } finally {
    clearTimeout(timer);
    stdin.unpipe(terminal.input);
    stdout.off("resize", resize);
    process.off("exit", restore);
    restore();
  }
}

/** A terminal that does not know its size says zero. */
export function sizeOf(stream: NodeJS.WriteStream): { rows: number; columns: number } {
  return { rows: stream.rows || 24, columns: stream.columns || 80 };
}

/** Keys typed while the program ends have nowhere to go. */
function ignoreClosed(error: Error): void {
  if (systemCode(error) !== "EPIPE" && systemCode(error) !== "ERR_STREAM_DESTROYED") throw error;
}

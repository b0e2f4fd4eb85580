import { pipeline } from "node:stream/promises";
import type { GuardedTerminal, ToolResult } from "../../../core/manager/index.js";

/** Makes our terminal the one inside, until that ends; ours is given back as it was, however this ends. */
export async function attachTerminal(terminal: GuardedTerminal): Promise<ToolResult> {
  const { stdin, stdout } = process;
  const restore = () => {
    stdin.setRawMode(false);
    stdin.pause();
  };
  const resize = () => {
    const { rows, columns } = sizeOf(stdout);
    terminal.resize(rows, columns);
  };
  process.once("exit", restore);
  stdout.on("resize", resize);
  try {
    // From here on Ctrl-C is a byte for the program inside.
    stdin.setRawMode(true);
    stdin.pipe(terminal.input);
    await pipeline(terminal.output, stdout, { end: false });
    return await terminal.exit;
  } finally {
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

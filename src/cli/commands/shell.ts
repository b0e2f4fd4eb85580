import { pipeline } from "node:stream/promises";
import { SandboxError, systemCode } from "../../errors.js";
import { exitStatusOf } from "../../sandbox/result.js";
import { Interrupt } from "../interrupt.js";
import { openManager, openSandbox } from "../open-sandbox.js";
import type { SandboxOptions } from "../program.js";

/** `skerry shell`: our terminal becomes one inside. It is given back as it was, however this ends. */
export async function shell(argv: readonly string[], options: SandboxOptions): Promise<number> {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY) {
    throw new SandboxError("INVALID_ARGUMENT", "shell needs a terminal for its input and output", {
      hint: "Without one, use: skerry exec -- COMMAND",
    });
  }
  using interrupt = new Interrupt();
  await using manager = await openManager(options);
  const sandbox = await openSandbox(manager, options, interrupt.signal);
  const terminal = await sandbox.terminal({
    ...sizeOf(stdout),
    env: { TERM: process.env.TERM ?? "xterm", ...options.env },
    ...(argv.length > 0 && { argv: [...argv] }),
    ...(options.cwd !== undefined && { cwd: options.cwd }),
  });

  const restore = () => {
    stdin.setRawMode(false);
    stdin.pause();
  };
  const resize = () => {
    const { rows, columns } = sizeOf(stdout);
    terminal.resize(rows, columns);
  };
  const kill = () => terminal.kill();
  process.once("exit", restore);
  stdout.on("resize", resize);
  interrupt.signal.addEventListener("abort", kill, { once: true });
  if (interrupt.signal.aborted) kill();
  try {
    // From here on Ctrl-C is a byte for the program inside.
    stdin.setRawMode(true);
    stdin.pipe(terminal.input);
    terminal.input.on("error", ignoreClosed);
    await pipeline(terminal.output, stdout, { end: false });
    return interrupt.status ?? exitStatusOf(await terminal.exit);
  } finally {
    stdin.unpipe(terminal.input);
    stdout.off("resize", resize);
    process.off("exit", restore);
    restore();
  }
}

/** Keys typed while the program ends have nowhere to go. */
function ignoreClosed(error: Error): void {
  if (systemCode(error) !== "EPIPE" && systemCode(error) !== "ERR_STREAM_DESTROYED") throw error;
}

/** A terminal that does not know its size says zero. */
function sizeOf(stream: NodeJS.WriteStream): { rows: number; columns: number } {
  return { rows: stream.rows || 24, columns: stream.columns || 80 };
}

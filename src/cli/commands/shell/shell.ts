import { pipeline } from "node:stream/promises";
import type { GuardedTerminal, ToolResult } from "../../../core/manager/index.js";
import { SandboxError } from "../../../kit/errors.js";
import { exitStatusOf } from "../../../runtime/sandbox/index.js";
import type { ShellOptions } from "../../definition/index.js";
import { closingLines } from "../../execution/index.js";
import { Interrupt } from "../../input/index.js";
import { identityOf, openGuardedManager, openMounts, readConfig } from "../../open/index.js";
import { stderr } from "../../output/index.js";

/** `skerry shell`: our terminal becomes one inside. */
export async function shell(argv: readonly string[], options: ShellOptions): Promise<number> {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY) {
    throw new SandboxError("INVALID_ARGUMENT", "shell needs a terminal for its input and output", {
      hint: "Without one, use: skerry exec -- COMMAND",
    });
  }
  using interrupt = new Interrupt();
  const config = await readConfig(options);
  await using guarded = await openGuardedManager(config, options);
  const sessionId = await openMounts(guarded.manager, options, identityOf(config, options).role);
  // Over before the log is closed, also when our own terminal fails.
  await using terminal = await guarded.manager.openTerminal({
    ...identityOf(config, options),
    ...sizeOf(stdout),
    sessionId,
    argv: argv.length === 0 ? undefined : argv,
    env: { TERM: process.env.TERM ?? "xterm", PS1: promptOf(options), ...options.env },
    cwd: options.cwd,
    signal: interrupt.signal,
  });
  const result = await attachTerminal(terminal);
  for (const line of closingLines(result)) await stderr.write(`skerry: ${line}\n`);
  return interrupt.status ?? exitStatusOf(result);
}

/** Says that what is typed goes into a sandbox, and into which. A shell would expand what a name may contain. */
function promptOf({ session = "" }: ShellOptions): string {
  const where = /^[\w.:@-]+$/.test(session) ? `skerry ${session}` : "skerry";
  return `(${where}) \\w\\$ `;
}

/** Makes our terminal the one inside, until that ends; ours is given back as it was, however this ends. */
async function attachTerminal(terminal: GuardedTerminal): Promise<ToolResult> {
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
function sizeOf(stream: NodeJS.WriteStream): { rows: number; columns: number } {
  return { rows: stream.rows || 24, columns: stream.columns || 80 };
}

import { SandboxError } from "../../errors.js";
import { exitStatusOf } from "../../sandbox/result.js";
import { attachTerminal, sizeOf } from "../attach-terminal.js";
import { Interrupt } from "../interrupt.js";
import { callerOf, openGuards } from "../open-guards.js";
import { createManager, limitsOf, openSandbox, readConfig } from "../open-sandbox.js";
import type { ShellOptions } from "../options.js";
import { stderr } from "../output.js";
import { admitTerminal, terminalLimits, terminalText } from "../terminal-guard.js";
import { beginTerminal } from "../terminal-record.js";

/** `skerry shell`: our terminal becomes one inside. It is given back as it was, however this ends. */
export async function shell(argv: readonly string[], options: ShellOptions): Promise<number> {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY) {
    throw new SandboxError("INVALID_ARGUMENT", "shell needs a terminal for its input and output", {
      hint: "Without one, use: skerry exec -- COMMAND",
    });
  }
  using interrupt = new Interrupt();
  const { signal } = interrupt;
  const config = await readConfig(options);
  const guards = await openGuards(config, options);
  await using _audit = guards.audit;
  const who = { ...callerOf(config, options), sessionId: options.session };
  const record = beginTerminal(guards.audit, who, terminalText(argv));
  try {
    const request = { ...who, argv, backend: options.backend, signal };
    const policyLimits = await admitTerminal(config, guards, request, record);
    await using manager = await createManager(config, options);
    const limits = terminalLimits(limitsOf(options), policyLimits, config);
    const sandbox = await openSandbox(manager, options, signal, limits);
    const terminal = await sandbox.terminal({
      ...sizeOf(stdout),
      env: { TERM: process.env.TERM ?? "xterm", ...options.env },
      ...(argv.length > 0 && { argv: [...argv] }),
      ...(options.cwd !== undefined && { cwd: options.cwd }),
    });
    const result = await attachTerminal(terminal, policyLimits, signal);
    await record.end(signal.aborted ? { ...result, success: false, reason: "cancelled" } : result);
    if (result.reason === "timeout" || result.reason === "output-limit") {
      await stderr.write(`skerry: ${result.error}\n`);
    }
    return interrupt.status ?? exitStatusOf(result);
  } catch (error) {
    await record.fail(error);
    throw error;
  }
}

import { SandboxError } from "../../../kit/errors.js";
import type { ExecuteOptions } from "../../definition/index.js";
import { execute } from "../../execution/index.js";

/** `skerry exec`: any command inside. */
export async function exec(argv: readonly string[], options: ExecuteOptions): Promise<number> {
  try {
    return await execute(options, true, { argv });
  } catch (error) {
    throw hintAtShell(argv, error);
  }
}

/** What only a shell understands, given as one word, is no program's name. */
function hintAtShell([command, ...args]: readonly string[], error: unknown): unknown {
  const isLine = args.length === 0 && command !== undefined && /[\s;&|<>$*]/.test(command);
  if (!isLine || !(error instanceof SandboxError) || error.code !== "COMMAND_NOT_FOUND") return error;
  return new SandboxError(error.code, error.message, {
    hint: `For a shell's command line: skerry exec -- sh -c '${command.replaceAll("'", "'\\''")}'`,
    cause: error,
  });
}

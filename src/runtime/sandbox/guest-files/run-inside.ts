import type { Readable } from "node:stream";
import { createDeferred } from "../../../kit/deferred.js";
import { SandboxError } from "../../../kit/errors.js";
import type { Instance } from "../../backends/index.js";
import { KILL_GRACE_MS } from "../exec-options.js";

const MAX_STDERR_BYTES = 4096;

/** The part of an instance that running something inside takes. */
export type Inside = Pick<Instance, "runner" | "baseEnv" | "guestWorkspace">;

export interface InsideCommand {
  /** One of our own shell texts. What a caller chose comes in as arguments, never as text. */
  readonly script: string;
  readonly arguments: readonly string[];
  readonly timeoutMs: number;
  /** Takes output as it comes; false: enough, the command is ended. Left out: any output is too much. */
  readonly take?: (chunk: Buffer) => boolean;
}

export interface InsideEnd {
  readonly exitCode: number | null;
  /** The last of it, as bytes in latin1. */
  readonly stderr: string;
  readonly reason: "exited" | "enough" | "timeout";
}

/**
 * Runs a command of our own inside the sandbox, to its end or ours. Everything it says is the hostile side's; what
 * it cannot do is to keep us waiting: a command that outlives its kill takes the sandbox along.
 */
export async function runInside({ runner, baseEnv }: Inside, command: InsideCommand): Promise<InsideEnd> {
  const handle = runner.run({
    argv: ["sh", "-c", command.script, "sh", ...command.arguments],
    env: { ...baseEnv, LC_ALL: "C" },
    cwd: "/",
  });
  let reason: InsideEnd["reason"] = "exited";
  let failure: unknown;
  const stop = (why: "enough" | "timeout") => {
    if (reason !== "exited") return;
    reason = why;
    handle.kill();
  };
  const take = command.take ?? (() => false);
  handle.stdout.on("data", (chunk: Buffer) => {
    if (reason !== "exited") return;
    try {
      if (!take(chunk)) stop("enough");
    } catch (error) {
      failure = error;
      stop("enough");
    }
  });
  let stderr = Buffer.alloc(0);
  handle.stderr.on("data", (chunk: Buffer) => {
    stderr = Buffer.concat([stderr, chunk]).subarray(-MAX_STDERR_BYTES);
  });
  // `started` rejects for a command that never started.
  handle.exit.catch(() => undefined);
  const drained = Promise.all([closed(handle.stdout), closed(handle.stderr)]);
  handle.stdin.end();

  const overdue = createDeferred<never>();
  let timer = setTimeout(() => {
    stop("timeout");
    timer = setTimeout(() => {
      const lost = new SandboxError("SANDBOX_LOST", "A command of the file system inside could not be ended");
      overdue.reject(lost);
      runner.close(lost);
    }, KILL_GRACE_MS);
  }, command.timeoutMs);
  try {
    await Promise.race([handle.started, overdue.promise]);
    const exit = await Promise.race([handle.exit, overdue.promise]);
    await Promise.race([drained, overdue.promise]);
    if (!exit.clean) runner.close(new SandboxError("SANDBOX_LOST", "A process inside could not be ended"));
    if (failure !== undefined) throw failure;
    return { exitCode: exit.exitCode, stderr: stderr.toString("latin1"), reason };
  } finally {
    clearTimeout(timer);
  }
}

function closed(stream: Readable): Promise<void> {
  return new Promise((resolve) => stream.once("close", resolve));
}

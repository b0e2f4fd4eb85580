import { stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { SandboxError, systemCode, toSandboxError } from "../errors.js";
import type { ExecOptions, Execution, Sandbox } from "../sandbox/index.js";
import { type ExecutionResult, exitStatusOf } from "../sandbox/result.js";
import { visible } from "../visible.js";
import type { Transfer } from "./arguments.js";
import { fetchFile, putFile } from "./host-files.js";
import { Interrupt } from "./interrupt.js";
import { openManager, openSandbox } from "./open-sandbox.js";
import { stderr, stdout } from "./output.js";
import type { ExecuteOptions } from "./program.js";

/** The keys of `--json`, in this order. */
const JSON_KEYS = [
  "success",
  "reason",
  "exitCode",
  "signal",
  "stdout",
  "stderr",
  "truncated",
  "executionTimeMs",
  "cpuTimeMs",
  "memoryUsedMb",
  "sandboxType",
  "sandboxId",
  "sessionId",
  "filesWritten",
] as const satisfies readonly (keyof ExecutionResult)[];

/** What `run` and `exec` share: opens a sandbox, puts files in, runs, shows, fetches files, cleans up. */
export async function execute(
  options: ExecuteOptions,
  readsStdin: boolean,
  start: (sandbox: Sandbox, options: ExecOptions) => Execution,
): Promise<number> {
  const { json = false, input = [], output = [] } = options;
  await Promise.all(input.map(requireFile));
  using interrupt = new Interrupt();
  await using manager = await openManager(options);
  const sandbox = await openSandbox(manager, options, interrupt.signal);
  for (const each of input) await putFile(sandbox, each);

  const stdin = readsStdin ? standardInput() : undefined;
  const execution = start(sandbox, {
    signal: interrupt.signal,
    stream: !json,
    ...(stdin !== undefined && { stdin }),
    ...(options.env !== undefined && { env: options.env }),
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    ...(options.timeout !== undefined && { timeoutMs: options.timeout }),
  });
  const result = json ? await execution : await show(execution, interrupt.signal);
  const fetched = await fetchAll(sandbox, output);
  if (json) await stdout.write(`${JSON.stringify(result, [...JSON_KEYS])}\n`);
  else if (result.reason !== "exited" && !stdout.closed)
    await stderr.write(`skerry: ${reasonLine(result)}\n`);
  const status = interrupt.status ?? exitStatusOf(result);
  // The program's own failure says more than that its output is missing.
  return status === 0 ? fetched : status;
}

/** Passes the output on as it happens. */
async function show(execution: Execution, signal: AbortSignal): Promise<ExecutionResult> {
  for await (const event of execution) {
    if (event.type === "stdout") await stdout.write(event.data, signal);
    else if (event.type === "stderr") await stderr.write(event.data, signal);
    else if (event.type === "exit") return event.result;
  }
  throw new SandboxError("INTERNAL", "the execution ended without a result");
}

/** Why it ended, in one line. */
function reasonLine(result: ExecutionResult): string {
  if (result.error !== undefined) return visible(result.error);
  return result.reason === "signaled" ? `ended by ${result.signal}` : result.reason;
}

/** Our own standard input, unless a person sits there. */
function standardInput(): Readable | undefined {
  const { stdin } = process;
  if (stdin.isTTY) return undefined;
  stdin.once("error", (error) => {
    void stderr.write(`skerry: standard input cannot be read (${systemCode(error) ?? error.message})\n`);
  });
  return stdin;
}

async function requireFile({ hostPath }: Transfer): Promise<void> {
  const found = await stat(hostPath).catch((cause: unknown) => {
    throw new SandboxError(
      "FILE_NOT_FOUND",
      `--input: ${hostPath} cannot be found (${systemCode(cause) ?? "?"})`,
      {
        cause,
      },
    );
  });
  if (found.isFile()) return;
  throw new SandboxError("FILE_TYPE", `--input: ${hostPath} is not a file`, {
    hint: "Give files one by one.",
  });
}

/** Fetches what can be fetched, and says what could not; resolves to an exit status. */
async function fetchAll(sandbox: Sandbox, transfers: readonly Transfer[]): Promise<number> {
  let status = 0;
  for (const transfer of transfers) {
    try {
      await fetchFile(sandbox, transfer);
    } catch (error) {
      const { message, exitStatus } = toSandboxError(error, "FILE_FAILED");
      await stderr.write(`skerry: --output ${visible(transfer.path)}: ${visible(message)}\n`);
      status = exitStatus;
    }
  }
  return status;
}

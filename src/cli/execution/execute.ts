import type { Readable } from "node:stream";
import type { HostFile, ToolCall, ToolResult } from "../../core/manager/index.js";
import { SandboxError, systemCode } from "../../kit/errors.js";
import { escapeUnsafe } from "../../kit/escape-unsafe.js";
import type { Execution, ResultEvent } from "../../runtime/sandbox/index.js";
import { exitStatusOf } from "../../runtime/sandbox/index.js";
import { parseInnerPath } from "../../runtime/workspace/index.js";
import type { ExecuteOptions, Transfer } from "../definition/index.js";
import { Interrupt, neighboursOf, type ProgramFile, requireFile, writeHostFiles } from "../input/index.js";
import { identityOf, openGuardedManager, openMounts, readConfig } from "../open/index.js";
import { jsonText, reportError, stderr, stdout } from "../output/index.js";
import { closingLines } from "./result-text.js";

type What = Pick<ToolCall, "code" | "language" | "filename" | "args" | "argv">;

/** What `run` and `exec` share: decides, puts files in, runs, shows, fetches files, remembers, cleans up. */
export async function execute(
  options: ExecuteOptions,
  readsStdin: boolean,
  what: What,
  program?: ProgramFile,
): Promise<number> {
  const shown: { status?: number } = {};
  try {
    return await runAndShow(options, readsStdin, what, shown, program);
  } catch (error) {
    if (shown.status === undefined) throw error;
    // The result is out, and is the one object of --json: a failure after it is reported on standard error.
    const failed = await reportError(error, false);
    return shown.status === 0 ? failed : shown.status;
  }
}

async function runAndShow(
  options: ExecuteOptions,
  readsStdin: boolean,
  what: What,
  shown: { status?: number },
  program: ProgramFile | undefined,
): Promise<number> {
  const { json = false, input = [], output = [] } = options;
  await Promise.all(input.map(requireFile));
  const outputs = outputsOf(output);
  using interrupt = new Interrupt();
  const config = await readConfig(options);
  const files = [...(await neighboursOf(program, config, options)), ...input];
  await using guarded = await openGuardedManager(config, options);
  const { manager } = guarded;

  const sessionId = await openMounts(manager, options, identityOf(config, options).role);
  const stdin = readsStdin ? standardInput() : undefined;
  const execution = manager.execute({
    ...what,
    ...identityOf(config, options),
    signal: interrupt.signal,
    sessionId,
    stdin,
    env: options.env,
    cwd: options.cwd,
    timeoutMs: options.timeout,
    ...(files.length > 0 && { files: await inputsOf(files) }),
    ...outputs,
  });
  interrupt.passTo(() => execution.interrupt());
  const result = json ? await execution : await show(execution, interrupt.signal);
  const fetched = await reportOutputs(output, result);
  if (json) await stdout.write(`${jsonText(result)}\n`);
  else await showEnd(result);
  const status = interrupt.status ?? exitStatusOf(result);
  // The program's own failure says more than that its output is missing.
  shown.status = status === 0 ? fetched : status;
  return shown.status;
}

/** Passes the output on as it happens. */
export async function show(
  execution: Execution<ToolResult, ResultEvent>,
  signal: AbortSignal,
): Promise<ToolResult> {
  for await (const event of execution) {
    if (event.type === "stdout") await stdout.write(event.data, signal);
    else if (event.type === "stderr") await stderr.write(event.data, signal);
    else if (event.type === "exit") return event.result;
  }
  throw new SandboxError("INTERNAL", "the execution ended without a result");
}

/** Says what the output does not, unless the reader is gone. */
export async function showEnd(result: ToolResult): Promise<void> {
  if (stdout.closed) return;
  for (const line of closingLines(result)) await stderr.write(`skerry: ${line}\n`);
}

/** Our own standard input, unless a person sits there. */
export function standardInput(): Readable | undefined {
  const { stdin } = process;
  if (stdin.isTTY) return undefined;
  stdin.once("error", (error) => {
    void stderr.write(`skerry: standard input cannot be read (${systemCode(error) ?? error.message})\n`);
  });
  return stdin;
}

/** Names them only: what a policy denies is not read. */
async function inputsOf(transfers: readonly Transfer[]): Promise<Record<string, HostFile>> {
  const { HostFile } = await import("../../core/manager/index.js");
  return Object.fromEntries(transfers.map(({ path, hostPath }) => [path, new HostFile(hostPath)]));
}

/** The part of a call that brings files to this machine while its sandbox is still there. */
function outputsOf(transfers: readonly Transfer[]): Pick<ToolCall, "outputFiles" | "onOutputFile"> {
  if (transfers.length === 0) return {};
  const places = new Map<string, Transfer[]>();
  for (const transfer of transfers) {
    const { text } = parseInnerPath(transfer.path);
    places.set(text, [...(places.get(text) ?? []), transfer]);
  }
  return {
    // A path means itself, whatever characters its name has.
    outputFiles: [...places.keys()].map((path) => path.replaceAll(/[*?[{\\]/g, "\\$&")),
    onOutputFile: ({ path, content }) => writeHostFiles(places.get(path) ?? [], content),
  };
}

/** Says what could not be fetched; resolves to an exit status. */
async function reportOutputs(transfers: readonly Transfer[], { outputFiles }: ToolResult): Promise<number> {
  // Nothing ran, which is said elsewhere.
  if (outputFiles === undefined) return 0;
  let status = 0;
  for (const transfer of transfers) {
    const { text } = parseInnerPath(transfer.path);
    if (outputFiles.taken?.some(({ path }) => path === text)) continue;
    const skipped = outputFiles.skipped.find(({ path }) => path === text);
    const { code, message } = skipped ?? MISSING;
    await stderr.write(`skerry: --output ${escapeUnsafe(transfer.path)}: ${escapeUnsafe(message)}\n`);
    status = new SandboxError(code, message).exitStatus;
  }
  return status;
}

const MISSING = { code: "FILE_NOT_FOUND", message: "there is no such file in the workspace" } as const;

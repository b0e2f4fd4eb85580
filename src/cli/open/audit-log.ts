import { type AuditQuery, type AuditRecord, queryAudit } from "../../guard/audit/index.js";
import { SandboxError, toSandboxError } from "../../kit/errors.js";
import type { GlobalOptions } from "../definition/index.js";
import { Interrupt } from "../input/index.js";
import { jsonText, stdout } from "../output/index.js";
import { auditDirectory } from "./open-audit.js";
import { readConfig } from "./open-sandbox.js";

export interface LogOptions extends GlobalOptions {
  readonly directory?: string;
  readonly json?: boolean;
}

/** Calls `use` with where the log is. */
export async function withLog(
  options: LogOptions,
  use: (directory: string, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  using interrupt = new Interrupt();
  const directory = options.directory ?? auditDirectory(await readConfig(options));
  try {
    const status = await use(directory, interrupt.signal);
    return interrupt.status ?? status;
  } catch (error) {
    if (interrupt.status !== undefined) return interrupt.status;
    throw noLog(error, options);
  }
}

/** The room's own hint is for a programmer. */
function noLog(error: unknown, { directory }: LogOptions): SandboxError {
  const failure = toSandboxError(error);
  if (failure.code !== "FILE_NOT_FOUND") return failure;
  return directory === undefined
    ? new SandboxError("FILE_NOT_FOUND", "there is no audit log yet", {
        hint: "It begins with the first skerry run or exec. --directory reads another one.",
        cause: error,
      })
    : new SandboxError("FILE_NOT_FOUND", `--directory: there is no audit log in ${directory}`, {
        hint: "Give the directory with the audit-….jsonl files.",
        cause: error,
      });
}

/** The records that fit; with a limit the last of them, still the oldest first. */
export async function* latest(
  directory: string,
  wanted: AuditQuery,
  limit: number | undefined,
): AsyncGenerator<AuditRecord> {
  if (limit === undefined) {
    yield* queryAudit(directory, wanted);
    return;
  }
  const found: AuditRecord[] = [];
  for await (const record of queryAudit(directory, { ...wanted, limit, reverse: true })) found.push(record);
  yield* found.reverse();
}

/** One JSON array. Nothing is written before the first record is there, so that an error stands alone. */
export async function writeArray(records: AsyncIterable<AuditRecord>, signal: AbortSignal): Promise<void> {
  let opened = false;
  for await (const record of records) {
    await stdout.write(`${opened ? ",\n" : "[\n"}${jsonText(record)}`, signal);
    opened = true;
  }
  await stdout.write(opened ? "\n]\n" : "[]\n");
}

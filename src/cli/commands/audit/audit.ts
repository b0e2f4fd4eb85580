import {
  type AuditQuery,
  type AuditRecord,
  type ChainPoint,
  tailAudit,
  type Verification,
  verifyAudit,
} from "../../../guard/audit/index.js";
import type { Paint } from "../../../guard/confirmation/index.js";
import { defined } from "../../../kit/defined.js";
import { SandboxError } from "../../../kit/errors.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import { type LogOptions, latest, withLog, writeArray } from "../../open/index.js";
import { jsonText, paintFor, stderr, stdout } from "../../output/index.js";
import { auditHeader, auditRow } from "./audit-row.js";

const DEFAULT_LINES = 20;
/** A check that takes longer than this shows how far it is. */
const PROGRESS_AFTER_MS = 500;
const PROGRESS_EVERY_MS = 100;

export interface TailOptions extends LogOptions {
  readonly lines?: number;
  readonly follow?: boolean;
}

export interface QueryOptions extends LogOptions {
  readonly session?: string;
  readonly agent?: string;
  readonly org?: string;
  readonly tool?: string;
  readonly result?: NonNullable<AuditQuery["result"]>;
  readonly since?: Date;
  readonly until?: Date;
  readonly limit?: number;
}

export interface VerifyOptions extends LogOptions {
  readonly expect?: ChainPoint;
}

/** `skerry audit tail`: the last records, and with --follow those to come. */
export function tail(options: TailOptions): Promise<number> {
  return withLog(options, async (directory, signal) => {
    const paint = paintFor(stdout, options.color);
    const { lines = DEFAULT_LINES, follow = false } = options;
    if (!options.json && stdout.isTerminal) await stdout.write(auditHeader(paint));
    for await (const record of tailAudit(directory, { lines, follow, signal })) {
      await stdout.write(options.json ? `${jsonText(record)}\n` : auditRow(record, paint), signal);
      if (signal.aborted) break;
    }
    return 0;
  });
}

/** `skerry audit query`: the records that fit, in the order of the log. */
export function query(options: QueryOptions): Promise<number> {
  return withLog(options, async (directory, signal) => {
    const { session, agent, org, tool, result, since, until } = options;
    const wanted: AuditQuery = {
      ...defined({ session, agent, org, tool, result, since, until }),
      signal,
    };
    const records = latest(directory, wanted, options.limit);
    if (options.json) await writeArray(records, signal);
    else await writeTable(records, paintFor(stdout, options.color), signal);
    return 0;
  });
}

/** `skerry audit verify`: the chain is whole, or the first record that is not right. */
export function verify(options: VerifyOptions): Promise<number> {
  return withLog(options, async (directory, signal) => {
    const progress = createProgress();
    const verification = await verifyAudit(directory, {
      signal,
      ...(options.expect !== undefined && { expect: options.expect }),
      onProgress: ({ bytes, totalBytes }) => progress.show(bytes / totalBytes),
    }).finally(() => progress.clear());
    if (verification.ok && verification.files === 0) {
      throw new SandboxError("FILE_NOT_FOUND", "there is no audit log in this directory", {
        hint: "Give the directory with the audit-….jsonl files. A removed log looks like no log: keep a head elsewhere.",
      });
    }
    await stdout.write(
      options.json
        ? `${jsonText(verification)}\n`
        : describeVerification(verification, paintFor(stdout, options.color)),
    );
    return verification.ok ? 0 : BROKEN;
  });
}

const BROKEN = new SandboxError("AUDIT_BROKEN", "").exitStatus;

/** What came of a check, for a person. */
export function describeVerification(verification: Verification, paint: Paint): string {
  if (!verification.ok) {
    const { file, line, problem, records } = verification;
    const where = file === "" ? "" : `${escapeUnsafe(file)}:${line}: `;
    const before =
      records === 0 ? "" : `${count(records, "record")} before it ${records === 1 ? "is" : "are"} right\n`;
    return `${paint("red", "broken")}: ${where}${escapeUnsafe(problem)}\n${before}`;
  }
  const { records, files, firstSeq, head, notes } = verification;
  const lines = [`${paint("green", "whole")}: ${count(records, "record")} in ${count(files, "file")}`];
  if (head !== null) lines.push(`head ${head.seq}:${head.hash}`);
  if (firstSeq !== null && firstSeq > 1) {
    lines.push(`note: records 1 to ${firstSeq - 1} were retired with their files`);
  }
  for (const { file, note } of notes) lines.push(`note: ${escapeUnsafe(file)}: ${escapeUnsafe(note)}`);
  return `${lines.join("\n")}\n`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

async function writeTable(
  records: AsyncIterable<AuditRecord>,
  paint: Paint,
  signal: AbortSignal,
): Promise<void> {
  let found = false;
  for await (const record of records) {
    if (!found && stdout.isTerminal) await stdout.write(auditHeader(paint));
    found = true;
    await stdout.write(auditRow(record, paint), signal);
  }
  if (!found && stdout.isTerminal) await stdout.write("no records\n");
}

/** How far a long check is, on a terminal. */
function createProgress(): { show(part: number): void; clear(): void } {
  let dueAt = performance.now() + PROGRESS_AFTER_MS;
  let shown = false;
  return {
    show(part) {
      if (performance.now() < dueAt || !stderr.isTerminal) return;
      dueAt = performance.now() + PROGRESS_EVERY_MS;
      shown = true;
      void stderr.write(`\rchecking the chain: ${Math.floor(100 * part)} %`);
    },
    clear() {
      if (shown) void stderr.write("\r\x1b[K");
    },
  };
}

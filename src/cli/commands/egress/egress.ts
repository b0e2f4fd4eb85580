import type { AuditRecord } from "../../../guard/audit/index.js";
import type { Paint, Style } from "../../../guard/confirmation/index.js";
import { SandboxError } from "../../../kit/errors.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import type { GlobalOptions } from "../../definition/index.js";
import { type LogOptions, latest, openManager, withLog, writeArray } from "../../open/index.js";
import { formatTable, localTime, paintFor, stderr, stdout } from "../../output/index.js";

export interface EgressLogOptions extends LogOptions {
  readonly session?: string;
  readonly since?: Date;
  readonly limit?: number;
}

const STYLES: Readonly<Record<string, Style>> = { success: "green", denied: "red", failure: "yellow" };
const VERDICTS: Readonly<Record<string, string>> = { success: "allowed", failure: "failed" };
/** So many rows share the width of their columns. */
const PAGE = 500;

/** `skerry egress log`: every verdict about a connection or request, the oldest first. */
export function log(options: EgressLogOptions): Promise<number> {
  return withLog(options, async (directory, signal) => {
    const { session, since, limit } = options;
    const records = latest(
      directory,
      {
        eventType: "network",
        ...(session !== undefined && { session }),
        ...(since !== undefined && { since }),
        signal,
      },
      limit,
    );
    if (options.json) await writeArray(records, signal);
    else await writeRows(records, paintFor(stdout, options.color), signal);
    return 0;
  });
}

export interface ChangeOptions extends GlobalOptions {
  readonly session: string;
}

/** `skerry egress allow` and `deny`: what a session that runs in another process may reach from now on. */
export async function change(
  kind: "allow" | "deny",
  domains: readonly string[],
  options: ChangeOptions,
): Promise<number> {
  await using manager = await openManager(options);
  const change = kind === "allow" ? { allow: domains, deny: [] } : { allow: [], deny: domains };
  const count = await manager.changeEgress(options.session, change);
  if (count === 0) {
    throw new SandboxError("SANDBOX_NOT_RUNNING", `session ${JSON.stringify(options.session)} does not run`, {
      hint: `For later runs use --allow-domain, or sandbox.network in the configuration.`,
    });
  }
  await stderr.write(
    `skerry: ${kind === "allow" ? "allowed" : "denied"}: ${escapeUnsafe(domains.join(", "))}\n`,
  );
  return 0;
}

async function writeRows(records: AsyncIterable<AuditRecord>, paint: Paint, signal: AbortSignal) {
  let rows: string[][] = [];
  let isFirst = true;
  const flush = async () => {
    const header = ["TIME", "VERDICT", "VIA", "HOST", "ADDRESS", "SENT", "RECEIVED", "RULE"];
    const hasHeader = isFirst && stdout.isTerminal;
    isFirst = false;
    const shown = hasHeader ? [header.map((title) => paint("bold", title)), ...rows] : rows;
    rows = [];
    await stdout.write(
      formatTable(shown, ["left", "left", "left", "left", "left", "right", "right", "left"]),
      signal,
    );
  };
  for await (const record of records) {
    rows.push(rowOf(record, paint));
    if (rows.length === PAGE) await flush();
  }
  if (rows.length > 0) await flush();
  else if (isFirst && stdout.isTerminal) await stdout.write("no connections\n");
}

/** Names and paths come from inside: nothing of them acts on a terminal. */
function rowOf(record: AuditRecord, paint: Paint): string[] {
  const { result, details, policy_rule: rule, error } = record;
  const fact = (name: string) => escapeUnsafe(String(details?.[name] ?? ""));
  const verdict = details?.["open"] === true ? "open" : (VERDICTS[result ?? ""] ?? result ?? "");
  const count = Number(details?.["count"] ?? 1);
  const request = [fact("method"), fact("path")].filter((part) => part !== "").join(" ");
  return [
    localTime(record.timestamp),
    paint(STYLES[result ?? ""] ?? "yellow", verdict) + (count > 1 ? ` ×${count}` : ""),
    fact("via"),
    `${fact("host")}:${fact("port")}${request === "" ? "" : ` ${request}`}`,
    fact("address") || "-",
    String(record.network_bytes_sent ?? 0),
    String(record.network_bytes_recv ?? 0),
    escapeUnsafe(result === "failure" ? (error ?? rule ?? "") : (rule ?? "")),
  ];
}

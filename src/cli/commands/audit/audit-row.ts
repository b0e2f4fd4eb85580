import type { AuditRecord } from "../../../guard/audit/index.js";
import type { Paint, Style } from "../../../guard/confirmation/index.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import { localTime } from "../../output/index.js";

/** Records come one by one, so that the columns have their width before the first. */
const WIDTHS = { seq: 7, time: 19, result: 12, tool: 11, session: 20 } as const;
const MAX_WHAT = 160;
const STYLES: Readonly<Record<string, Style>> = {
  success: "green",
  failure: "yellow",
  cancelled: "yellow",
};

/** The line above the rows. */
export function auditHeader(paint: Paint): string {
  const { seq, time, result, tool, session } = WIDTHS;
  const titles = ["SEQ".padStart(seq), "TIME".padEnd(time), "RESULT".padEnd(result), "TOOL".padEnd(tool)];
  return `${paint("bold", [...titles, "SESSION".padEnd(session), "WHAT"].join("  "))}\n`;
}

/** One record as one line for a person. Its content may be hostile: nothing of it acts on a terminal. */
export function auditRow(record: AuditRecord, paint: Paint): string {
  const { result, event_type: event } = record;
  const ended = cell(result ?? event, WIDTHS.result);
  const columns = [
    String(record.seq).padStart(WIDTHS.seq),
    cell(localTime(record.timestamp), WIDTHS.time),
    result === null ? ended : paint(STYLES[result] ?? "red", ended),
    cell(record.tool ?? "-", WIDTHS.tool),
    cell(record.session_id ?? "-", WIDTHS.session),
    whatOf(record),
  ];
  return `${columns.join("  ").trimEnd()}\n`;
}

/** What it was, and what is to be said about its end. */
function whatOf(record: AuditRecord): string {
  const { command, code_hash: hash, language, details, error, result, risk_level: risk } = record;
  const subject = command ?? [language, hash?.slice(0, 19)].filter((each) => each != null).join(" ");
  const facts = Object.entries(details ?? {}).map(([name, value]) => `${name}=${value}`);
  const parts = [
    cut(escapeUnsafe(subject), MAX_WHAT / 2),
    ...(facts.length > 0 ? [escapeUnsafe(facts.join(" "))] : []),
    ...(risk !== null && risk !== "safe" ? [`risk ${escapeUnsafe(risk)}`] : []),
    ...(error !== null && result !== "success" ? [escapeUnsafe(error)] : []),
  ];
  return cut(parts.filter((part) => part !== "").join(" · "), MAX_WHAT);
}

function cell(text: string, width: number): string {
  return cut(escapeUnsafe(text), width).padEnd(width);
}

function cut(text: string, width: number): string {
  const characters = [...text];
  return characters.length <= width ? text : `${characters.slice(0, width - 1).join("")}…`;
}

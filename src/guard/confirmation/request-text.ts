import { rankOf } from "../analysis/index.js";
import type { Paint } from "./paint.js";
import type { ConfirmationRequest } from "./request.js";
import { visibleRows } from "./visible-rows.js";

interface Layout {
  readonly columns: number;
  readonly paint: Paint;
}

const MAX_FIELD_LENGTH = 500;
const MAX_FINDINGS = 100;
const LEVEL_STYLES = { safe: "green", low: "green", medium: "yellow", high: "red", critical: "red" } as const;

/**
 * What a person sees before the question, line by line: first the code, whole, then what we know about it. Every row
 * of the code is behind a line number and a bar, so that nothing in it looks like words of ours.
 */
export function* requestText(request: ConfirmationRequest, layout: Layout): Generator<string> {
  const { paint } = layout;
  yield "";
  yield paint("bold", "An agent wants to run this code:");
  yield* codeRows(request, layout);
  yield* surroundingRows(request, layout);
  yield paint("bold", "That was all of it.");
  yield "";
  yield* findingRows(request, layout);
  const { rule } = request;
  if (rule !== undefined) {
    yield* field("Rule", `${rule.source}:${rule.line} ${rule.path}: ${rule.why}`, layout);
  }
  yield* field("Limits", limitsText(request.limits), layout);
  yield* field("Runs in", request.backend ?? "the sandbox of this host", layout);
  const who = [
    request.agentId && `agent ${request.agentId}`,
    request.role && `role ${request.role}`,
    request.orgId && `of ${request.orgId}`,
  ];
  yield* field("For", who.filter(Boolean).join(", ") || "an unnamed agent", layout);
  yield* field("Session", request.sessionId || "none, its files are thrown away", layout);
}

/** The same in short, right before the question, where also the end of a very long text leaves it in view. */
export function* summaryText(request: ConfirmationRequest, layout: Layout, now: Date): Generator<string> {
  const { riskLevel, findings } = request;
  const lines = request.code.split("\n").length;
  const seconds = Math.max(0, Math.round((request.expiresAt.getTime() - now.getTime()) / 1000));
  const what = request.language === undefined ? request.tool : `${request.tool}, ${request.language}`;
  yield "";
  yield* field("Risk", `${riskLevel.toUpperCase()}, ${count(findings.length, "finding")}`, layout, (text) =>
    layout.paint(LEVEL_STYLES[riskLevel], text),
  );
  yield* field(
    "Code",
    `${what}, ${count(lines, "line")}, ${count(request.code.length, "character")}`,
    layout,
  );
  yield* field("Time", `${seconds} s to answer, then it is rejected`, layout);
}

/** What comes along with the code, whole, and marked like the code. */
function* surroundingRows({ surroundings = {} }: ConfirmationRequest, layout: Layout): Generator<string> {
  for (const [name, text] of Object.entries(surroundings)) {
    yield* field("With", name, layout);
    yield* numberedRows(text, new Set(), layout);
  }
}

function codeRows({ code, findings }: ConfirmationRequest, layout: Layout): Generator<string> {
  return numberedRows(code, new Set(findings.map(({ line }) => line)), layout);
}

function* numberedRows(
  text: string,
  found: ReadonlySet<number>,
  { columns, paint }: Layout,
): Generator<string> {
  const lines = text.split("\n");
  const digits = String(lines.length).length;
  // The bar may be wide as well.
  const width = Math.max(16, columns - digits - 7);
  for (const [index, line] of lines.entries()) {
    const mark = found.has(index + 1) ? paint("red", "!") : " ";
    let gutter = `${mark} ${paint("dim", `${String(index + 1).padStart(digits)} │`)} `;
    for (const row of visibleRows(line, width, paint)) {
      yield gutter + row;
      gutter = `  ${paint("dim", `${" ".repeat(digits)} ┆`)} `;
    }
  }
}

function* findingRows({ findings }: ConfirmationRequest, layout: Layout): Generator<string> {
  const { paint } = layout;
  if (findings.length === 0) {
    yield* field("Findings", "none", layout);
    return;
  }
  const worstFirst = [...findings].sort((a, b) => rankOf(b.level) - rankOf(a.level) || a.line - b.line);
  for (const { rule, level, line, column, excerpt, why } of worstFirst.slice(0, MAX_FINDINGS)) {
    yield* field(level.toUpperCase(), `line ${line}:${column}, ${rule}: ${why}`, layout, (text) =>
      paint(LEVEL_STYLES[level], text),
    );
    yield* field("", excerpt, layout, (text) => paint("dim", text));
  }
  const left = findings.length - MAX_FINDINGS;
  if (left > 0) yield* field("", `and ${left} more of the same level or lower`, layout);
}

/** A label of ours with untrusted text beside it. */
function* field(
  name: string,
  text: string,
  { columns, paint }: Layout,
  style: (text: string) => string = (plain) => plain,
): Generator<string> {
  const cut = text.length > MAX_FIELD_LENGTH ? `${text.slice(0, MAX_FIELD_LENGTH)}…` : text;
  let label = `  ${name.padEnd(9)} `;
  // A style around a row would end where one inside of it does.
  const plain: Paint = (_, each) => each;
  for (const row of visibleRows(cut.replaceAll("\n", " "), Math.max(16, columns - label.length - 1), plain)) {
    yield paint("bold", label) + style(row);
    label = " ".repeat(label.length);
  }
}

function limitsText(limits: ConfirmationRequest["limits"]): string {
  const entries = Object.entries(limits).filter(([, value]) => value !== undefined);
  if (entries.length === 0) return "the sandbox's own";
  return entries.map(([name, value]) => limitText(name, value)).join(", ");
}

/** Limits whose names and numbers are for programs. */
const LIMIT_TEXTS: Readonly<Record<string, (value: number) => string>> = {
  timeoutMs: (ms) => `${ms / 1000} s`,
  memoryMb: (mb) => `${mb} MiB of memory`,
  cpus: (cores) => `${cores} ${cores === 1 ? "core" : "cores"}`,
  pids: (number) => `${number} processes`,
  outputBytes: (bytes) => `${bytes} bytes of output`,
  fileSizeMb: (mb) => `files of ${mb} MiB`,
  workspaceMb: (mb) => `a workspace of ${mb} MiB`,
};

function limitText(name: string, value: unknown): string {
  const show = Object.hasOwn(LIMIT_TEXTS, name) ? LIMIT_TEXTS[name] : undefined;
  return show !== undefined && typeof value === "number" ? show(value) : `${name} ${valueText(value)}`;
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(valueText).join(" ");
  return typeof value === "object" && value !== null ? (JSON.stringify(value) ?? "") : String(value);
}

function count(number: number, what: string): string {
  return number === 1 ? `1 ${what}` : `${number} ${what}s`;
}

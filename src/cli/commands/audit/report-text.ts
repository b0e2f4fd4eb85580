import type { AuditReport, Counted, Verification } from "../../../guard/audit/index.js";
import type { Paint } from "../../../guard/confirmation/index.js";
import type { ReviewedRule } from "../../../guard/policy/index.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import { formatTable, localTime } from "../../output/index.js";

/** What `skerry audit report` prints. */
export interface FullReport extends AuditReport {
  readonly since: string;
  readonly until: string | null;
  readonly chain: Verification;
  /** Left out: there is no policy to review. */
  readonly policy?: {
    readonly file: string;
    /** Granted, and not used in this time. */
    readonly unusedGrants: readonly UnusedRule[];
    /** It refused nothing in this time. */
    readonly idleRefusals: readonly UnusedRule[];
  };
}

interface UnusedRule {
  readonly path: string;
  readonly line: number;
  readonly value: string;
}

/** The rules that no record names. */
export function unusedRules(
  rules: readonly ReviewedRule[],
  report: AuditReport,
  source: string,
): Pick<NonNullable<FullReport["policy"]>, "unusedGrants" | "idleRefusals"> {
  const used = new Set(report.rules);
  const unused = rules.filter(({ rule }) => !used.has(`${source}: ${rule.path}`));
  const of = (wanted: ReviewedRule["kind"]) =>
    unused
      .filter(({ kind }) => kind === wanted)
      .map(({ rule: { path, line }, value }) => ({ path, line, value }));
  return { unusedGrants: of("grant"), idleRefusals: of("refusal") };
}

/** For a person. Names in it are agents' and programs' own words. */
export function describeReport(report: FullReport, verification: string, paint: Paint): string {
  const { deciders, hosts, sessions, policy, leftOut } = report;
  const few = (name: keyof AuditReport & string, counts: readonly Counted[]) =>
    `${inline(counts)}${leftOut.includes(name) ? ", …" : ""}`;
  const more = (name: keyof AuditReport & string) => (leftOut.includes(name) ? [["…"]] : []);
  const until = report.until === null ? "now" : localTime(report.until);
  const parts = [
    paint("bold", `audit report, ${localTime(report.since)} to ${until}`),
    `chain ${verification.trimEnd().replaceAll("\n", "\n  ")}`,
    `${report.records} ${report.records === 1 ? "record" : "records"}: ${few("events", report.events)}`,
    section(paint, "attempts", [
      ["results", few("results", report.results)],
      ["tools", few("tools", report.tools)],
      ["roles", few("roles", report.roles)],
      ["agents", few("agents", report.agents)],
      ["risk", few("riskLevels", report.riskLevels)],
      ["interrupted", String(report.interrupted)],
    ]),
    section(paint, "refused, by rule", [
      ...report.refusals.map(({ name, count }) => [String(count), escapeUnsafe(name)]),
      ...more("refusals"),
    ]),
    section(paint, "who decided", [
      ...deciders.map(({ by, outcomes, halfWithinMs, longestMs }) => {
        const quick =
          halfWithinMs === undefined || longestMs === undefined
            ? ""
            : `half within ${seconds(halfWithinMs)}, the longest ${seconds(longestMs)}`;
        return [escapeUnsafe(by), inline(countedOf(outcomes)), quick];
      }),
      ...more("deciders"),
    ]),
    section(paint, "hosts (allowed, denied, failed, bytes sent, received)", [
      ...hosts.map(({ host, allowed, denied, failed, bytesSent, bytesReceived }) => [
        escapeUnsafe(host),
        ...[allowed, denied, failed, bytesSent, bytesReceived].map(String),
      ]),
      ...more("hosts"),
    ]),
    section(paint, "busiest sessions (attempts, refused, cpu)", [
      ...sessions.map(({ sessionId, count, refused, cpuTimeMs }) => [
        escapeUnsafe(sessionId),
        String(count),
        String(refused),
        seconds(cpuTimeMs),
      ]),
      ...more("sessions"),
    ]),
    ...(policy === undefined
      ? []
      : [
          section(
            paint,
            `granted by ${escapeUnsafe(policy.file)} and not used`,
            policy.unusedGrants.map(ruleRow),
          ),
          section(
            paint,
            `rules of ${escapeUnsafe(policy.file)} that refused nothing`,
            policy.idleRefusals.map(ruleRow),
          ),
        ]),
  ];
  return `${parts.filter((part) => part !== "").join("\n")}\n`;
}

function section(paint: Paint, title: string, rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return "";
  return `\n${paint("bold", title)}\n${formatTable(rows.map((row) => row.map((cell, index) => (index === 0 ? `  ${cell}` : cell)))).trimEnd()}`;
}

function inline(counts: readonly Counted[]): string {
  return counts.length === 0
    ? "none"
    : counts.map(({ name, count }) => `${escapeUnsafe(name)} ${count}`).join(", ");
}

function countedOf(counts: Readonly<Record<string, number>>): Counted[] {
  return Object.entries(counts).map(([name, count]) => ({ name, count }));
}

function ruleRow({ path, line, value }: UnusedRule): string[] {
  return [`line ${line}`, escapeUnsafe(path), escapeUnsafe(value)];
}

function seconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

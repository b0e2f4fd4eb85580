import type { RiskAssessment } from "../../../guard/analysis/index.js";
import { type RiskLevel, rankOf } from "../../../guard/analysis/index.js";
import type { Paint, Style } from "../../../guard/confirmation/index.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import type { GlobalOptions } from "../../definition/index.js";
import { readOnlyProgram } from "../../input/index.js";
import { jsonText, paintFor, stdout } from "../../output/index.js";

export interface AssessOptions extends GlobalOptions {
  readonly language?: string;
  readonly code?: string;
  readonly failOn?: RiskLevel;
  readonly json?: boolean;
}

const STYLES: Readonly<Record<RiskLevel, Style>> = {
  safe: "green",
  low: "green",
  medium: "yellow",
  high: "red",
  critical: "red",
};

/** `skerry risk assess`: what a program would reach for. The status is 0 unless --fail-on says otherwise. */
export async function assessProgram(words: readonly string[], options: AssessOptions): Promise<number> {
  const { assess } = await import("../../../guard/analysis/index.js");
  const { code, language } = await readOnlyProgram(words, options);
  const assessment = await assess(code, language.name);
  await stdout.write(
    options.json
      ? `${jsonText(assessment)}\n`
      : describeAssessment(assessment, words[0], paintFor(stdout, options.color)),
  );
  return options.failOn !== undefined && rankOf(assessment.level) >= rankOf(options.failOn) ? 1 : 0;
}

/** The assessment for a person: the level first, then every finding with its place. */
function describeAssessment(
  { level, findings, language, detectedPatterns }: RiskAssessment,
  file: string | undefined,
  paint: Paint,
): string {
  const name = file === undefined || file === "-" ? "" : `${escapeUnsafe(file)}:`;
  const many =
    findings.length === 0 ? "nothing found" : `${findings.length} finding${findings.length === 1 ? "" : "s"}`;
  const parts = [`${paint(STYLES[level], level)}: ${escapeUnsafe(language)}, ${many}\n`];
  for (const finding of findings) {
    const { line, column, rule, why, excerpt } = finding;
    parts.push(
      `${name}${line}:${column}: ${paint(STYLES[finding.level], finding.level)}: ${escapeUnsafe(why)} [${escapeUnsafe(rule)}]\n`,
    );
    parts.push(`    ${paint("dim", escapeUnsafe(excerpt))}\n`);
  }
  const left = detectedPatterns.filter((rule) => !findings.some((finding) => finding.rule === rule));
  if (left.length > 0) parts.push(`also: ${escapeUnsafe(left.join(", "))}\n`);
  return parts.join("");
}

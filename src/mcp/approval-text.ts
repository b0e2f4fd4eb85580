import type { ConfirmationRequest } from "../guard/confirmation/index.js";
import { requestText } from "../guard/confirmation/index.js";

const COLUMNS = 96;
/** More than a person reads in a dialogue. */
const MAX_CHARACTERS = 30_000;

/**
 * What a person is shown before they decide: the whole code and what we know about it. Undefined: it is too long for that, and
 * a person must not approve what they have not seen.
 */
export function approvalText(request: ConfirmationRequest): string | undefined {
  const { tool, language, riskLevel, findings, expiresAt } = request;
  const found = findings.length === 1 ? "1 finding" : `${findings.length} findings`;
  const what = language === undefined ? tool : `${tool}, ${language}`;
  const lines = [
    `An agent needs your approval. Risk: ${riskLevel.toUpperCase()}, ${found}. Tool: ${what}.`,
    `Without an answer by ${expiresAt.toISOString().slice(11, 19)} UTC it is rejected.`,
  ];
  let characters = 0;
  for (const row of requestText(request, { columns: COLUMNS, paint: (_, text) => text })) {
    characters += row.length;
    if (characters > MAX_CHARACTERS) return undefined;
    // Indented so far, a client that renders Markdown shows it as it is: no link, no picture, no heading.
    lines.push(row === "" ? "" : `    ${row}`);
  }
  return lines.join("\n");
}

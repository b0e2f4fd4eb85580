import { SandboxError, toSandboxError } from "../../kit/errors.js";
import { escapeUnsafeLines } from "../../kit/escape-unsafe.js";
import { jsonText } from "./json-text.js";
import { stderr, stdout } from "./output.js";

/** Tells the user what went wrong, for a person or as the one JSON object; resolves to the exit status. */
export async function reportError(error: unknown, json: boolean): Promise<number> {
  const known = toSandboxError(error);
  if (json) {
    await stdout.write(`${jsonText({ error: known.toJSON() })}\n`);
    return known.exitStatus;
  }
  const lines = [`skerry: ${known.message}`];
  if (known.hint !== undefined) lines.push(`hint: ${known.hint}`);
  // A stack is for a mistake of ours; what we throw on purpose says enough.
  if (!(error instanceof SandboxError) && process.env.SKERRY_DEBUG) {
    lines.push(String(error instanceof Error ? error.stack : error));
  }
  await stderr.write(`${escapeUnsafeLines(lines.join("\n"))}\n`);
  return known.exitStatus;
}

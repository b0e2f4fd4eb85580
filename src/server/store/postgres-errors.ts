import { SandboxError, systemCode } from "../../kit/errors.js";
import { diskFull, nameTaken, storeFailed } from "./failures.js";

const SAY_WHERE = "Check the store's URL: user, password and the database's name.";
const IS_IT_THERE = "Is PostgreSQL running, and do the host and the port of the store's URL fit?";

/** By SQLSTATE: what people can do something about. */
const KNOWN: Readonly<Record<string, { readonly message: string; readonly hint: string }>> = {
  "28P01": { message: "PostgreSQL refuses the user or the password", hint: SAY_WHERE },
  "28000": { message: "PostgreSQL refuses the user", hint: SAY_WHERE },
  "3D000": { message: "PostgreSQL has no such database", hint: "Create it, or correct the store's URL." },
  "42501": {
    message: "PostgreSQL does not let this user do what the store needs",
    hint: "Make it the database's owner.",
  },
  "53300": {
    message: "PostgreSQL has no connection left",
    hint: "Raise max_connections: every server uses up to 10.",
  },
  "57014": {
    message: "PostgreSQL took too long",
    hint: "See what it is busy with: SELECT * FROM pg_stat_activity.",
  },
  "57P03": { message: "PostgreSQL is starting or stopping", hint: "Try again in a moment." },
  "40001": { message: "Other writers blocked this change for too long", hint: "Try again in a moment." },
  "40P01": { message: "Other writers blocked this change for too long", hint: "Try again in a moment." },
};

/** What the driver or PostgreSQL says, as an error of ours. Never with their words: those may quote the URL or values. */
export function translatePostgresError(cause: unknown): SandboxError {
  if (cause instanceof SandboxError) return cause;
  const code = systemCode(cause);
  if (code === "23505") return nameTaken(cause);
  if (code === "53100") return diskFull(cause);
  const known = code === undefined ? undefined : KNOWN[code];
  if (known !== undefined) return storeFailed(known.message, { hint: known.hint, cause });
  // Only PostgreSQL's own have a severity; classes 08 and 57 are about the connection.
  if (cause instanceof Error && "severity" in cause && !/^(?:08|57)/.test(code ?? ""))
    return storeFailed(`PostgreSQL refuses a statement (${code})`, {
      hint: "Its log says more about it.",
      cause,
    });
  return storeFailed(
    `PostgreSQL cannot be reached, or the connection was lost${code === undefined ? "" : ` (${code})`}`,
    { hint: IS_IT_THERE, cause },
  );
}

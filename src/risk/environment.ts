import { MARKS, text, UNKNOWN, type Value } from "./value.js";

const CREDENTIAL = /SECRET|PASSW|TOKEN|API_?KEY|ACCESS_?KEY|PRIVATE|CREDENTIAL/i;

/** What one environment variable gives: the home directory, a credential, or nothing of interest. */
export function variable(name: string | undefined): Value {
  if (name === "HOME" || name === "USERPROFILE") return text("~");
  if (name !== undefined && CREDENTIAL.test(name)) return { ...UNKNOWN, marks: MARKS.credential };
  return UNKNOWN;
}

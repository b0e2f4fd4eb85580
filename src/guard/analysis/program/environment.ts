import { MARKS, text, UNKNOWN, type Value } from "./value.js";

/** An API key belongs into a request; these belong nowhere but into the program that was given them. */
const CREDENTIAL =
  /SECRET|PASSW|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIAL|^(?:GITHUB|GH|NPM|GITLAB|PYPI|DOCKER|VAULT)_\w*TOKEN$/i;

/** What one environment variable gives: the home directory, a credential, or nothing of interest. */
export function variable(name: string | undefined): Value {
  if (name === "HOME" || name === "USERPROFILE") return text("~");
  if (name !== undefined && CREDENTIAL.test(name)) return { ...UNKNOWN, marks: MARKS.credential };
  return UNKNOWN;
}

import { SandboxError } from "../kit/errors.js";
import { parseInnerPath } from "../runtime/workspace/index.js";

/** What the address of every file of a workspace begins with. */
const WORKSPACE_URI = "workspace:///";
/** For clients that make addresses themselves. */
export const WORKSPACE_TEMPLATE = `${WORKSPACE_URI}{+path}`;

const MAX_URI_LENGTH = 16 * 1024;

/** The address of a file: each name is encoded, so that nothing in it means anything. */
export function uriOf(path: string): string {
  return WORKSPACE_URI + path.split("/").map(encodeURIComponent).join("/");
}

/** The path that an address names, relative to the workspace; refuses what leaves it or is none. */
export function pathOf(uri: string): string {
  if (uri.length > MAX_URI_LENGTH || !uri.startsWith(WORKSPACE_URI)) throw notOurs();
  const names = uri.slice(WORKSPACE_URI.length).split("/").map(decode);
  // A slash that was encoded is one in a name, which no file has.
  if (names.some((name) => name.includes("/"))) throw notOurs();
  return parseInnerPath(names.join("/")).text;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw notOurs();
  }
}

function notOurs(): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", "Not the URI of a workspace file", {
    hint: `URIs look like ${WORKSPACE_URI}src/main.py, percent-encoded.`,
  });
}

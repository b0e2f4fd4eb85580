import { resolve } from "node:path";
import { SandboxError } from "../../kit/errors.js";
import { expandHome } from "../../kit/expand-home.js";

/** Where a store is. */
export type StoreLocation =
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "postgres"; readonly url: string };

const FORMS = "Write postgres://user:password@host/database, sqlite:/path/to/file, or the path of a file.";

/** CONFIG_INVALID for anything else. Its message never has the text in it, since that may have a password. */
export function parseStoreUrl(text: string): StoreLocation {
  if (/^postgres(?:ql)?:/i.test(text)) return { kind: "postgres", url: checkPostgresUrl(text) };
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== "sqlite") throw invalid(`"${scheme}:" is not a kind of store`);
  // sqlite:///file is what other programs write for an absolute path.
  const path = scheme === undefined ? text : text.slice("sqlite:".length).replace(/^\/\/(?=\/)/, "");
  if (path === "" || path.endsWith("/") || path.includes("\0"))
    throw invalid("the store's URL names no file");
  if (path.startsWith("//")) throw invalid("a file has no host in its URL");
  if (path === ":memory:") throw invalid("a store in memory keeps nothing");
  return { kind: "sqlite", path: resolve(expandHome(path)) };
}

function checkPostgresUrl(text: string): string {
  // A socket's directory goes into ?host=, and then there may be no host before the database.
  const url = parseUrl(text.replace(/^(\w+:\/\/(?:[^@/?#]*@)?)(?=\/)/, "$1localhost"));
  if (url === undefined) throw invalid("the store's URL is not a URL of PostgreSQL");
  if (url.pathname.length < 2) throw invalid("the store's URL names no database");
  return text;
}

function parseUrl(text: string): URL | undefined {
  if (!/^\w+:\/\//.test(text) || !URL.canParse(text)) return undefined;
  return new URL(text);
}

function invalid(what: string): SandboxError {
  return new SandboxError("CONFIG_INVALID", `The store cannot be found: ${what}`, { hint: FORMS });
}

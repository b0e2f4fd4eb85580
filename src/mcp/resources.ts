import { isUtf8 } from "node:buffer";
import { posix } from "node:path";
import type { ListResourcesResult, ReadResourceResult } from "@modelcontextprotocol/sdk/types.js";
import { SandboxError } from "../kit/errors.js";
import { escapeUnsafe } from "../kit/escape-unsafe.js";
import type { Entry } from "../runtime/workspace/index.js";
import type { ClientCall } from "./client-call.js";
import { pathOf, uriOf } from "./resource-uri.js";
import type { SessionFiles } from "./session-files.js";

const PAGE_SIZE = 200;
const MAX_READ_BYTES = 1024 * 1024;

/** One page of the workspace's files. A cursor names the last file of the page before, so files may come and go between two. */
export async function listResources(
  files: SessionFiles,
  cursor: string | undefined,
  call: ClientCall,
): Promise<ListResourcesResult> {
  const after = cursor === undefined ? "" : pathOfCursor(cursor);
  const left = (await files.list(call))
    .filter(({ path }) => path > after)
    .sort((a, b) => (a.path < b.path ? -1 : 1));
  const page = left.slice(0, PAGE_SIZE);
  const last = page.at(-1);
  return {
    resources: page.map(describe),
    ...(last !== undefined && left.length > page.length && { nextCursor: cursorOf(last.path) }),
  };
}

/** A file's content: as text where it is that, otherwise as base64. */
export async function readResource(
  files: SessionFiles,
  uri: string,
  call: ClientCall,
): Promise<ReadResourceResult> {
  const path = pathOf(uri);
  const content = await files.read(path, MAX_READ_BYTES, call);
  const isText = isUtf8(content) && !content.includes(0);
  const mimeType = mediaTypeOf(path) ?? (isText ? "text/plain" : "application/octet-stream");
  const about = { uri: uriOf(path), mimeType };
  return {
    contents: [
      isText ? { ...about, text: content.toString("utf8") } : { ...about, blob: content.toString("base64") },
    ],
  };
}

/** Names are an attacker's: the address has them encoded, and what is shown has nothing in it that acts or hides. */
function describe({ path, size, modifiedMs }: Entry): ListResourcesResult["resources"][number] {
  const mimeType = mediaTypeOf(path);
  return {
    uri: uriOf(path),
    name: escapeUnsafe(path),
    title: escapeUnsafe(posix.basename(path)),
    size,
    ...(mimeType !== undefined && { mimeType }),
    ...(isMoment(modifiedMs) && { annotations: { lastModified: new Date(modifiedMs).toISOString() } }),
  };
}

/** A program can set a file's time to what no calendar has. */
function isMoment(ms: number): boolean {
  const year = new Date(ms).getUTCFullYear();
  return year >= 0 && year <= 9999;
}

function cursorOf(path: string): string {
  return Buffer.from(path).toString("base64url");
}

function pathOfCursor(cursor: string): string {
  const path = Buffer.from(cursor, "base64url").toString("utf8");
  if (path !== "" && cursorOf(path) === cursor) return path;
  throw new SandboxError("INVALID_ARGUMENT", "Unknown cursor", {
    hint: "Leave it out to start at the beginning.",
  });
}

/** By how a name ends: what clients show in a way of their own. */
const BY_EXTENSION: Readonly<Record<string, string>> = {
  ".css": "text/css",
  ".csv": "text/csv",
  ".gif": "image/gif",
  ".html": "text/html",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".js": "text/javascript",
  ".json": "application/json",
  ".md": "text/markdown",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".py": "text/x-python",
  ".sh": "application/x-sh",
  ".svg": "image/svg+xml",
  ".toml": "application/toml",
  ".ts": "text/x-typescript",
  ".txt": "text/plain",
  ".webp": "image/webp",
  ".xml": "application/xml",
  ".yaml": "application/yaml",
  ".yml": "application/yaml",
  ".zip": "application/zip",
};

/** The media type that a file's name promises; its content may be another. Undefined: it promises none. */
function mediaTypeOf(path: string): string | undefined {
  const extension = posix.extname(path).toLowerCase();
  return Object.hasOwn(BY_EXTENSION, extension) ? BY_EXTENSION[extension] : undefined;
}

import { SandboxError } from "../../kit/errors.js";
import { escapeFileName } from "../../kit/escape-unsafe.js";
import { PathTraversalError } from "./file-errors.js";

const MAX_COMPONENT_BYTES = 255;
/** Of a whole path, its slashes included. */
export const MAX_PATH_BYTES = 4096;
const MAX_DEPTH = 256;

/** A path that names something beneath the workspace, split and free of `.`, `..` and empty components. */
export interface RelativePath {
  /** Components joined with slashes; "" is the workspace itself. */
  readonly text: string;
  readonly components: readonly string[];
}

/** Parses a caller's path. Percent signs and backslashes are ordinary characters of a name. */
export function parseRelativePath(path: unknown): RelativePath {
  if (typeof path !== "string") {
    throw invalid(`Expected a path, got ${path === null ? "null" : typeof path}`);
  }
  if (path === "") throw invalid("The path is empty");
  if (path.length > MAX_PATH_BYTES || Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw invalid(`The path "${escapeFileName(path)}" is longer than ${MAX_PATH_BYTES} bytes`);
  }
  if (path.includes("\0")) throw invalid(`The path "${escapeFileName(path)}" holds a NUL character`);
  if (/\p{Cs}/u.test(path)) {
    throw invalid(`The path "${escapeFileName(path)}" holds half of a character (a lone surrogate)`);
  }
  if (path.startsWith("/")) {
    throw new PathTraversalError(`The path "${escapeFileName(path)}" is absolute`, {
      hint: "Give the path relative to the workspace, without a leading slash.",
    });
  }
  const components: string[] = [];
  for (const component of path.split("/")) {
    if (component === "" || component === ".") continue;
    if (component === "..") {
      throw new PathTraversalError(`The path "${escapeFileName(path)}" contains ".."`, {
        hint: "Give the path relative to the workspace, without going up.",
      });
    }
    if (Buffer.byteLength(component) > MAX_COMPONENT_BYTES) {
      throw invalid(
        `A name in the path "${escapeFileName(path)}" is longer than ${MAX_COMPONENT_BYTES} bytes`,
      );
    }
    components.push(component);
  }
  if (components.length > MAX_DEPTH) {
    throw invalid(`The path "${escapeFileName(path)}" is more than ${MAX_DEPTH} directories deep`);
  }
  return { text: components.join("/"), components };
}

/** Parses a path that must name something inside the workspace, not the workspace itself. */
export function parseInnerPath(path: unknown): RelativePath {
  const parsed = parseRelativePath(path);
  if (parsed.components.length > 0) return parsed;
  throw invalid(`The path "${escapeFileName(String(path))}" names the workspace itself`);
}

function invalid(message: string): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", message, {
    hint: 'Give a path relative to the workspace, such as "src/main.py".',
  });
}

import { SandboxError } from "./sandbox-error.js";

export function invalid(message: string, hint: string): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", message, { hint });
}

/** A text for a shell, or a list without one, as a request has it. */
export function commandOf(command: unknown): { readonly command: string } | { readonly argv: string[] } {
  if (typeof command === "string") return { command };
  if (Array.isArray(command) && command.every((each) => typeof each === "string") && command[0])
    return { argv: [...command] };
  throw invalid(
    "A command is a text for a shell, or a list of texts with the program first",
    'For example exec("ls -la") or exec(["ls", "-la"]).',
  );
}

/** A program's code. */
export function codeOf(code: unknown, example: string): { readonly code: string } {
  if (typeof code === "string") return { code };
  throw invalid("A program's code is text", `For example ${example}.`);
}

/** A program's language. */
export function checkLanguage(language: unknown): void {
  if (typeof language === "string" && language !== "") return;
  throw invalid("A program takes its language", 'For example runCode("print(1)", { language: "python" }).');
}

/** The id in a text, or in what has one. */
export function idOf(given: unknown, what: string): string {
  const id = typeof given === "string" ? given : (given as { readonly id?: unknown } | null | undefined)?.id;
  if (typeof id === "string" && id !== "") return id;
  throw invalid(`Expected a ${what}, or its id as text`, `Pass what made the ${what}, or its id.`);
}

/** What can be sent as bytes. */
export function checkContent(content: unknown): void {
  if (typeof content === "string" || content instanceof Uint8Array || content instanceof Blob) return;
  if (content instanceof ReadableStream && !content.locked) return;
  throw invalid(
    "Content is text, bytes, a Blob or a stream that nobody reads yet",
    'For example files.write("a.txt", "text").',
  );
}

export function checkPort(port: unknown): void {
  if (typeof port === "number" && Number.isInteger(port) && port >= 1 && port <= 65_535) return;
  throw invalid("A port is a whole number from 1 to 65535", "For example 8000.");
}

export function checkPortPath(path: unknown): void {
  if (typeof path === "string" && path.startsWith("/")) return;
  throw invalid(
    "The path of a request is text that begins with a slash",
    'For example ports.fetch(8000, "/").',
  );
}

/** What can be sent to a port. INVALID_ARGUMENT: no request can be that. */
export function checkRequest(method: unknown, headers: unknown, body: unknown): void {
  if (body !== undefined) checkContent(body);
  try {
    new Request("http://inside", { method, headers, ...(body !== undefined && { body: "" }) } as RequestInit);
  } catch (cause) {
    const hint =
      'For example ports.fetch(8000, "/", { method: "POST", headers: { accept: "*/*" }, body: "text" }).';
    throw new SandboxError("INVALID_ARGUMENT", `No such request can be sent: ${String(cause)}`, {
      hint,
      cause,
    });
  }
}

const MOST_ROWS = 65_535;

export function checkSize(rows: unknown, columns: unknown): void {
  const fits = (value: unknown) =>
    typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= MOST_ROWS;
  if (fits(rows) && fits(columns)) return;
  throw invalid(
    "A terminal has between 1 and 65535 rows and columns",
    "For example { rows: 24, columns: 80 }.",
  );
}

/** A file's path relative to the workspace: programs inside see it below /workspace. */
export function workspacePath(path: unknown, what = "path"): string {
  if (typeof path !== "string") throw invalid(`A ${what} is text`, 'For example "src/main.py".');
  return path.replace(/^\/workspace(?:\/+|$)/, "");
}

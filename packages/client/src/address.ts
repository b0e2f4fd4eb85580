import { SandboxError } from "./sandbox-error.js";

/** What follows `?` in an address; what is undefined is left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** `path` below the server's address, with each parameter as one part of it. */
export function addressOf(base: URL, path: string, query: Query = {}): URL {
  const address = new URL(path.replace(/^\//, ""), base);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) address.searchParams.set(name, String(value));
  return address;
}

/** A parameter of a path. Refuses what every URL parser takes for a step to somewhere else. */
export function part(text: string): string {
  if (typeof text === "string" && text !== "" && text !== "." && text !== "..")
    return encodeURIComponent(text);
  throw new SandboxError("INVALID_ARGUMENT", `Expected a name, got ${JSON.stringify(text)}`, {
    hint: 'It must not be empty, "." or "..".',
  });
}

/** A file's path as parts of an address. */
export function fileParts(path: string): string {
  const steps = String(path)
    .split("/")
    .filter((step) => step !== "" && step !== ".");
  const leadsOut = steps.includes("..") || String(path).startsWith("/");
  if (steps.length > 0 && !leadsOut) return steps.map(part).join("/");
  throw new SandboxError(
    leadsOut ? "PATH_TRAVERSAL" : "INVALID_ARGUMENT",
    "Expected the path of a file in the workspace",
    {
      hint: 'Write it relative to the workspace and without "..".',
    },
  );
}

import { randomUUID } from "node:crypto";

/** A new `Mcp-Session-Id`: it says which server knows it, for the others to send requests there. */
export function newClientId(server: string): string {
  return `${server}.${randomUUID()}`;
}

/** The server that gave an id; undefined: none did. */
export function serverOfClientId(id: unknown): string | undefined {
  return typeof id === "string" ? /^([^.]+)\.[0-9a-f-]{36}$/.exec(id)?.[1] : undefined;
}

import type { IncomingMessage } from "node:http";
import { SandboxError } from "../../kit/errors.js";
import type { ApiKeyRecord, ApiKeys } from "../store/index.js";

/** Longer than any key of ours. */
const MAX_HEADER_CHARACTERS = 500;

/** The WebSocket subprotocol of this API. A client may offer its key as another one. */
export const SOCKET_PROTOCOL = "skerry";
const KEY_PROTOCOL = "skerry.key.";

/** The secret that a request presents. A page cannot set headers for a WebSocket, so there it may be one of the protocols. */
export function secretOf(request: IncomingMessage): string | undefined {
  const { authorization, "sec-websocket-protocol": protocols } = request.headers;
  if (authorization !== undefined) return matchShort(/^Bearer +(\S+)$/i, authorization);
  if (protocols === undefined || !isUpgrade(request)) return undefined;
  const offered = protocols.split(",").map((each) => each.trim());
  const key = offered.find((each) => each.startsWith(KEY_PROTOCOL));
  return offered.includes(SOCKET_PROTOCOL) ? key?.slice(KEY_PROTOCOL.length) : undefined;
}

/** True for a request that Node treats as an upgrade. */
function isUpgrade(request: IncomingMessage & { readonly upgrade?: boolean }): boolean {
  return request.upgrade === true;
}

function matchShort(pattern: RegExp, header: string): string | undefined {
  return header.length <= MAX_HEADER_CHARACTERS ? pattern.exec(header)?.[1] : undefined;
}

/** The key of a secret. The error is the same whatever is wrong with it. */
export async function authenticate(secret: string | undefined, keys: ApiKeys): Promise<ApiKeyRecord> {
  const key = secret === undefined ? undefined : await keys.find(secret);
  if (key !== undefined) return key;
  throw new SandboxError("UNAUTHENTICATED", "A valid API key is required", {
    hint: "Send it as `Authorization: Bearer …`. `skerry keys create --name NAME` makes one.",
  });
}

/** True: the key opens nothing any more. */
export function isOver({ revokedAt, expiresAt }: ApiKeyRecord): boolean {
  return revokedAt !== undefined || (expiresAt !== undefined && expiresAt <= Date.now());
}

/** The role that a call has: the one it asks for, the session's, or the key's. FORBIDDEN: the key has no such role. */
export function roleFor(
  { scopes }: ApiKeyRecord,
  asked: string | undefined,
  configured: string | undefined,
): string | undefined {
  const { roles } = scopes;
  if (roles === "all") return asked ?? configured;
  const role = asked ?? roles[0];
  if (role !== undefined && roles.includes(role)) return role;
  // Without this, a key without roles would act without a role, to which no role's rules apply.
  throw notThatRole();
}

/** FORBIDDEN: the key may not act in the role that something has already. To have none is only for a key that has all. */
export function assertRole({ scopes: { roles } }: ApiKeyRecord, role: string | undefined): void {
  if (roles !== "all" && (role === undefined || !roles.includes(role))) throw notThatRole();
}

function notThatRole(): SandboxError {
  return new SandboxError("FORBIDDEN", "This key may not act in that role", {
    hint: "Leave the role out for the key's own, or use a key that has it.",
  });
}

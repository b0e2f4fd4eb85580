import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { SandboxError } from "../../kit/errors.js";
import { roleName, sessionId } from "../http/index.js";

/** What a client's address may say; the same in headers. */
export const chosenQuery = z.strictObject({
  session: sessionId.optional().describe("The same as the header X-Skerry-Session."),
  role: roleName.optional().describe("The same as the header X-Skerry-Role."),
});

const header = z.string().regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/);

/** Which session, and in which role, a client wants. It says so when it connects, by headers or in the address. */
export interface ChosenSession {
  /** Left out: one of its own. */
  readonly session?: string | undefined;
  readonly role?: string | undefined;
}

/** What a request asks for. INVALID_ARGUMENT: it asks for two things. */
export function chosenSession(request: FastifyRequest, query: z.output<typeof chosenQuery>): ChosenSession {
  return {
    session: either(request, "X-Skerry-Session", query.session, sessionId),
    role: either(request, "X-Skerry-Role", query.role, roleName),
  };
}

function either(
  request: FastifyRequest,
  name: string,
  inAddress: string | undefined,
  schema: typeof sessionId | typeof roleName,
): string | undefined {
  const given = request.headers[name.toLowerCase()];
  if (given === undefined) return inAddress;
  const parsed = header.pipe(schema).safeParse(given);
  if (!parsed.success) {
    throw new SandboxError("INVALID_ARGUMENT", `The header ${name} is not valid`, {
      hint: "Send 1 to 200 printable characters of ASCII; a name with others goes into the address.",
    });
  }
  if (inAddress === undefined || inAddress === parsed.data) return parsed.data;
  throw new SandboxError("INVALID_ARGUMENT", `The header ${name} and the address say different things`, {
    hint: "Send one of them.",
  });
}

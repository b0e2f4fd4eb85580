import { isUtf8 } from "node:buffer";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Config } from "../../core/config/index.js";
import type { SandboxManager, ToolResult } from "../../core/manager/index.js";
import { SandboxError, toSandboxError } from "../../kit/errors.js";
import type { ExecutionReply } from "../http/index.js";
import {
  disconnectSignal,
  EventStream,
  logError,
  onKeyRevoked,
  streamLostSignal,
  toErrorBody,
  toPublicError,
  wantsEvents,
} from "../http/index.js";
import type { SessionService } from "../sessions/index.js";
import { callerIdentity } from "../sessions/index.js";
import type { SessionRecord } from "../store/index.js";
import type { ExecutionLog } from "./execution-log.js";
import { toExecutionReply, toSummary } from "./execution-reply.js";
import { callOf, type ExecuteBody } from "./execution-request.js";

/** What an execution needs of the server. */
interface ExecutionServices {
  readonly config: Config;
  readonly manager: SandboxManager;
  readonly sessions: SessionService;
  readonly executions: ExecutionLog;
}

/** What `toExecutionReply` makes has exactly the declared fields: serializing by schema would take as long again as sending. */
export const plainJson = () => (reply: unknown) => JSON.stringify(reply);

/** Runs a program or a command in a session, and replies once or with events. Undefined: it sent events. */
export async function runExecution(
  services: ExecutionServices,
  request: FastifyRequest,
  reply: FastifyReply,
  session: SessionRecord,
  body: ExecuteBody,
): Promise<ExecutionReply | undefined> {
  const { manager, sessions, executions } = services;
  const caller = callerIdentity(services, request, session, body);
  const revoked = new AbortController();
  const gone = AbortSignal.any([disconnectSignal(reply), revoked.signal]);
  const used = sessions.use(session, gone);
  const tool = body.code === undefined ? "shell_exec" : "run_code";
  try {
    const id = executions.begin(session, tool);
    const about = { executionId: id, sessionId: session.name };
    const call = { ...callOf(body, services.config), ...caller, signal: used.signal };
    const end = (result: ToolResult) => {
      executions.end(id, toSummary(result));
      return toExecutionReply(result, about);
    };
    try {
      if (!wantsEvents(request.headers.accept)) return end(await manager.execute(call));
      const lost = streamLostSignal(gone, used.signal);
      using _ = onKeyRevoked(request, () =>
        revoked.abort(new SandboxError("CANCELLED", "The key was revoked")),
      );
      const stream = new EventStream(reply, lost);
      try {
        await stream.send("execution", about);
        await sendEvents(stream, manager.execute(call), end);
      } catch (error) {
        if (lost.aborted) throw error;
        const told = toPublicError(error);
        if (told.httpStatus >= 500) logError(request, error);
        await stream.send("error", toErrorBody(told, request.id));
        throw error;
      } finally {
        stream.end();
        if (lost.aborted) reply.raw.destroy();
      }
      return undefined;
    } catch (error) {
      executions.end(id, { code: toSandboxError(error).code });
      // The stream has reported it already.
      if (reply.sent) return undefined;
      throw error;
    }
  } finally {
    used.end();
  }
}

/** Leaving the loop early, when the client disconnects, ends the program. */
async function sendEvents(
  stream: EventStream,
  execution: ReturnType<SandboxManager["execute"]>,
  end: (result: ToolResult) => ExecutionReply,
): Promise<void> {
  for await (const event of execution) {
    switch (event.type) {
      case "started":
        await stream.send("started", {});
        break;
      case "stdout":
      case "stderr":
        await stream.send(event.type, toOutput(event));
        break;
      case "result":
        await stream.send("result", event.result);
        break;
      case "exit":
        await stream.send("exit", end(event.result));
        break;
    }
  }
}

/** With the bytes, where they are not those of the text: no UTF-8, or a part of a character. */
function toOutput({ text, data }: { readonly text: string; readonly data: Buffer }): object {
  const isText = data.length === Buffer.byteLength(text) && isUtf8(data);
  return { text, ...(!isText && { base64: data.toString("base64") }) };
}

import { createTools, type ToolCaller, type ToolReply } from "../../core/tools/index.js";
import { toSandboxError } from "../../kit/errors.js";
import type { McpConnection } from "../../mcp/index.js";
import {
  type ClientCall,
  type ClientTools,
  canElicit,
  createSessionFiles,
  type SessionFiles,
} from "../../mcp/index.js";
import type { ExtraApprover } from "../approvals/index.js";
import type { ExecutionSummary } from "../executions/index.js";
import { executionSummary } from "../http/index.js";
import type { Services } from "../services.js";
import type { ApiKeyRecord, SessionRecord } from "../store/index.js";
import type { KeyCalls } from "./key-calls.js";

/** Whose calls they are, and where. */
export interface ClientCallsOptions {
  readonly services: Services;
  readonly key: ApiKeyRecord;
  readonly session: SessionRecord;
  readonly caller: ToolCaller;
  readonly calls: KeyCalls;
  /** Of these tools: known once they are. */
  readonly connection: () => McpConnection;
}

/** Tools that run a program: the list of executions has their calls. */
const EXECUTIONS = ["run_code", "shell_exec", "run_tests"];

/**
 * The tools and files of a client's session. Each call is a task of that session, so that its end and a stop of the server end
 * it; it counts towards its key's limit, even when the client has disconnected.
 */
export function createClientCalls(options: ClientCallsOptions): {
  readonly tools: ClientTools;
  readonly files: SessionFiles;
} {
  const { services, session, caller } = options;
  const tools = createTools(services.manager, caller);
  const files = createSessionFiles(services.manager, caller);
  return {
    tools: {
      tools: tools.tools,
      list: () => tools.list(),
      call: (name, args, call) =>
        asWork(options, call, (signal) => {
          const run = () => tools.call(name, args, { ...call, signal });
          return EXECUTIONS.includes(name) ? recorded(services, session, name, run) : run();
        }),
    },
    files: {
      list: (call) => asWork(options, call, (signal) => files.list({ ...call, signal })),
      read: (path, maxBytes, call) =>
        asWork(options, call, (signal) => files.read(path, maxBytes, { ...call, signal })),
    },
  };
}

async function asWork<T>(
  options: ClientCallsOptions,
  call: ClientCall,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { services, key, session, calls, connection } = options;
  const leave = calls.enter(key.id);
  try {
    const used = services.sessions.use(session, call.signal);
    try {
      // The agent that asks must not be able to answer: only a key with the scope is asked at its client.
      const mayDecide = key.scopes.approve && canElicit(connection().server);
      if (!mayDecide) return await work(used.signal);
      return await services.approvals.withApprover(personAt(options, call), () => work(used.signal));
    } finally {
      used.end();
    }
  } finally {
    leave();
  }
}

/** The person at the client. What they say comes in a request, whose key is looked at as any other's. */
function personAt({ key }: ClientCallsOptions, call: ClientCall): ExtraApprover {
  return async (request, signal) => {
    const { answer } = await call.ask(request, { signal });
    return answer && { ...answer, by: `key:${key.id} (${answer.by})` };
  };
}

/** Runs something that the list of executions has, like any other. */
async function recorded(
  { executions }: Services,
  session: SessionRecord,
  tool: string,
  run: () => Promise<ToolReply>,
): Promise<ToolReply> {
  const id = executions.begin(session, tool);
  let summary: ExecutionSummary = {};
  try {
    const reply = await run();
    summary = summaryOf(reply);
    if (!("version" in reply.data)) return reply;
    return { ...reply, data: { ...reply.data, executionId: id, sessionId: session.name } };
  } catch (error) {
    summary = { code: toSandboxError(error).code };
    throw error;
  } finally {
    executions.end(id, summary);
  }
}

/** What the list keeps of a reply. Never throws: the program has run, whatever its reply looks like. */
export function summaryOf({ status, data }: Pick<ToolReply, "status" | "data">): ExecutionSummary {
  const success = status === "success";
  const error = data.error as { readonly code?: unknown } | null | undefined;
  return executionSummary.safeParse({ ...data, code: error?.code, success }).data ?? { success };
}

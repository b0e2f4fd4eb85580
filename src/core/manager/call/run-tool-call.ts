import { toSandboxError } from "../../../kit/errors.js";
import type { ExecutionSink, ResultEvent } from "../../../runtime/sandbox/index.js";
import { checkSize } from "../../../runtime/sandbox/index.js";
import { acquireSandbox } from "./acquire-sandbox.js";
import { auditViolations } from "./audit-violations.js";
import { authorizeCall, eitherSignal } from "./authorize-call.js";
import type { CallKind } from "./call-kind.js";
import { CallRecord } from "./call-record.js";
import { checkToolCall, nameCall } from "./check-call.js";
import { closingStreams } from "./checked-call.js";
import type { Guards } from "./guards.js";
import { routeCall } from "./route-call.js";
import { runInSandbox } from "./run-in-sandbox.js";
import type { ToolCall, ToolResult } from "./tool-call.js";
import { collectFiles, placeFiles } from "./transfer-files.js";

/** The steps of one tool call, from top to bottom. Every outcome leaves one audit record and one set of metrics. */
export async function runToolCall(
  request: ToolCall,
  guards: Guards,
  sink: ExecutionSink<ResultEvent>,
  /** Left out: what the request's own fields say. */
  kind?: CallKind,
): Promise<ToolResult> {
  // 1. The request, recorded before anything can happen.
  const record = CallRecord.begin(nameCall(request, kind), guards.audit, guards.metrics);
  try {
    guards.assertUsable();
    const given = checkToolCall(request, kind);
    if (kind?.type === "terminal") checkSize(kind.terminal.rows, kind.terminal.columns);
    record.note({}, given);
    using _inputs = closingStreams(given);

    // 2. May this role do this? What would the code reach for? Does a person agree?
    const authorization = await authorizeCall(given, guards, record, sink.signal);
    if (!authorization.isAuthorized) return await record.end(authorization.result);
    const { call, plan } = authorization;

    // 3. A sandbox that is strong enough and enforces every limit: an idle one of the session, or a new one.
    const chosen = await routeCall(call, plan, guards);
    if (kind?.type === "harness")
      await kind.harness.mayStart?.({ isolates: chosen.probe.capabilities.isolates });
    const acquired = await acquireSandbox(call, plan, chosen, guards);
    record.note({ sandbox: acquired.about });
    let isReusable = false;
    let closeEgress: (() => void) | undefined;
    try {
      // 4. The workspace, and egress.
      await placeFiles(acquired.sandbox, call, eitherSignal(call.signal, sink.signal));
      closeEgress = await guards.egress.enter(acquired.sandbox, plan.decision);
      // An upload may have taken long.
      guards.assertUsable();

      // 5. Run; output streams to the caller as it happens.
      const ended = await runInSandbox(acquired.sandbox, call, plan, sink);
      record.note({ ended });
      isReusable = true;
      if (guards.audit !== undefined) await auditViolations(acquired.sandbox, call, guards.audit);

      // 6. What it left.
      const outputFiles = await collectFiles(acquired, call, plan, eitherSignal(call.signal, sink.signal));

      // 7. Remember it.
      return await record.end({
        ...ended,
        ...(outputFiles !== undefined && { outputFiles }),
        ...(authorization.confirmation !== undefined && { confirmation: authorization.confirmation }),
      });
    } finally {
      // 8. Let the sandbox go; one that is thrown away takes everything with it.
      closeEgress?.();
      await acquired.release(isReusable);
    }
    // 9. The result is the caller's.
  } catch (error) {
    const failure = toSandboxError(error);
    if (failure.code !== "AUDIT_FAILED") await record.fail(failure);
    throw failure;
  } finally {
    if (typeof request?.sessionId === "string") guards.onEnded(guards.nameOf(request.sessionId));
  }
}

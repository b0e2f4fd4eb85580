import { toSandboxError } from "../../../kit/errors.js";
import type { ExecutionSink, ResultEvent } from "../../../runtime/sandbox/index.js";
import { checkSize } from "../../../runtime/sandbox/index.js";
import { auditViolations } from "./audit-violations.js";
import { authorizeCall, eitherSignal } from "./authorize-call.js";
import { CallRecord } from "./call-record.js";
import { acquireSandbox, collectFiles, placeFiles, runInSandbox } from "./call-steps.js";
import type { Guards } from "./guards.js";
import { routeCall } from "./route-call.js";
import {
  type CheckedCall,
  checkToolCall,
  closingStreams,
  nameCall,
  type ToolCall,
  type ToolResult,
} from "./tool-call.js";

/** The way of one tool call, from top to bottom. Every way out leaves one audit record and one set of metrics. */
export async function runToolCall(
  request: ToolCall,
  guards: Guards,
  sink: ExecutionSink<ResultEvent>,
  /** On a terminal; left out: on pipes. In the background. Done to files, instead of running something. By a harness. */
  kind: Pick<CheckedCall, "terminal" | "background" | "fileWork" | "harness"> = {},
): Promise<ToolResult> {
  const { fileWork, harness, ...way } = kind;
  // 1. The request, written down before anything can happen.
  const record = CallRecord.begin({ ...nameCall(request, fileWork), ...way }, guards.audit, guards.metrics);
  try {
    guards.assertUsable();
    const given = { ...checkToolCall(request, fileWork), ...way, harness };
    if (way.terminal !== undefined) checkSize(way.terminal.rows, way.terminal.columns);
    record.note({}, given);
    using _inputs = closingStreams(given);

    // 2. May this role do this? What would the code reach for? Does a person agree?
    const authorization = await authorizeCall(given, guards, record, sink.signal);
    if (!authorization.goes) return await record.end(authorization.result);
    const { call, plan } = authorization;

    // 3. A sandbox that is strong enough and enforces every limit: an idle one of the session, or a new one.
    const chosen = await routeCall(call, plan, guards);
    await harness?.mayStart?.({ isolates: chosen.probe.capabilities.isolates });
    const lease = await acquireSandbox(call, plan, chosen, guards);
    record.note({ sandbox: lease.about });
    let isReusable = false;
    let closeWayOut: (() => void) | undefined;
    try {
      // 4. The workspace, and the way out.
      if (fileWork === undefined || fileWork.isPlaced === true)
        await placeFiles(lease.sandbox, call, eitherSignal(call.signal, sink.signal));
      closeWayOut = await guards.egress.enter(lease.sandbox, plan.decision);
      // An upload may have taken long.
      guards.assertUsable();

      // 5. Run; output streams to the caller as it happens.
      const ended = await runInSandbox(lease.sandbox, call, plan, sink);
      record.note({ ended });
      isReusable = true;
      if (guards.audit !== undefined) await auditViolations(lease.sandbox, call, guards.audit);

      // 6. What it left.
      const outputFiles = await collectFiles(lease, call, plan, eitherSignal(call.signal, sink.signal));

      // 7. Remember it.
      return await record.end({
        ...ended,
        ...(outputFiles !== undefined && { outputFiles }),
        ...(authorization.confirmation !== undefined && { confirmation: authorization.confirmation }),
      });
    } finally {
      // 8. Let the sandbox go; one that is thrown away takes everything with it.
      closeWayOut?.();
      await lease.release(isReusable);
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

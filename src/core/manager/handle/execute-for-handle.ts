import { SandboxError, toSandboxError } from "../../../kit/errors.js";
import { Execution, type ResultEvent } from "../../../runtime/sandbox/index.js";
import { eitherSignal } from "../call/authorize-call.js";
import { copyCall } from "../call/check-call.js";
import type { Guards } from "../call/guards.js";
import { runToolCall } from "../call/run-tool-call.js";
import type { ToolCall, ToolResult } from "../call/tool-call.js";

/**
 * A call of a handle. What its caller's signal ended, and what a loop that was left did, is CANCELLED; what the end of the handle
 * ended has that reason. Code that `interrupt` ended has a result.
 */
export function executeForHandle(
  order: () => ToolCall,
  ended: AbortSignal,
  guards: Guards,
  complete: (call: ToolCall) => ToolCall,
): Execution<ToolResult, ResultEvent> {
  let ordered: () => ToolCall;
  try {
    const copy = copyCall(order());
    ordered = () => complete(copy);
  } catch (error) {
    ordered = () => {
      throw error;
    };
  }
  return new Execution<ToolResult, ResultEvent>(async (sink) => {
    ended.throwIfAborted();
    const call = ordered();
    const signal =
      call.signal instanceof AbortSignal ? eitherSignal(call.signal, ended) : (call.signal ?? ended);
    const cancelled = (cause?: unknown) => {
      if (ended.aborted) return ended.reason as SandboxError;
      if (call.signal?.aborted === true)
        return new SandboxError("CANCELLED", "The call was cancelled", { cause });
      if (sink.signal.aborted)
        return new SandboxError("CANCELLED", "The loop over its events was left early, which ended it", {
          cause,
        });
      return undefined;
    };
    const result = await runToolCall({ ...call, signal }, guards, sink).catch((error: unknown) => {
      const known = toSandboxError(error);
      throw ended.aborted || known.code === "CANCELLED" ? (cancelled(error) ?? known) : known;
    });
    const failure = result.reason === "cancelled" || ended.aborted ? cancelled() : undefined;
    if (failure !== undefined) throw failure;
    return result;
  });
}

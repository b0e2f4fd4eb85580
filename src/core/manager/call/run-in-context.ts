import { toSandboxError } from "../../../kit/errors.js";
import type {
  CodeContext,
  ContextResult,
  ContextRunOptions,
  ExecutionSink,
  ResultEvent,
} from "../../../runtime/sandbox/index.js";
import type { ToolResult } from "./tool-call.js";

/** Restarts under way: calls that find the same context ended wait for the same restart. */
const restarts = new WeakMap<CodeContext, Promise<void>>();
/** How often one call restarts a context that keeps ending. */
const MAX_RESTARTS = 3;

/** Runs a call's code in its context. One that has ended is restarted, and the result says that its state is lost. */
export async function runInContext(
  context: CodeContext,
  sink: ExecutionSink<ResultEvent>,
  code: string,
  options: ContextRunOptions,
): Promise<ContextResult & Pick<ToolResult, "contextEnded" | "contextRestarted">> {
  let lost: string | undefined;
  for (let turn = 0; ; turn++) {
    if (context.state === "ended") {
      lost = context.ending ?? "unknown reason";
      await restart(context);
    }
    try {
      const result = await context.runInto(sink, code, options);
      const ended = context.state === "ended" ? (context.ending ?? "unknown reason") : undefined;
      return {
        ...result,
        ...(lost !== undefined && { contextRestarted: lost }),
        ...(ended !== undefined && { contextEnded: ended }),
      };
    } catch (error) {
      // It ended while this call waited for its turn, and has not seen the code.
      const isOver = toSandboxError(error).code === "CONTEXT_ENDED" && context.state === "ended";
      if (!isOver || turn >= MAX_RESTARTS) throw error;
    }
  }
}

/** Only one that has ended, and only once: a second start would end what runs in the first. */
function restart(context: CodeContext): Promise<void> {
  const started = restarts.get(context);
  if (started !== undefined) return started;
  const starting = context.restart().finally(() => restarts.delete(context));
  restarts.set(context, starting);
  return starting;
}

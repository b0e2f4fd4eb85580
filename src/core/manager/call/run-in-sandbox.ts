import type {
  ExecOptions,
  ExecutionResult,
  ExecutionSink,
  ResultEvent,
  RunningSandbox,
} from "../../../runtime/sandbox/index.js";
import { LONGEST_TIMEOUT_MS, SHELL } from "../../../runtime/sandbox/index.js";
import type { CallPlan } from "./assess-call.js";
import type { CheckedCall } from "./checked-call.js";
import { runFileTask } from "./run-file-task.js";
import { runInContext } from "./run-in-context.js";

/** Runs the call in the way its kind asks for, with the time and the output that the plan allows. */
export async function runInSandbox(
  sandbox: RunningSandbox,
  call: CheckedCall,
  plan: CallPlan,
  sink: ExecutionSink<ResultEvent>,
): Promise<ExecutionResult> {
  const { kind } = call;
  const options = optionsFor(call, plan);
  const { argv, command = "", code, language = "", filename, args } = call;
  switch (kind.type) {
    case "files":
      return runFileTask(sandbox, kind.task, plan.decision, call.signal);
    case "terminal":
      return sandbox.terminalInto(sink, argv ?? SHELL.command(command), kind.terminal, options);
    case "context": {
      const context = await sandbox.obtainContext(kind.name, language);
      const { timeoutMs, maxOutputBytes, signal } = options;
      // The check of the call lets texts through only.
      const stdin = call.stdin as string | undefined;
      return runInContext(context, sink, code ?? "", { timeoutMs, maxOutputBytes, signal, stdin });
    }
    default: {
      if (argv !== undefined) return sandbox.execInto(sink, argv, options);
      if (code === undefined) return sandbox.execLineInto(sink, command, options);
      const program = { ...options, language, filename, args, isolate: kind.type === "cell" };
      return sandbox.runCodeInto(sink, code, program, kind.type === "harness" ? kind.harness : undefined);
    }
  }
}

function optionsFor(call: CheckedCall, { limits }: CallPlan): ExecOptions {
  const { env, cwd, stdin, signal } = call;
  const timeoutMs =
    smaller(call.timeoutMs, limits.timeoutMs) ??
    (call.kind.type === "background" ? LONGEST_TIMEOUT_MS : undefined);
  const maxOutputBytes = smaller(call.maxOutputBytes, limits.outputBytes);
  return { env, cwd, stdin, signal, timeoutMs, maxOutputBytes };
}

function smaller(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}

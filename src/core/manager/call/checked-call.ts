import type { AuditResult } from "../../../guard/audit/index.js";
import { type ExecutionResult, SHELL } from "../../../runtime/sandbox/index.js";
import { StreamedInput } from "../files/streamed-input.js";
import type { CallKind } from "./call-kind.js";
import type { ToolCall, UnversionedResult } from "./tool-call.js";

/** A call that makes sense, with its tool named and its kind known. */
export type CheckedCall = Omit<ToolCall, "files" | "context" | "isolate"> & {
  readonly tool: string;
  readonly kind: CallKind;
  readonly files?: Readonly<Record<string, string | Uint8Array | StreamedInput>> | undefined;
};

/** The inputs of a call that are read while they are put in place. */
export function streamsOf({ files = {} }: CheckedCall): StreamedInput[] {
  return Object.values(files).filter((each) => each instanceof StreamedInput);
}

/** Whatever comes of the call, none of its streams stays open. */
export function closingStreams(call: CheckedCall): Disposable {
  return {
    [Symbol.dispose]() {
      for (const stream of streamsOf(call)) stream.close();
    },
  };
}

/** The text that is decided about, shown to a person and hashed into the audit record. */
export function textOf({
  code,
  command,
  argv,
  kind,
}: Pick<ToolCall, "code" | "command" | "argv"> & { readonly kind?: CallKind }): string {
  if (kind?.type === "files") return kind.task.summary;
  return code ?? command ?? (Array.isArray(argv) ? argv.map(quote).join(" ") : "");
}

/** The language of that text, for parsers. */
export function languageOf({ code, language, kind }: CheckedCall): string {
  if (kind.type === "files") return "text";
  return code === undefined ? SHELL.language : (language ?? "");
}

/** An argument as a shell would have to be given it. */
export function quote(given: string): string {
  const argument = String(given);
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}

/** What the audit record calls an execution's end. */
export function auditResultOf(result: ExecutionResult): AuditResult {
  if (result.success) return "success";
  return result.reason === "exited" || result.reason === "signaled" ? "failure" : result.reason;
}

/** The result of a call that never ran. */
export function notRun(
  call: Pick<ToolCall, "sessionId">,
  reason: "denied" | "rejected" | "cancelled",
  error: string,
): UnversionedResult {
  return {
    success: false,
    reason,
    exitCode: null,
    signal: null,
    stdout: "",
    stderr: "",
    truncated: false,
    executionTimeMs: 0,
    cpuTimeMs: 0,
    memoryUsedMb: 0,
    sandboxType: "none",
    sandboxId: "",
    sessionId: call.sessionId ?? "",
    filesWritten: [],
    filesDeleted: [],
    fileChanges: [],
    warm: false,
    error,
  };
}

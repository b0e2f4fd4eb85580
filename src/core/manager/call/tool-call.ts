import { Readable } from "node:stream";
import type { RiskAssessment } from "../../../guard/analysis/index.js";
import type { AuditResult } from "../../../guard/audit/index.js";
import type { PolicyDecision } from "../../../guard/policy/index.js";
import { SandboxError } from "../../../kit/errors.js";
import type {
  ContextResult,
  ExecOptions,
  ExecutionResult,
  TerminalSeat,
} from "../../../runtime/sandbox/index.js";
import { findLanguage } from "../../../runtime/sandbox/index.js";
import {
  type Collected,
  type OutputStream,
  parseInnerPath,
  validateSessionKey,
} from "../../../runtime/workspace/index.js";
import { HostFile, StreamedInput } from "../files/streamed-input.js";
import type { CellOptions } from "../manager-options.js";
import { checkCellOptions } from "../sandboxes/cell-options.js";
import type { FileWork } from "./file-call.js";
import type { CallHarness } from "./harness-call.js";

/** What an agent wants done, and in whose name. */
export interface ToolCall extends ExecOptions {
  /** Left out: a sandbox of its own that is thrown away. */
  readonly sessionId?: string | undefined;
  readonly agentId?: string | undefined;
  readonly orgId?: string | undefined;
  /** What the caller calls this request, for the record. */
  readonly requestId?: string | undefined;
  /** A role of the policy. */
  readonly role?: string | undefined;
  /** What the policy calls it. Left out: `code_run` for code, `shell_exec` for a command. */
  readonly tool?: string | undefined;
  /** A program: its language and text. */
  readonly language?: string | undefined;
  readonly code?: string | undefined;
  readonly filename?: string | undefined;
  readonly args?: readonly string[] | undefined;
  /** Or a shell's command line. */
  readonly command?: string | undefined;
  /** Or a command without a shell. */
  readonly argv?: readonly string[] | undefined;
  /** Files to put into the workspace before it runs, by their path there. A stream is read once, and destroyed. */
  readonly files?: Readonly<Record<string, string | Uint8Array | HostFile | Readable>> | undefined;
  /** Files to bring back when it has ended: paths and globs. */
  readonly outputFiles?: readonly string[] | undefined;
  /**
   * Takes the output files, one after the other, as they are read. Left out: they come in the result, 64 MiB of all
   * together. What it throws is why a file is in `outputFiles.skipped` of the result.
   */
  readonly onOutputFile?: ((file: OutputStream) => Promise<void> | void) | undefined;
  /** Only one that is at least as strong as what the security mode asks for. */
  readonly backend?: string | undefined;
  /**
   * Runs the code in the session's context of that name, which keeps its state between calls; the first call makes it. It goes
   * with the session's sandbox.
   */
  readonly context?: string | undefined;
  /**
   * Runs the code in a cell: it sees neither the session's files nor its other programs, and leaves nothing. Calls without a
   * session that have the same owner (org, agent, role) and ask for the same share a sandbox, each in a cell of its own.
   */
  readonly isolate?: boolean | CellOptions | undefined;
}

/** What came of a tool call. Of code in a context it also says what that showed. */
export interface ToolResult
  extends ExecutionResult,
    Partial<
      Pick<ContextResult, "contextId" | "results" | "exception" | "executionCount" | "resultsTruncated">
    > {
  /** Why the context ended in this run; the next call starts it anew. Left out: it goes on. */
  readonly contextEnded?: string;
  /** Why the context had ended before this run, which started it anew, without its state. */
  readonly contextRestarted?: string;
  /** What the policy said; left out without a policy. */
  readonly decision?: PolicyDecision;
  /** What the code would reach for; left out where nobody looked. */
  readonly risk?: RiskAssessment;
  /** Who agreed to it or did not, where somebody was asked. */
  readonly confirmation?: { readonly approved: boolean; readonly edited: boolean; readonly by?: string };
  /** The call's record in the audit log. */
  readonly auditId?: string;
  /** What `outputFiles` of the call brought. */
  readonly outputFiles?: Collected;
}

/** A call that makes sense, with its tool named. */
export type CheckedCall = Omit<ToolCall, "files"> & {
  readonly tool: string;
  readonly files?: Readonly<Record<string, string | Uint8Array | StreamedInput>> | undefined;
  /** It runs on a terminal, and nobody knows what will be typed into it. */
  readonly terminal?: TerminalSeat | undefined;
  /** It goes on beside other calls, with no time limit of its own. */
  readonly background?: true | undefined;
  /** It is done to the session's files, and runs nothing; `files` is then what it will write. */
  readonly fileWork?: FileWork | undefined;
  /** It does not run as a program, but by this. */
  readonly harness?: CallHarness | undefined;
};

export const MAX_CODE_BYTES = 8 * 1024 * 1024;

/** Refuses what no policy could decide about. Nobody else may hold the call that it takes: see `copyCall`. */
export function checkToolCall(given: ToolCall, fileWork?: FileWork): CheckedCall {
  if (typeof given !== "object" || given === null) {
    throw invalid("A tool call is an object", 'For example { language: "python", code: "print(1)" }.');
  }
  if (fileWork?.refusal !== undefined) throw fileWork.refusal;
  for (const name of LISTS) checkList(name, given[name]);
  checkRecord("env", given.env, isText);
  checkRecord("files", given.files, isContent);
  const call: CheckedCall = { ...given, files: inputsOf(given.files), tool: toolOf(given), fileWork };
  const kinds = [call.code, call.command, call.argv, fileWork].filter((each) => each !== undefined);
  if (kinds.length !== 1) {
    throw invalid(
      "A tool call takes code, a command or an argv, and one of them only",
      'For example { language: "python", code: "print(1)" } or { command: "ls -la" }.',
    );
  }
  for (const name of TEXTS) {
    if (call[name] !== undefined && !isText(call[name]))
      throw invalid(`${name} must be text`, "Leave it out, or pass a string.");
  }
  if (call.code !== undefined && call.language === undefined) {
    throw invalid(
      "A program takes a language and its code, both as text",
      'For example { language: "python", code: "print(1)" }.',
    );
  }
  if (call.argv !== undefined && !call.argv[0]) {
    throw invalid(
      "A command is a list of texts, the program first",
      'Pass the program and its arguments: ["ls", "-la"].',
    );
  }
  if (call.onOutputFile !== undefined && typeof call.onOutputFile !== "function") {
    throw invalid("onOutputFile must be a function", "It takes one file after the other.");
  }
  if (call.language !== undefined) findLanguage(call.language);
  checkContext(call);
  checkIsolation(call);
  const text = textOf(call);
  if (text.length > MAX_CODE_BYTES || Buffer.byteLength(text) > MAX_CODE_BYTES) {
    throw invalid("A program may have 8 MiB at most", "Put data into files and pass them with `files`.");
  }
  if (text.includes("\0")) {
    throw invalid(
      "A program or command cannot hold a NUL character",
      "Write it as an escape of the language.",
    );
  }
  for (const path of [...Object.keys(call.files ?? {}), ...(call.outputFiles ?? [])]) parseInnerPath(path);
  if (call.sessionId !== undefined) validateSessionKey(call.sessionId);
  return call;
}

/** A context has its surroundings from its beginning, and belongs to a session. */
function checkContext(call: CheckedCall): void {
  if (call.context === undefined) return;
  const given = NOT_IN_CONTEXTS.find((name) => call[name] !== undefined);
  if (call.code === undefined || given !== undefined) {
    throw invalid(
      `Only code runs in a context${given === undefined ? "" : `, and it takes no ${given}`}`,
      "Leave the context out, or set what the code needs in the code itself.",
    );
  }
  if (call.sessionId === undefined) {
    throw invalid("A context belongs to a session", "Pass a sessionId.");
  }
}

/** A cell has nothing but its program. */
function checkIsolation(call: CheckedCall): void {
  if (call.isolate === undefined || call.isolate === false) return;
  const given = NOT_IN_CELLS.find((name) => call[name] !== undefined);
  if (isRecord(call.isolate)) checkCellOptions(call.isolate);
  else if (call.isolate !== true) throw invalid("isolate is true, or what the cell may have", "Pass true.");
  if (call.code === undefined || given !== undefined) {
    throw invalid(
      `Only code runs in a cell${given === undefined ? "" : `, and it takes no ${given}`}`,
      "Leave isolate out, or put what the code needs into the code itself.",
    );
  }
}

const NOT_IN_CELLS = ["cwd", "filename", "files", "outputFiles", "context"] as const;
const NOT_IN_CONTEXTS = ["env", "cwd", "stdin", "args", "filename"] as const;

const TEXTS = [
  "code",
  "context",
  "command",
  "language",
  "filename",
  "cwd",
  "tool",
  "role",
  "agentId",
  "orgId",
  "requestId",
  "backend",
] as const;

/**
 * The call as it is now, for a caller who goes on to change his own. What makes no sense stays as it is, for
 * `checkToolCall` to refuse; what cannot even be read becomes no call at all.
 */
export function copyCall(given: ToolCall): ToolCall {
  if (typeof given !== "object" || given === null) return given;
  try {
    const call = { ...given } as Record<string, unknown>;
    for (const name of LISTS) if (Array.isArray(call[name])) call[name] = [...call[name]];
    for (const name of RECORDS) if (isRecord(call[name])) call[name] = copyRecord(call[name]);
    call.stdin = copyContent(call.stdin);
    return call;
  } catch {
    return undefined as unknown as ToolCall;
  }
}

const LISTS = ["args", "argv", "outputFiles"] as const;
const RECORDS = ["env", "files"] as const;

function copyRecord(record: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).map(([key, each]) => [key, copyContent(each)]));
}

function copyContent(content: unknown): unknown {
  return content instanceof Uint8Array ? Uint8Array.from(content) : content;
}

function isRecord(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function checkList(name: string, value: unknown): void {
  if (value === undefined || (Array.isArray(value) && value.every(isText))) return;
  throw invalid(`${name} must be a list of texts`, 'For example ["a", "b"].');
}

function checkRecord(name: string, value: unknown, isValue: (each: unknown) => boolean): void {
  if (value === undefined || (isRecord(value) && Object.values(value).every(isValue))) return;
  throw invalid(
    `${name} must be an object with texts${name === "files" ? ", bytes, host files or streams" : ""}`,
    'For example { "NAME": "value" }.',
  );
}

function isContent(value: unknown): boolean {
  return isText(value) || value instanceof Uint8Array || isStreamed(value);
}

function isStreamed(value: unknown): value is HostFile | Readable {
  return value instanceof HostFile || value instanceof Readable;
}

function inputsOf(files: ToolCall["files"]): CheckedCall["files"] {
  if (files === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(files).map(([path, each]) => [path, isStreamed(each) ? new StreamedInput(each) : each]),
  );
}

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

/** What can be said of a call that may make no sense at all: texts only, and few of them. */
export function nameCall(given: ToolCall, fileWork?: FileWork): CheckedCall {
  const call: ToolCall = typeof given === "object" && given !== null ? given : {};
  const text = (name: keyof ToolCall) => {
    const value = call[name];
    return typeof value === "string" ? value : undefined;
  };
  const { argv } = call;
  return {
    tool: text("tool") ?? (text("code") === undefined ? "shell_exec" : "code_run"),
    sessionId: text("sessionId"),
    agentId: text("agentId"),
    orgId: text("orgId"),
    requestId: text("requestId"),
    role: text("role"),
    language: text("language"),
    fileWork,
    ...(fileWork !== undefined
      ? {}
      : text("code") !== undefined
        ? { code: text("code") }
        : {
            command: text("command") ?? (Array.isArray(argv) && argv.every(isText) ? textOf({ argv }) : ""),
          }),
  };
}

function toolOf(call: ToolCall): string {
  return call.tool ?? (call.code === undefined ? "shell_exec" : "code_run");
}

/** The text that is decided about, shown to a person and hashed into the audit record. */
export function textOf(call: Pick<CheckedCall, "code" | "command" | "argv" | "fileWork">): string {
  const argv = Array.isArray(call.argv) ? call.argv.map(quote).join(" ") : "";
  return call.code ?? call.command ?? call.fileWork?.summary ?? argv;
}

/** The language of that text, for parsers. */
export function languageOf(call: Pick<CheckedCall, "code" | "language" | "fileWork">): string {
  if (call.fileWork !== undefined) return "text";
  return call.code === undefined ? "bash" : (call.language ?? "");
}

/** An argument as a shell would have to be given it. */
export function quote(given: string): string {
  const argument = String(given);
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
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
): ToolResult {
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

function invalid(message: string, hint: string): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", message, { hint });
}

import { Readable } from "node:stream";
import { unknownOption } from "../../../kit/check-options.js";
import { checkCodeSize } from "../../../kit/code-limits.js";
import { SandboxError } from "../../../kit/errors.js";
import { findLanguage } from "../../../runtime/sandbox/index.js";
import { parseInnerPath, validateSessionKey } from "../../../runtime/workspace/index.js";
import { HostFile, StreamedInput } from "../files/streamed-input.js";
import { checkCellOptions } from "../sandboxes/cell-options.js";
import { type CallKind, PLAIN } from "./call-kind.js";
import { type CheckedCall, textOf } from "./checked-call.js";
import type { ToolCall } from "./tool-call.js";

/**
 * Refuses what no policy could decide about, and says which kind of call it is. Only the manager may hold the call that it
 * takes: see `copyCall`. `kind` is given where the method that was called says it.
 */
export function checkToolCall(given: ToolCall, kind?: CallKind): CheckedCall {
  if (typeof given !== "object" || given === null) {
    throw invalid("A tool call is an object", 'For example { language: "python", code: "print(1)" }.');
  }
  if (kind?.type === "files" && kind.task.refusal !== undefined) throw kind.task.refusal;
  checkTypes(given);
  checkProgram(given, kind);
  const { context: _, isolate: __, ...shared } = given;
  const call: CheckedCall = {
    ...shared,
    tool: toolOf(given),
    kind: kindOf(given, kind),
    files: inputsOf(given.files),
  };
  checkText(textOf(call));
  for (const path of [...Object.keys(call.files ?? {}), ...(call.outputFiles ?? [])]) parseInnerPath(path);
  if (call.sessionId !== undefined) validateSessionKey(call.sessionId);
  return call;
}

function checkTypes(given: ToolCall): void {
  for (const name of Object.keys(given)) if (!Object.hasOwn(FIELDS, name)) throw unknownOption(name, FIELDS);
  for (const name of LISTS) checkList(name, given[name]);
  checkRecord("env", given.env, isText);
  checkRecord("files", given.files, isContent);
  for (const name of TEXTS) {
    if (given[name] !== undefined && !isText(given[name]))
      throw invalid(`${name} must be text`, "Leave it out, or pass a string.");
  }
  if (given.signal !== undefined && !(given.signal instanceof AbortSignal))
    throw invalid("signal must be an AbortSignal", "For example AbortSignal.timeout(5000).");
  if (given.onOutputFile !== undefined && typeof given.onOutputFile !== "function") {
    throw invalid("onOutputFile must be a function", "It takes one file after the other.");
  }
}

/** Exactly one thing to do, and all that it takes. */
function checkProgram({ code, command, argv, args, language }: ToolCall, kind: CallKind | undefined): void {
  const task = kind?.type === "files" ? kind.task : undefined;
  if ([code, command, argv, task].filter((each) => each !== undefined).length !== 1) {
    throw invalid(
      "A tool call takes code, a command or an argv, and one of them only",
      'For example { language: "python", code: "print(1)" } or { command: "ls -la" }.',
    );
  }
  if (code !== undefined && language === undefined) {
    throw invalid(
      "A program takes a language and its code, both as text",
      'For example { language: "python", code: "print(1)" }.',
    );
  }
  if (code === undefined && args !== undefined) {
    throw invalid("Only a program given as code takes args", 'Put them into the command: ["echo", "a"].');
  }
  if (argv !== undefined && !argv[0]) {
    throw invalid(
      "A command is a list of texts, the program first",
      'Pass the program and its arguments: ["ls", "-la"].',
    );
  }
  if (language !== undefined) findLanguage(language);
}

function checkText(text: string): void {
  checkCodeSize(text);
  if (text.includes("\0")) {
    throw invalid(
      "A program or command cannot hold a NUL character",
      "Write it as an escape of the language.",
    );
  }
}

/** The kind that the call's own fields ask for, unless the method that was called says it. */
function kindOf(call: ToolCall, kind: CallKind | undefined): CallKind {
  const { context, isolate } = call;
  const hasCell = isolate !== undefined && isolate !== false;
  if (context !== undefined) checkContext(call);
  if (hasCell) checkCell(call);
  if (kind !== undefined) {
    if (context === undefined && !hasCell) return kind;
    throw invalid(`A ${kind.type} call has neither a context nor a cell`, "Leave out context and isolate.");
  }
  if (context !== undefined) return { type: "context", name: context };
  return hasCell ? { type: "cell", options: isolate } : PLAIN;
}

/** A context has its variables and its directory from its start, and belongs to a session. */
function checkContext(call: ToolCall): void {
  const given = NOT_IN_CONTEXTS.find((name) => call[name] !== undefined);
  if (call.code === undefined || given !== undefined) {
    throw invalid(
      `Only code runs in a context${given === undefined ? "" : `, and it takes no ${given}`}`,
      "Leave the context out, or set what the code needs in the code itself.",
    );
  }
  if (call.stdin !== undefined && typeof call.stdin !== "string") {
    throw invalid("The input of code in a context is a text", "Decode it, or leave the context out.");
  }
  if (call.sessionId === undefined) {
    throw invalid("A context belongs to a session", "Pass a sessionId.");
  }
}

/** A cell has nothing but its program. */
function checkCell(call: ToolCall): void {
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
const NOT_IN_CONTEXTS = ["env", "cwd", "args", "filename"] as const;

/** A misspelt limit must not be no limit. */
const FIELDS: Readonly<Record<keyof ToolCall, true>> = {
  sessionId: true,
  agentId: true,
  orgId: true,
  requestId: true,
  role: true,
  tool: true,
  language: true,
  code: true,
  filename: true,
  args: true,
  command: true,
  argv: true,
  files: true,
  outputFiles: true,
  onOutputFile: true,
  backend: true,
  context: true,
  isolate: true,
  env: true,
  cwd: true,
  stdin: true,
  timeoutMs: true,
  signal: true,
  maxOutputBytes: true,
};

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
 * A copy of the call, which the caller cannot change afterwards. Invalid values stay as they are, for
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

/** What can be said of a call that may make no sense at all: texts only, and few of them. */
export function nameCall(given: ToolCall, kind: CallKind = PLAIN): CheckedCall {
  const call: ToolCall = typeof given === "object" && given !== null ? given : {};
  const text = (name: keyof ToolCall) => {
    const value = call[name];
    return typeof value === "string" ? value : undefined;
  };
  const { argv } = call;
  return {
    tool: text("tool") ?? (text("code") === undefined ? "shell_exec" : "run_code"),
    sessionId: text("sessionId"),
    agentId: text("agentId"),
    orgId: text("orgId"),
    requestId: text("requestId"),
    role: text("role"),
    language: text("language"),
    kind,
    ...(kind.type === "files"
      ? {}
      : text("code") !== undefined
        ? { code: text("code") }
        : {
            command: text("command") ?? (Array.isArray(argv) && argv.every(isText) ? textOf({ argv }) : ""),
          }),
  };
}

function toolOf(call: ToolCall): string {
  return call.tool ?? (call.code === undefined ? "shell_exec" : "run_code");
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function invalid(message: string, hint: string): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", message, { hint });
}

import { z } from "zod";
import { oneLine } from "../../kit/one-line.js";
import type { Execution, ResultEvent, RichResult } from "../../runtime/sandbox/index.js";
import { type ToolCall, type ToolResult, toResultJson } from "../manager/index.js";
import { endText, outputText } from "./replies/result-text.js";
import {
  createReply,
  IMAGE_TYPES,
  type ReplyImage,
  refusalReply,
  statusOf,
  type ToolReply,
} from "./replies/tool-reply.js";
import type { ToolContext } from "./tool.js";

export const MAX_TIMEOUT_MS = 600_000;

export const timeoutArgument = (defaultMs: number, what = "Time limit in milliseconds") =>
  z.number().int().min(1).max(MAX_TIMEOUT_MS).optional().describe(`${what}. Default ${defaultMs}.`);

/** Runs a call and makes a reply of what came of it. */
export async function runAndReply(context: ToolContext, call: ToolCall): Promise<ToolReply> {
  const { manager, caller, signal } = context;
  const streams = context.onOutput !== undefined;
  const execution = manager.execute({
    ...caller,
    ...call,
    signal,
    // A stream has no limit of its own.
    ...(streams && { maxOutputBytes: MAX_FOLLOWED_BYTES }),
  });
  const result = streams ? await follow(execution, context) : await execution;
  return refusalReply(result) ?? replyOf(result, call);
}

/** Hands output on as it comes, and keeps it: a result of a streamed execution has none. */
async function follow(
  execution: Execution<ToolResult, ResultEvent>,
  { onOutput }: ToolContext,
): Promise<ToolResult> {
  const kept = { stdout: "", stderr: "" };
  for await (const event of execution) {
    if (event.type === "stdout" || event.type === "stderr") {
      kept[event.type] += event.text;
      onOutput?.(event.type, event.text);
    } else if (event.type === "exit") {
      return { ...event.result, ...kept };
    }
  }
  return execution;
}

const MAX_FOLLOWED_BYTES = 10 * 1024 * 1024;

function replyOf(result: ToolResult, call: ToolCall): ToolReply {
  const { results = [] } = result;
  const [printed, changed, network] = [printedText(result), changesText(result), networkText(result)];
  return createReply({
    status: statusOf(result),
    summary: summaryOf(result),
    data: dataOf(result),
    inside: [
      ...(printed === "" ? [] : [{ what: "What the program printed follows", text: printed }]),
      // A program chooses the names of hosts that it asks for.
      ...(network === "" ? [] : [{ what: "What it did not reach on the network follows", text: network }]),
      ...(changed === "" ? [] : [{ what: "Names of the files that it changed follow", text: changed }]),
    ],
    words: [...(printed === "" ? ["(no output)"] : []), ...wordsOf(result), ...limitWords(result, call)],
    ...(results.length > 0 && { images: picturesOf(results) }),
  });
}

/** Bytes that are no text are nothing for a model. */
function dataOf(result: ToolResult): Record<string, unknown> {
  const { stdoutBase64: _, stderrBase64: __, ...data } = toResultJson(result);
  return data;
}

function summaryOf(result: ToolResult): string {
  const { contextEnded, executionTimeMs } = result;
  const seconds = (executionTimeMs / 1000).toFixed(executionTimeMs < 10_000 ? 2 : 0);
  const isSaid = result.error?.startsWith("The context has ended") === true;
  const ended = contextEnded === undefined || isSaid ? "" : `; its context has ended: ${contextEnded}`;
  return result.success
    ? `It ran in ${seconds} s${ended}`
    : `It failed after ${seconds} s: ${result.error ?? result.reason}${ended}`;
}

function printedText(result: ToolResult): string {
  const { results = [], exception } = result;
  const shown = results.map(({ data }) => plainForm(data)).filter((text) => text !== "");
  return [
    outputText(result, Number.POSITIVE_INFINITY),
    ...shown,
    ...(exception === undefined ? [] : [exception.traceback || `${exception.name}: ${exception.value}`]),
  ]
    .filter((text) => text !== "")
    .join("\n");
}

/** Which limit ended it, and what raises that one. */
function limitWords({ reason, executionTimeMs }: ToolResult, { timeoutMs = 0 }: ToolCall): string[] {
  if (reason === "memory")
    return [
      "Everything in the sandbox shares its memory limit. Use less at a time, or ask the person to raise it: sandbox.limits.memory, or the option for it where the sandbox is started.",
    ];
  if (reason === "output-limit") return ["Print less, or write it to a file and read a part of that."];
  if (reason !== "timeout") return [];
  // It ended before the time that the call asked for.
  if (executionTimeMs < timeoutMs)
    return [
      "This limit is the person's, by a policy's max_execution_time or sandbox.runtime.timeout: timeoutMs cannot raise it.",
    ];
  return timeoutMs < MAX_TIMEOUT_MS
    ? [`timeoutMs raises this limit, up to ${MAX_TIMEOUT_MS}.`]
    : ["This is the longest that a call takes: do it in parts."];
}

/** What we know of how it ended, and what a model must not take for granted. */
function wordsOf(result: ToolResult): string[] {
  const { contextId, contextEnded, contextRestarted, executionCount } = result;
  const name = JSON.stringify(contextId);
  const end = endText(result);
  return [
    ...(end === "" ? [] : [end]),
    ...(result.filesWrittenTruncated === true ? ["More files may have changed than are listed here."] : []),
    ...(result.resultsTruncated === true ? ["Some of what it showed is left out: it was too much."] : []),
    ...(contextRestarted !== undefined
      ? [`The context ${name} had ended: ${contextRestarted}. It was restarted; its state is lost.`]
      : // Its sandbox may have been replaced since, and the state with it.
        executionCount === 1
        ? [`The context ${name} is new.`]
        : []),
    ...(contextEnded !== undefined
      ? [`The context ${name} has ended: ${contextEnded}. The next call restarts it; its state is lost.`]
      : []),
  ];
}

/** The form of a value that a model reads best. */
function plainForm(data: RichResult["data"]): string {
  const markdown = data["text/markdown"];
  const text = typeof markdown === "string" ? markdown : data["text/plain"];
  return typeof text === "string" ? text : "";
}

/** Directories that clients and interpreters fill by themselves: a model would take them for the program's files. */
const CACHES = [".cache", ".npm", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"];

function isCache(path: string): boolean {
  return path.split("/").some((part) => CACHES.includes(part));
}

const LISTED_CHANGES = 20;
const MAX_NAME_CHARACTERS = 200;

function networkText({ network }: ToolResult): string {
  return [...(network?.denied ?? []), ...(network?.failed ?? [])].map((line) => oneLine(line)).join("\n");
}

function changesText({ fileChanges }: ToolResult): string {
  const own = fileChanges.filter(({ path }) => !isCache(path));
  const listed = own
    .slice(0, LISTED_CHANGES)
    .map(({ path, change }) => `${JSON.stringify(oneLine(path, MAX_NAME_CHARACTERS))} ${change}`);
  const more = own.length - listed.length;
  return [...listed, ...(more > 0 ? [`and ${more} more`] : [])].join("\n");
}

function picturesOf(results: readonly RichResult[]): ReplyImage[] {
  return results.flatMap(({ data }) => {
    const mimeType = IMAGE_TYPES.find((type) => typeof data[type] === "string");
    return mimeType === undefined ? [] : [{ mimeType, data: data[mimeType] as string }];
  });
}

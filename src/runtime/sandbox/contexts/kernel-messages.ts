import type { CodeException, RichResult } from "./context-result.js";
import { broken } from "./messages.js";

/** What an interpreter of ours says of an error at most. */
const MAX_NAME = 200;
const MAX_TEXT = 1 << 21;

/** Messages of an interpreter to the host. None of them is trusted. */
export type KernelMessage =
  | { readonly type: "ready" }
  | { readonly type: "started"; readonly run: number }
  | { readonly type: "refused"; readonly why: string }
  | { readonly type: "result"; readonly run: number; readonly result: RichResult }
  | {
      readonly type: "done";
      readonly run: number;
      readonly count: number;
      readonly exitCode: number;
      readonly exception: CodeException | undefined;
      /** False: the code ended in its own way, whether it was interrupted or not. */
      readonly wasInterrupted: boolean;
      readonly cut: boolean;
      readonly cpuMs: number;
      readonly memoryKb: number;
    };

/** Parses a message; throws for an invalid one. */
export function parseKernelMessage(message: unknown): KernelMessage {
  const given = objectOf(message);
  switch (given.type) {
    case "ready":
      return { type: "ready" };
    case "started":
      return { type: "started", run: countOf(given.run) };
    case "refused":
      return { type: "refused", why: textOf(given.why).slice(0, MAX_NAME) };
    case "result":
      return {
        type: "result",
        run: countOf(given.run),
        result: { data: formsOf(given.data), isMain: given.main === true },
      };
    case "done":
      return {
        type: "done",
        run: countOf(given.run),
        count: countOf(given.count),
        exitCode: countOf(given.exitCode) & 0xff,
        exception: given.error == null ? undefined : exceptionOf(given.error),
        wasInterrupted: given.interrupted !== false,
        cut: given.cut === true,
        cpuMs: amountOf(given.cpuMs),
        memoryKb: amountOf(given.memoryKb),
      };
    default:
      throw broken("something unknown");
  }
}

function exceptionOf(error: unknown): CodeException {
  const { name, value, traceback } = objectOf(error);
  return {
    name: textOf(name).slice(0, MAX_NAME),
    value: textOf(value).slice(0, MAX_TEXT),
    traceback: textOf(traceback).slice(0, MAX_TEXT),
  };
}

/** By MIME type: text, base64 for pictures, a value for JSON. */
function formsOf(data: unknown): Readonly<Record<string, unknown>> {
  const forms = Object.entries(objectOf(data)).filter(([type]) => /^[\w.+-]+\/[\w.+-]+$/.test(type));
  return Object.fromEntries(forms.map(([type, form]) => [type, isJson(type) ? form : textOf(form)]));
}

function isJson(type: string): boolean {
  return type === "application/json" || type.endsWith("+json");
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw broken("something that is no message");
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function countOf(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : 0;
}

function amountOf(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : 0;
}

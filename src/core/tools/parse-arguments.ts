import type { z } from "zod";
import { closestWord } from "../../kit/closest-word.js";
import { escapeUnsafe } from "../../kit/escape-unsafe.js";
import { withoutNulls } from "./model-schema.js";
import { invalidArguments } from "./replies/tool-reply.js";
import type { Tool } from "./tool.js";

/** Complaints about names that are none: the first say enough. */
const MOST_NAMED = 20;

/** The arguments of a call, or an error that names every one that is missing, strange or of the wrong type. */
export function parseArguments(tool: Tool, given: unknown): Record<string, unknown> {
  const names = argumentNames(tool);
  const read = typeof given === "string" ? readJson(given) : (given ?? {});
  const parsed = tool.input.safeParse(read);
  if (parsed.success) return parsed.data;
  const spare = tool.input.safeParse(withoutNulls(read));
  if (spare.success) return spare.data;
  const complaints = parsed.error.issues.flatMap((issue) => complain(issue, read, names));
  throw invalidArguments(
    `${tool.name}: ${complaints.join("; ")}`,
    `Its arguments are ${names.length === 0 ? "none" : names.join(", ")}.`,
  );
}

/** What a model wrote, which some leave empty where there are no arguments; undefined: it is no JSON. */
function readJson(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The names that a tool's schema knows. */
function argumentNames({ input }: Tool): string[] {
  return Object.keys(input.shape);
}

function complain(issue: z.core.$ZodIssue, given: unknown, names: readonly string[]): string[] {
  if (issue.code === "unrecognized_keys") {
    const inside = issue.path.map((each) => `${String(each)}.`).join("");
    const more = issue.keys.length - MOST_NAMED;
    const named = issue.keys.slice(0, MOST_NAMED).map((key) => {
      const meant = inside === "" ? closestWord(key, names) : undefined;
      const hint = meant === undefined ? "" : ` (did you mean ${meant}?)`;
      return `${quote(`${inside}${key}`)} is not an argument${hint}`;
    });
    return more > 0 ? [...named, `and ${more} more unknown arguments`] : named;
  }
  const path = issue.path.map(String).join(".");
  if (path === "") return ["expected an object with the arguments"];
  if (issue.code === "invalid_type" && valueAt(given, issue.path) === undefined) {
    return [`${quote(path)} is missing`];
  }
  return [`${quote(path)}: ${escapeUnsafe(issue.message)}`];
}

function valueAt(given: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === "object" && value !== null ? (value as Record<PropertyKey, unknown>)[key] : undefined,
    given,
  );
}

function quote(name: string): string {
  return JSON.stringify(escapeUnsafe(name.slice(0, 100)));
}

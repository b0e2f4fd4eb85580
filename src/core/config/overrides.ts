import type { z } from "zod";
import { closestWord, foldWord } from "../../kit/closest-word.js";
import { SandboxError } from "../../kit/errors.js";
import { SHORT_NAMES } from "../../runtime/backends/index.js";
import { type Shape, shapeOf } from "./shape.js";

export interface Override {
  readonly variable: string;
  readonly value: string;
}

/** Which variable set which place. */
export interface Origin {
  readonly variable: string;
  readonly path: readonly string[];
}

type Plain = Record<string, unknown>;

const HINT =
  "Settings nest by two underscores: SKERRY_SANDBOX__NETWORK__ALLOWED_DOMAINS is sandbox.network.allowedDomains.";

/** Puts environment variables on top of a file's content. What the file has wrong stays wrong for the schema to see. */
export function applyOverrides(
  input: unknown,
  overrides: readonly Override[],
  schema: z.core.$ZodType,
  extraBackends: readonly string[] = [],
): { value: unknown; origins: readonly Origin[] } {
  const resolved = overrides.map(({ variable, value }) => {
    const place = locate(variable, schema, extraBackends);
    return { variable, path: place.path, content: decode(variable, value, place.shape) };
  });
  // A whole block first, then the settings inside it.
  resolved.sort((a, b) => a.path.length - b.path.length || (a.variable < b.variable ? -1 : 1));
  const seen = new Map<string, string>();
  let value = input;
  for (const { variable, path, content } of resolved) {
    const twin = seen.get(path.join("."));
    if (twin !== undefined) throw invalid(variable, `sets the same as ${twin}`, "Keep one of the two.");
    seen.set(path.join("."), variable);
    value = put(value, path, content);
  }
  const origins = resolved.map(({ variable, path }) => ({ variable, path }));
  // The most exact first: a problem belongs to the variable closest to it.
  return { value, origins: origins.reverse() };
}

interface SettingLocation {
  readonly path: readonly string[];
  readonly shape: Shape;
}

function locate(
  variable: string,
  schema: z.core.$ZodType,
  extraBackends: readonly string[],
): SettingLocation {
  const segments = variable.slice("SKERRY_".length).split("__");
  const path: string[] = [];
  let shape = shapeOf(schema);
  for (const [index, segment] of segments.entries()) {
    const short = SHORT_NAMES.find((name) => name === foldWord(segment));
    if (path.join(".") === "sandbox" && short !== undefined && shape.kind === "object") {
      path.push("backends", short);
      shape = step(step(shape, "backends"), short);
      continue;
    }
    if (path.join(".") === "sandbox.backends") {
      const extra = extraBackends.find((name) => foldWord(name) === foldWord(segment));
      if (extra !== undefined) {
        const rest = segments.slice(index + 1);
        if (!rest.every((each) => /^[a-z][a-z0-9_]*$/i.test(each))) throw unknown(variable);
        return { path: [...path, extra, ...rest.map(camelCase)], shape: { kind: "other" } };
      }
    }
    const key = keyFor(segment, shape);
    if (key === undefined) throw unknown(variable, suggestion(segments, index, shape));
    path.push(key);
    shape = step(shape, key);
  }
  return { path, shape };
}

function keyFor(segment: string, shape: Shape): string | undefined {
  if (shape.kind === "object")
    return [...shape.fields.keys()].find((key) => foldWord(key) === foldWord(segment));
  if (shape.kind === "record" && /^[a-z][a-z0-9_]*$/i.test(segment)) return segment.toLowerCase();
  return undefined;
}

function step(shape: Shape, key: string): Shape {
  const next =
    shape.kind === "object" ? shape.fields.get(key) : shape.kind === "record" ? shape.value : undefined;
  return next === undefined ? { kind: "other" } : shapeOf(next);
}

function suggestion(segments: readonly string[], index: number, shape: Shape): string | undefined {
  if (shape.kind !== "object") return undefined;
  const key = closestWord(segments[index]!, shape.fields.keys());
  if (key === undefined) return undefined;
  const name = key.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
  return `SKERRY_${[...segments.slice(0, index), name, ...segments.slice(index + 1)].join("__")}`;
}

/** A JSON value if it is one; for lists also `a,b`; for text whatever is not a JSON string. */
function decode(variable: string, raw: string, shape: Shape): unknown {
  const json = parseJson(raw);
  switch (shape.kind) {
    case "array":
      if (Array.isArray(json.value)) return json.value;
      if (raw.trimStart().startsWith("[")) throw invalid(variable, "the list is not valid JSON");
      return raw.trim() === "" ? [] : raw.split(",").map((item) => item.trim());
    case "string":
      return typeof json.value === "string" ? json.value : raw;
    case "object":
    case "record":
      if (!isPlain(json.value)) {
        throw invalid(variable, "this is a block of settings: expected a JSON object", HINT);
      }
      refuseForbidden(variable, json.value);
      return json.value;
    default:
      if (json.ok) refuseForbidden(variable, json.value);
      return json.ok ? json.value : raw;
  }
}

function parseJson(raw: string): { ok: boolean; value?: unknown } {
  try {
    return { ok: true, value: JSON.parse(raw) };
  } catch {
    return { ok: false };
  }
}

function refuseForbidden(variable: string, value: unknown): void {
  JSON.stringify(value, (_, child) => {
    if (isPlain(child) && Object.hasOwn(child, "__proto__")) {
      throw invalid(variable, "the key __proto__ is not allowed");
    }
    return child;
  });
}

/** A copy of `target` with `content` at `path`; blocks are merged, anything else is replaced. */
function put(target: unknown, path: readonly string[], content: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return merge(target, content);
  const base = target === undefined || target === null ? {} : target;
  if (!isPlain(base)) return target;
  return { ...base, [key]: put(base[key], rest, content) };
}

function merge(target: unknown, content: unknown): unknown {
  if (!isPlain(target) || !isPlain(content)) return content;
  const merged: Plain = { ...target };
  for (const [key, value] of Object.entries(content)) merged[key] = merge(target[key], value);
  return merged;
}

function camelCase(segment: string): string {
  return segment.toLowerCase().replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function isPlain(value: unknown): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function unknown(variable: string, similar?: string): SandboxError {
  return invalid(
    variable,
    `unknown setting${similar === undefined ? "" : `, did you mean ${similar}?`}`,
    HINT,
  );
}

function invalid(variable: string, why: string, hint?: string): SandboxError {
  return new SandboxError("CONFIG_INVALID", `${variable}: ${why}`, hint === undefined ? {} : { hint });
}

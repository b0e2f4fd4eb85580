import type { z } from "zod";
import { closestWord } from "../../kit/closest-word.js";
import { deepFreeze } from "../../kit/deep-freeze.js";
import { SandboxError } from "../../kit/errors.js";
import { SHORT_NAMES, settingsBaseOf } from "../../runtime/backends/index.js";
import type { Config } from "./config.js";
import { applyOverrides, type Override } from "./overrides.js";
import { asConfig, type ConfigSchema } from "./schema.js";
import { shapeAt } from "./shape.js";

export interface ResolveOptions {
  readonly schema: ConfigSchema;
  /** How the user named the file: it stands before each problem. */
  readonly source: string;
  /** Environment variables, as name and value. */
  readonly overrides?: readonly Override[];
  /** Names of backends from outside, whose blocks are kept as they are. */
  readonly extraBackends?: readonly string[];
}

type Path = readonly PropertyKey[];
type Plain = Record<string, unknown>;

const MAX_DEPTH = 32;
const MAX_PROBLEMS = 50;
/** As keys they would reach into every object of the process. */
const FORBIDDEN_KEYS = new Set(["__proto__", "constructor", "prototype"]);

/** Validates a file's content with the overrides on top. Anything invalid is CONFIG_INVALID with every problem named. */
export function resolveConfig(input: unknown, options: ResolveOptions): Config {
  const { schema, source, overrides = [], extraBackends = [] } = options;
  const problems = forbiddenKeys(input, []).map(({ path, message }) => `${source}: ${named(path)}${message}`);
  if (problems.length > 0) throw invalid(problems);

  const { value: folded, moved } = moveShortNames(input, source);
  const { value: merged, origins } = applyOverrides(folded, overrides, schema, extraBackends);
  const { value, blocks } = takeBlocks(merged, extraBackends);
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    throw invalid(
      parsed.error.issues
        .flatMap((issue) => explain(issue, schema))
        .map(({ path, message }) => {
          const variable = origins.find((origin) =>
            origin.path.every((key, index) => key === path[index]),
          )?.variable;
          return variable === undefined
            ? `${source}: ${named(asWritten(path, moved))}${message}`
            : `${variable}: ${message}`;
        }),
    );
  }
  const config = asConfig(parsed.data);
  const { sandbox } = config;
  return deepFreeze({ ...config, sandbox: { ...sandbox, backends: { ...blocks, ...sandbox.backends } } });
}

function invalid(problems: readonly string[]): SandboxError {
  const shown = problems.slice(0, MAX_PROBLEMS);
  if (problems.length > shown.length) shown.push(`and ${problems.length - shown.length} more`);
  const message =
    shown.length === 1
      ? shown[0]!
      : `the configuration has ${problems.length} problems:\n  ${shown.join("\n  ")}`;
  return new SandboxError("CONFIG_INVALID", message, {
    hint: "docs/configuration.md has every setting and its default.",
  });
}

interface Problem {
  readonly path: Path;
  readonly message: string;
}

function explain(issue: z.core.$ZodIssue, schema: ConfigSchema): Problem[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      path: [...issue.path, key],
      message: unknownKey(issue.path, key, schema),
    }));
  }
  if (issue.code === "invalid_key") {
    return [{ path: issue.path, message: issue.issues[0]?.message ?? issue.message }];
  }
  return [{ path: issue.path, message: issue.message.replace(/^Invalid input: /, "") }];
}

function unknownKey(parent: Path, key: string, schema: ConfigSchema): string {
  const shape = shapeAt(schema, parent);
  const known = shape?.kind === "object" ? [...shape.fields.keys()] : [];
  const similar = closestWord(key, known);
  if (similar !== undefined) return `unknown key, did you mean ${JSON.stringify(similar)}?`;
  const inside = shapeAt(schema, ["sandbox", key]);
  if (parent.length === 0 && inside !== undefined)
    return `unknown key, did you mean ${JSON.stringify(`sandbox.${key}`)}?`;
  // What two backends share is set once, for both.
  const name = String(parent.at(-1));
  const base = [...parent.slice(0, -1), settingsBaseOf(name) ?? "", key];
  if (shapeAt(schema, base) !== undefined)
    return `unknown key, ${name} takes it from ${JSON.stringify(base.join("."))}`;
  return `unknown key, expected one of ${known.join(", ")}`;
}

/** "sandbox.network: " for a message to follow; nothing for the whole file. */
function named(path: Path): string {
  if (path.length === 0) return "";
  const parts = path.map((key) => {
    if (typeof key === "number") return `[${key}]`;
    const name = String(key);
    return /^[\w-]{1,64}$/.test(name) ? `.${name}` : `[${JSON.stringify(name.slice(0, 64))}]`;
  });
  return `${parts.join("").replace(/^\./, "")}: `;
}

function forbiddenKeys(value: unknown, path: Path): Problem[] {
  if (typeof value !== "object" || value === null) return [];
  if (path.length >= MAX_DEPTH)
    return [{ path: path.slice(0, 3), message: `nested deeper than ${MAX_DEPTH} levels` }];
  if (Array.isArray(value)) return value.flatMap((item, index) => forbiddenKeys(item, [...path, index]));
  return Object.entries(value).flatMap(([key, child]) =>
    FORBIDDEN_KEYS.has(key)
      ? [{ path: [...path, key], message: "this key is not allowed" }]
      : forbiddenKeys(child, [...path, key]),
  );
}

/** Moves each block of a backend that stands right under `sandbox` to `backends`, with the names of those it moved. */
function moveShortNames(input: unknown, source: string): { value: unknown; moved: readonly string[] } {
  if (!isPlain(input) || !isPlain(input.sandbox)) return { value: input, moved: [] };
  const { backends = {}, ...rest } = input.sandbox;
  const moved = SHORT_NAMES.filter((name) => Object.hasOwn(rest, name));
  // An invalid `backends` stays as it is, for the schema to refuse.
  if (moved.length === 0 || !isPlain(backends)) return { value: input, moved: [] };
  const twice = moved.filter((name) => Object.hasOwn(backends, name));
  if (twice.length > 0) {
    throw invalid(
      twice.map(
        (name) => `${source}: sandbox.${name}: the same block is also given as sandbox.backends.${name}`,
      ),
    );
  }
  const blocks = Object.fromEntries(moved.map((name) => [name, rest[name]]));
  for (const name of moved) delete rest[name];
  return { value: { ...input, sandbox: { ...rest, backends: { ...backends, ...blocks } } }, moved };
}

/** The path as the user wrote it. */
function asWritten(path: Path, moved: readonly string[]): Path {
  const [first, second, third, ...rest] = path;
  const isMoved = first === "sandbox" && second === "backends" && moved.includes(String(third));
  return isMoved ? ["sandbox", String(third), ...rest] : path;
}

/** Leaves out the blocks that registered backends validate themselves. */
function takeBlocks(input: unknown, names: readonly string[]): { value: unknown; blocks: Plain } {
  if (names.length === 0 || !isPlain(input) || !isPlain(input.sandbox) || !isPlain(input.sandbox.backends)) {
    return { value: input, blocks: {} };
  }
  const entries = Object.entries(input.sandbox.backends);
  const blocks = Object.fromEntries(entries.filter(([name]) => names.includes(name)));
  const backends = Object.fromEntries(entries.filter(([name]) => !names.includes(name)));
  return { value: { ...input, sandbox: { ...input.sandbox, backends } }, blocks };
}

function isPlain(value: unknown): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

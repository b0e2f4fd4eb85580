import { hostname } from "node:os";
import { MAX_RECORDED_CODE_CHARACTERS, MAX_RECORDED_COMMAND_CHARACTERS } from "../../kit/code-limits.js";
import { SandboxError } from "../../kit/errors.js";
import {
  AUDIT_RESULTS,
  type AuditBody,
  type AuditDetails,
  type AuditFields,
  type AuditResult,
  EXECUTION_EVENT,
} from "./record.js";
import type { Redact } from "./redact.js";
import { GENESIS, sha256 } from "./sealed-record.js";

const MAX_NAME_CHARACTERS = 256;
const MAX_ERROR_CHARACTERS = 2000;
const MAX_PATH_CHARACTERS = 4096;
const MAX_LIST_ENTRIES = 1000;
const MAX_LIST_CHARACTERS = 262_144;
const MAX_DETAILS = 32;
/** Looked at beyond the cap, so that a secret which the cut goes through is still seen whole. */
const MARGIN_CHARACTERS = 4096;

/** How a logger writes records down. */
export interface Composition {
  readonly redact: Redact;
  readonly includeCode: boolean;
}

type Draft = { -readonly [K in keyof AuditBody]: AuditBody[K] };

/** An empty body, with its writer only. */
export function createBody(id: string, at: Date, eventType = EXECUTION_EVENT): AuditBody {
  // In the order of canonical JSON, so that nothing needs sorting later.
  return {
    agent_id: null,
    backend: null,
    code: null,
    code_hash: null,
    command: null,
    confirmation: null,
    cpu_time_ms: null,
    decided_by: null,
    details: null,
    error: null,
    event_type: eventType,
    execution_time_ms: null,
    exit_code: null,
    files_deleted: null,
    files_left_out: 0,
    files_read: null,
    files_written: null,
    findings: null,
    host: hostname().slice(0, MAX_NAME_CHARACTERS),
    id,
    language: null,
    memory_used_mb: null,
    network_bytes_recv: null,
    network_bytes_sent: null,
    org_id: null,
    pid: process.pid,
    policy_rule: null,
    prev: GENESIS,
    result: null,
    risk_level: null,
    role: null,
    sandbox_id: null,
    seq: 0,
    session_id: null,
    started_at: eventType === EXECUTION_EVENT ? at.toISOString() : null,
    timestamp: at.toISOString(),
    tool: null,
  };
}

/** The body with these fields filled in: capped, secrets taken out. What is not given stays as it was. */
export function fillBody(body: AuditBody, fields: AuditFields, how: Composition): AuditBody {
  const draft: Draft = { ...body };
  const { redact } = how;
  const name = (value: unknown) => text(value, MAX_NAME_CHARACTERS, redact);
  const set = <T>(value: T | undefined, write: (value: T) => void) => value !== undefined && write(value);

  for (const [field, key] of NAMES) {
    set(fields[field], (value) => {
      draft[key] = name(value);
    });
  }
  for (const [field, key] of NUMBERS) {
    set(fields[field], (value) => {
      draft[key] = number(value);
    });
  }
  set(fields.command, (value) => {
    draft.command = text(value, MAX_RECORDED_COMMAND_CHARACTERS, redact);
    draft.code_hash ??= hashOf(value);
  });
  set(fields.code, (value) => {
    draft.code_hash = hashOf(value);
    draft.code = how.includeCode ? text(value, MAX_RECORDED_CODE_CHARACTERS, redact) : null;
  });
  set(fields.error, (value) => {
    draft.error = text(value, MAX_ERROR_CHARACTERS, redact);
  });
  set(fields.findings, (value) => {
    draft.findings = list(value, name)?.kept ?? null;
  });
  set(fields.details, (value) => {
    draft.details = details(value, redact);
  });
  const path = (value: unknown) => text(value, MAX_PATH_CHARACTERS, redact);
  for (const [field, key] of PATHS) {
    set(fields[field], (value) => {
      const paths = list(value, path);
      draft[key] = paths?.kept ?? null;
      draft.files_left_out += paths?.leftOut ?? 0;
    });
  }
  return draft;
}

const NAMES = [
  ["sessionId", "session_id"],
  ["agentId", "agent_id"],
  ["orgId", "org_id"],
  ["role", "role"],
  ["sandboxId", "sandbox_id"],
  ["backend", "backend"],
  ["tool", "tool"],
  ["language", "language"],
  ["riskLevel", "risk_level"],
  ["policyRule", "policy_rule"],
  ["decidedBy", "decided_by"],
  ["confirmation", "confirmation"],
] as const;

const NUMBERS = [
  ["executionTimeMs", "execution_time_ms"],
  ["exitCode", "exit_code"],
  ["memoryUsedMb", "memory_used_mb"],
  ["cpuTimeMs", "cpu_time_ms"],
  ["networkBytesSent", "network_bytes_sent"],
  ["networkBytesRecv", "network_bytes_recv"],
] as const;

const PATHS = [
  ["filesRead", "files_read"],
  ["filesWritten", "files_written"],
  ["filesDeleted", "files_deleted"],
] as const;

/** The result when it is one; INVALID_ARGUMENT otherwise. */
export function checkResult(result: unknown): AuditResult {
  const known = AUDIT_RESULTS.find((each) => each === result);
  if (known !== undefined) return known;
  throw new SandboxError("INVALID_ARGUMENT", "Unknown result of an attempt", {
    hint: `Results are ${AUDIT_RESULTS.join(", ")}.`,
  });
}

/** The event type when a caller may use it; INVALID_ARGUMENT otherwise. */
export function checkEventType(eventType: unknown): string {
  if (typeof eventType === "string" && /^[a-z][a-z0-9_]{0,63}$/.test(eventType)) {
    if (!eventType.startsWith("audit_") && eventType !== EXECUTION_EVENT) return eventType;
  }
  throw new SandboxError("INVALID_ARGUMENT", "Invalid event type", {
    hint: `Use lower-case letters, digits and underscores. "audit_…" is the log's own, and "${EXECUTION_EVENT}" is for executions.`,
  });
}

function text(value: unknown, max: number, redact: Redact): string | null {
  if (typeof value !== "string") return null;
  const whole = value.length <= max;
  const safe = redact(whole ? value : value.slice(0, max + MARGIN_CHARACTERS));
  if (whole && safe.length <= max) return safe;
  return `${safe.slice(0, cutAt(safe, max))} [cut, ${value.length} characters]`;
}

/** Where to cut: not inside a character, nor inside the last word when that was cut before it was looked at. */
function cutAt(safe: string, max: number): number {
  if (safe.length <= max) return Math.max(safe.lastIndexOf(" "), safe.lastIndexOf("\n"), 0);
  return /[\ud800-\udbff]/.test(safe.charAt(max - 1)) ? max - 1 : max;
}

/** Three decimals, and no exponent: other languages must print the same digits. */
function number(value: unknown): number | null {
  if (typeof value !== "number" || !(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) return null;
  const rounded = Number.isInteger(value) ? value : Math.round(value * 1000) / 1000;
  // No negative zero: JSON has none.
  return rounded + 0;
}

function list(
  values: unknown,
  write: (value: unknown) => string | null,
): { kept: string[]; leftOut: number } | undefined {
  if (!Array.isArray(values)) return undefined;
  const kept: string[] = [];
  let characters = 0;
  for (const value of values.slice(0, MAX_LIST_ENTRIES)) {
    const entry = write(value);
    if (entry === null) continue;
    characters += entry.length;
    if (characters > MAX_LIST_CHARACTERS) break;
    kept.push(entry);
  }
  return { kept, leftOut: values.length - kept.length };
}

function details(value: unknown, redact: Redact): AuditDetails | null {
  if (typeof value !== "object" || value === null) return null;
  const safe: Record<string, string | number | boolean | null> = {};
  for (const [key, each] of Object.entries(value).slice(0, MAX_DETAILS).sort(byKey)) {
    // Keys are ours to choose; one that is not such a word (or "__proto__") came from somewhere else.
    if (!/^[a-z][a-z0-9_]{0,39}$/i.test(key)) continue;
    if (typeof each === "boolean") safe[key] = each;
    else if (typeof each === "number") safe[key] = number(each);
    else safe[key] = text(each, MAX_ERROR_CHARACTERS, redact);
  }
  return safe;
}

function byKey([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : 1;
}

function hashOf(program: unknown): string | null {
  if (typeof program !== "string") return null;
  return `sha256:${sha256(program)}`;
}

import { closestWord } from "../../kit/closest-word.js";
import { toSandboxError } from "../../kit/errors.js";
import {
  allowedRangeComplaint,
  hostServicePort,
  hostServicesComplaint,
  rangeComplaint,
  tooWideComplaint,
} from "../../kit/hosts.js";
import { MIB, parseDurationMs, parseSizeBytes } from "../../kit/units.js";
import type { SettingName } from "./policy.js";
import { LANGUAGE_NAMES, languageName, TIERS } from "./tools.js";

/** What is wrong with an entry of a list. */
type Complaint = string | { readonly message: string; readonly hint: string };
export type ItemCheck = (item: string) => Complaint | undefined;

/** What may stand behind a key, and what it becomes. */
export type Kind =
  | { readonly kind: "boolean" }
  | { readonly kind: "choice"; readonly choices: readonly string[] }
  | { readonly kind: "number"; readonly parse: (value: string | number) => number }
  | { readonly kind: "list"; readonly check?: ItemCheck };

const RISKS = ["safe", "low", "medium", "high", "critical"];

const duration = parseDurationMs;

/** A size in MiB; with less than the least no program can start. */
function sizeMb(least: number): (value: string | number) => number {
  return (value) => {
    const size = parseSizeBytes(value) / MIB;
    if (size < least) throw new Error(`expected at least ${least} MiB, not ${shown(value)}`);
    return size;
  };
}

/** Whole numbers, or cores where halves make sense. */
function above(least: number, whole: boolean): (value: string | number) => number {
  return (value) => {
    if (
      typeof value !== "number" ||
      !(value >= least) ||
      value > 1_000_000 ||
      (whole && !Number.isInteger(value))
    ) {
      throw new Error(`expected a ${whole ? "whole " : ""}number of at least ${least}`);
    }
    return value;
  };
}

const DOMAIN = /^(?:[a-z0-9_*-]+\.)*[a-z0-9_*-]+$/i;
const deniedDomain = (name: string) =>
  name.length <= 253 && DOMAIN.test(name)
    ? undefined
    : 'expected a domain such as "example.com" or "*.example.com", without scheme, port or path';

function allowedDomain(name: string): Complaint | undefined {
  if (hostServicePort(name) !== undefined) return undefined;
  return hostServicesComplaint(name) ?? deniedDomain(name) ?? tooWideComplaint(name);
}

function language(name: string): Complaint | undefined {
  if (languageName(name) !== undefined) return undefined;
  const near = closestWord(name, LANGUAGE_NAMES);
  return {
    message: `there is no language named ${shown(name)}`,
    hint: near === undefined ? `Known: ${LANGUAGE_NAMES.join(", ")}.` : `Did you mean ${near}?`,
  };
}

/** Every key of a block, once. The keys and units of `testdata/policy-examples.md` stay valid. */
export const SETTING_KINDS: Readonly<Record<SettingName, Kind>> = {
  sandbox_enabled: { kind: "boolean" },
  risk_level: { kind: "choice", choices: TIERS },
  requires_confirmation: { kind: "boolean" },
  security_mode: { kind: "choice", choices: ["strict", "permissive"] },
  max_risk: { kind: "choice", choices: RISKS },
  max_execution_time: { kind: "number", parse: duration },
  max_memory: { kind: "number", parse: sizeMb(4) },
  max_cpu: { kind: "number", parse: above(0.01, false) },
  max_pids: { kind: "number", parse: above(4, true) },
  max_output: { kind: "number", parse: parseSizeBytes },
  max_file_size: { kind: "number", parse: sizeMb(0.001) },
  max_workspace: { kind: "number", parse: sizeMb(1) },
  network_access: { kind: "boolean" },
  filesystem_access: { kind: "choice", choices: ["workspace_only"] },
  allowed_paths: { kind: "list" },
  denied_paths: { kind: "list" },
  allowed_commands: { kind: "list" },
  denied_commands: { kind: "list" },
  confirm_commands: { kind: "list" },
  supported_languages: { kind: "list", check: language },
  allowed_domains: { kind: "list", check: allowedDomain },
  denied_domains: { kind: "list", check: deniedDomain },
};

/** Valid entries of the lists of the `network` block. */
export const NETWORK_ITEMS = {
  allowlist: { domains: allowedDomain, ips: allowedRangeComplaint },
  denylist: { domains: deniedDomain, ips: rangeComplaint },
} satisfies Record<string, Record<string, ItemCheck>>;

/** The value of a key, or what is wrong with it. */
export function readSetting(
  kind: Kind,
  value: unknown,
): { readonly value: unknown } | { readonly wrong: string } {
  switch (kind.kind) {
    case "boolean":
      return typeof value === "boolean"
        ? { value }
        : { wrong: `expected true or false, not ${shown(value)}` };
    case "choice":
      return kind.choices.includes(value as string)
        ? { value }
        : { wrong: `expected ${kind.choices.join(", ")}, not ${shown(value)}` };
    case "number": {
      if (typeof value !== "string" && typeof value !== "number")
        return { wrong: `expected a value, not ${shown(value)}` };
      try {
        return { value: kind.parse(value) };
      } catch (error) {
        const { message, hint } = toSandboxError(error);
        return { wrong: hint === undefined ? message : `${message}. ${hint}` };
      }
    }
    case "list":
      return { wrong: `expected a list, not ${shown(value)}` };
  }
}

/** A value of the file for a message: short, on one line. */
export function shown(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  return typeof value === "object" ? "a block" : (JSON.stringify(value) ?? String(value)).slice(0, 60);
}

import { MIB } from "../config/index.js";
import { compileCommand } from "./command-patterns.js";
import { compileDomain } from "./domains.js";
import { languageName } from "./languages.js";
import { compilePathGlob } from "./path-globs.js";
import { FILESYSTEM_ACCESS, RISK_LEVELS, SECURITY_MODES, type Settings } from "./policy.js";
import {
  type MapNode,
  type Read,
  type Reader,
  readBoolean,
  readChoice,
  readCompiled,
  readDurationMs,
  readNumber,
  readSizeBytes,
} from "./reader.js";
import type { RuleList, Setting } from "./rule.js";
import type { Place, PolicyNode } from "./yaml-nodes.js";

type Field = keyof Settings;
type Take = (
  reader: Reader,
  node: PolicyNode,
  place: Place,
  path: string,
) => Setting<unknown> | RuleList<unknown> | undefined;

function one<T>(read: Read<T>): Take {
  return (reader, node, place, path) => reader.setting(node, place, path, read);
}

function many<T>(read: Read<T>): Take {
  return (reader, node, place, path) => reader.list(node, place, path, read);
}

/** A size in MiB, at least as much as a program needs to start. */
function mebibytes(least: number): Read<number> {
  return (reader, node, path) => {
    const bytes = readSizeBytes(reader, node, path);
    if (bytes === undefined || bytes / MIB >= least) return bytes === undefined ? undefined : bytes / MIB;
    return reader.problem(
      node.place,
      path,
      `at least ${least * MIB} bytes were expected: with less no program can start`,
    );
  };
}

const command = many(readCompiled("a command", compileCommand));
const path = many(readCompiled("a path pattern", compilePathGlob));
const domain = many(readCompiled("a host", compileDomain));

/** Every key that the defaults, a tool and a role share. */
const KEYS: ReadonlyMap<string, readonly [Field, Take]> = new Map<string, readonly [Field, Take]>([
  ["sandbox_enabled", ["sandbox", one(readBoolean)]],
  ["max_execution_time", ["timeoutMs", one(readDurationMs)]],
  ["max_memory", ["memoryMb", one(mebibytes(4))]],
  ["max_cpu", ["cpus", one(readNumber(0.01, 1024, false))]],
  ["max_pids", ["pids", one(readNumber(4, 4_194_304, true))]],
  ["max_output", ["outputBytes", one(readSizeBytes)]],
  ["max_file_size", ["fileSizeMb", one(mebibytes(0.001))]],
  ["max_workspace", ["workspaceMb", one(mebibytes(1))]],
  ["network_access", ["network", one(readBoolean)]],
  ["filesystem_access", ["filesystem", one(readChoice(FILESYSTEM_ACCESS))]],
  ["requires_confirmation", ["confirmation", one(readBoolean)]],
  ["security_mode", ["securityMode", one(readChoice(SECURITY_MODES))]],
  ["max_risk", ["maxRisk", one(readChoice(RISK_LEVELS))]],
  ["denied_commands", ["deniedCommands", command]],
  ["allowed_commands", ["allowedCommands", command]],
  ["confirm_commands", ["confirmCommands", command]],
  ["allowed_paths", ["allowedPaths", path]],
  ["denied_paths", ["deniedPaths", path]],
  ["supported_languages", ["languages", many(readCompiled("a language", languageName))]],
  ["allowed_domains", ["allowedDomains", domain]],
  ["denied_domains", ["deniedDomains", domain]],
]);

/** The names of the shared keys. */
export const SETTING_KEYS: readonly string[] = [...KEYS.keys()];

/** The key that sets a field. */
export function keyOf(field: Field): string {
  return [...KEYS].find(([, [name]]) => name === field)![0];
}

/** Reads the shared keys of a block; `own` takes the others and says whether it knew them. */
export function readSettings(
  reader: Reader,
  node: MapNode,
  at: string,
  own: ReadonlyMap<string, (value: PolicyNode, place: Place, path: string) => void>,
): Settings {
  const settings = new Map<Field, unknown>();
  for (const { key, place, value } of node.entries) {
    const path = `${at}.${key}`;
    const known = KEYS.get(key);
    const special = own.get(key);
    if (special !== undefined) special(value, place, path);
    else if (known === undefined) reader.unknownKey(place, path, key, [...own.keys(), ...SETTING_KEYS]);
    else {
      const taken = known[1](reader, value, place, path);
      if (taken !== undefined) settings.set(known[0], taken);
    }
  }
  return Object.fromEntries(settings) as Settings;
}

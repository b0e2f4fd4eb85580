import { readFileSync } from "node:fs";
import { SandboxError, systemCode } from "../../../kit/errors.js";
import { expandHome } from "../../../kit/expand-home.js";
import { SRT_DEFAULTS } from "./settings.js";

/** A settings file is a few lines. */
const MAX_SETTINGS_BYTES = 1024 * 1024;

/** What a user may add to the settings of every session: only what makes the walls tighter or says more. */
export interface UserSettings {
  /** Host paths that no session sees, whatever the configuration shares. */
  readonly denyRead: readonly string[];
  /** By part of a command, or "*": violations with these words are not told. */
  readonly ignoreViolations: Readonly<Record<string, string[]>>;
  /** The library's filter runs: it refuses Unix sockets, and tells which writes were refused. */
  readonly observe: boolean;
}

const NONE: UserSettings = { denyRead: [], ignoreViolations: {}, observe: false };

/** Reads them in sandbox-runtime's own format; a key that is not ours to pass on is an error, never ignored. */
export async function loadUserSettings(settingsPath: string): Promise<UserSettings> {
  const path = expandHome(settingsPath);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const isDefault = settingsPath === SRT_DEFAULTS.settingsPath;
    if (isDefault && systemCode(error) === "ENOENT") return NONE;
    throw invalid(settingsPath, `cannot be read (${systemCode(error) ?? "unknown"})`, error);
  }
  if (text.length > MAX_SETTINGS_BYTES) throw invalid(settingsPath, "is too long");
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    throw invalid(settingsPath, "is not JSON", error);
  }
  return parseUserSettings(content, settingsPath);
}

export async function parseUserSettings(content: unknown, source: string): Promise<UserSettings> {
  const { z } = await import("zod");
  const path = z.string().regex(/^\/[^\0*?[\]]*$/, "expected an absolute path without patterns");
  const schema = z.strictObject({
    network: z.strictObject({ allowAllUnixSockets: z.boolean().optional() }).optional(),
    filesystem: z.strictObject({ denyRead: z.array(path).optional() }).optional(),
    ignoreViolations: z.record(z.string(), z.array(z.string())).optional(),
  });
  const parsed = schema.safeParse(content);
  if (!parsed.success) throw invalid(source, z.prettifyError(parsed.error));
  const { network, filesystem, ignoreViolations } = parsed.data;
  return {
    denyRead: filesystem?.denyRead ?? [],
    ignoreViolations: ignoreViolations ?? {},
    observe: network?.allowAllUnixSockets === false,
  };
}

function invalid(source: string, why: string, cause?: unknown): SandboxError {
  return new SandboxError("CONFIG_INVALID", `sandbox.backends.srt.settingsPath: ${source}: ${why}`, {
    hint: "It may have filesystem.denyRead, network.allowAllUnixSockets and ignoreViolations; see docs/srt.md.",
    cause,
  });
}

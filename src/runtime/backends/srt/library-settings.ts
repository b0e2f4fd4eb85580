import { existsSync, readdirSync } from "node:fs";
import { normalize } from "node:path";
import type { SandboxRuntimeConfig } from "@anthropic-ai/sandbox-runtime";
import { isGlob } from "../../../kit/glob.js";
import type { FilesystemRules } from "../backend.js";
import type { UserSettings } from "./user-settings.js";

/** What the guest's own walls are built from. Everything else of the host's root is hidden. */
const NEEDED = ["bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "dev", "proc"];

/** Where a proxy of the library would be; with both given, it starts none. Nothing listens there. */
const NO_PROXY = 9;

export interface SettingsInput {
  /** The session's files on this host. */
  readonly workspace: string;
  /** What a sandbox needs to read besides: the guest, the library's helper. */
  readonly runtimes: readonly string[];
  readonly bubblewrap: string;
  /** Stands in for socat and ripgrep, and for Java's proxy. */
  readonly nothing: string;
  readonly filesystem: FilesystemRules;
  readonly own: UserSettings;
  /** The names in the host's root directory that are no links; for tests. */
  readonly root?: readonly string[];
}

/**
 * The settings of sandbox-runtime for one session: no network, the workspace and the shared paths to write to, and of the
 * host only what programs are.
 */
export function createSettings(input: SettingsInput): SandboxRuntimeConfig {
  const { filesystem, own } = input;
  const hidden = (input.root ?? hostRoot())
    .filter((name) => !NEEDED.includes(name))
    .map((name) => `/${name}`);
  return {
    network: {
      allowedDomains: [],
      deniedDomains: [],
      // Its filter refuses every Unix socket, which programs use among themselves; the guest's own walls leave no
      // socket of the host to reach.
      allowAllUnixSockets: !own.observe,
      allowLocalBinding: true,
      httpProxyPort: NO_PROXY,
      socksProxyPort: NO_PROXY,
    },
    filesystem: {
      denyRead: [...hidden, ...plainPaths(filesystem.denyRead), ...own.denyRead],
      allowRead: [...input.runtimes, ...filesystem.allowRead.map((path) => normalize(path))],
      allowWrite: [input.workspace, ...filesystem.allowWrite.map((path) => normalize(path))],
      denyWrite: [],
    },
    ignoreViolations: own.ignoreViolations,
    bwrapPath: input.bubblewrap,
    socatPath: input.nothing,
    ripgrep: { command: input.nothing },
    // Left out, it would ask npm where such a file is.
    javaAgentJarPath: input.nothing,
  };
}

function hostRoot(): string[] {
  return readdirSync("/", { withFileTypes: true })
    .filter((entry) => !entry.isSymbolicLink())
    .map((entry) => entry.name);
}

/** Patterns and relative paths are for the guest's own walls, which see what is shared. */
function plainPaths(paths: readonly string[]): string[] {
  return paths
    .filter((path) => path.startsWith("/") && !isGlob(path) && existsSync(path))
    .map((path) => normalize(path));
}

import { DEFAULT_BODY_BYTES } from "../../kit/code-limits.js";
import { deepFreeze } from "../../kit/deep-freeze.js";
import { BACKEND_DEFAULTS, type LimitsConfig } from "../../runtime/backends/index.js";
import type { SecretLocation } from "../../runtime/egress/index.js";
import { DEFAULT_LANGUAGE } from "../../runtime/sandbox/index.js";
import type { Config, LanguageConfig } from "./config.js";

/** What no configuration at all means. The schema takes its defaults from here. */
export const DEFAULT_CONFIG: Config = deepFreeze({
  sandbox: {
    enabled: true,
    backend: "auto",
    mode: "per-session",
    network: {
      allowedDomains: [],
      deniedDomains: [],
      allowedIps: [],
      deniedIps: [],
      allowedPorts: [80, 443],
      deniedPorts: [],
      requests: [],
      limits: { connections: 128, idleMs: 2 * 60_000 },
      allowLocalBinding: false,
      allow: [],
      internet: false,
    },
    secrets: {},
    filesystem: {
      allowRead: [],
      denyRead: [
        "~/.ssh",
        "~/.gnupg",
        "~/.aws",
        "~/.azure",
        "~/.kube",
        "~/.docker",
        "~/.config/gcloud",
        "~/.config/gh",
        "~/.netrc",
        "~/.npmrc",
        "~/.pypirc",
        "~/.git-credentials",
        "~/.password-store",
        "~/.vault-token",
        "~/.cargo/credentials*",
        "~/.bash_history",
        "~/.zsh_history",
        "~/.skerry",
      ],
      allowWrite: [],
      denyWrite: [".env", "*.pem"],
    },
    runtime: {
      cleanupOnExit: true,
      timeoutMs: 300_000,
      idleTimeoutMs: 30 * 60_000,
      maxAgeMs: 24 * 3_600_000,
    },
    limits: {},
    languages: {},
    backends: BACKEND_DEFAULTS,
    workspace: {
      initDirectory: "init",
      bootstrapFiles: ["AGENTS.md", "SOUL.md", "USER.md", "TOOLS.md", "IDENTITY.md"],
    },
    snapshots: { maxBytes: 4 * 2 ** 30, maxFiles: 200_000, maxStoredBytes: 16 * 2 ** 30 },
    projects: { maxBytes: 256 * 2 ** 20, maxFiles: 20_000 },
    policy: {},
    confirmation: { timeoutMs: 60_000 },
    audit: { enabled: true, fsync: "interval", includeCode: false, maxFileMb: 64 },
  },
  server: {
    host: "127.0.0.1",
    port: 7070,
    hosts: [],
    origins: [],
    insecure: false,
    leaseMs: 60_000,
    limits: { bodyBytes: DEFAULT_BODY_BYTES, concurrency: 64, requestsPerMinute: 6000 },
    sessions: { ttlMs: 24 * 3_600_000, maxPerOrg: 1000, startAhead: 8 },
    pool: { preload: [DEFAULT_LANGUAGE], maxUses: 100, maxAgeMs: 3_600_000, acquireTimeoutMs: 30_000 },
    processes: { perSession: 32, logBytes: 64 * 2 ** 20 },
    terminals: { detachedMs: 3_600_000 },
    mcp: { sessionsPerKey: 100, idleMs: 3_600_000 },
    stopDeadlineMs: 30_000,
    logs: { level: "info" },
  },
});

/** Limits that apply where the user set none and the backend can enforce them. */
export const DEFAULT_LIMITS = deepFreeze({
  memoryMb: 512,
  pids: 128,
  openFiles: 1024,
  workspaceMb: 1024,
  workspaceInodes: 100_000,
  tmpMb: 256,
  outputBytes: 10 * 1024 * 1024,
} satisfies LimitsConfig);

/** Where a secret is put in that does not say. */
export const DEFAULT_SECRET_LOCATIONS: readonly SecretLocation[] = deepFreeze(["header"]);

/** What a language that the configuration does not mention gets. */
export const DEFAULT_LANGUAGE_CONFIG: LanguageConfig = deepFreeze({
  warm: true,
  preload: [],
  freshHashSeed: false,
});

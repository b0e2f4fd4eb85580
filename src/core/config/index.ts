export {
  type BackendsConfig,
  type BubblewrapConfig,
  type Config,
  type DockerConfig,
  type FilesystemConfig,
  type LanguageConfig,
  type LimitsConfig,
  LOG_LEVELS,
  type LogLevel,
  type NetworkConfig,
  type OpenSandboxConfig,
  type OpenSandboxServer,
  type RequestConfig,
  type RuntimeConfig,
  SANDBOX_MODES,
  type SandboxConfig,
  type SandboxMode,
  type SecretConfig,
  type SecretPlace,
  type ServerConfig,
  type ServerLimitsConfig,
  type ServerPoolConfig,
  type ServerProcessesConfig,
  type ServerSessionsConfig,
  type SnapshotsConfig,
  type SrtConfig,
  type WorkspaceConfig,
} from "./config.js";
export { DEFAULT_CONFIG, DEFAULT_LANGUAGE, DEFAULT_LIMITS } from "./defaults.js";
export { expandHome, type LoadOptions, loadConfig, MAX_CONFIG_BYTES } from "./load.js";
export { nearest } from "../../kit/nearest.js";
export { MAX_DURATION_MS, MIB, parseDurationMs, parseSizeBytes } from "../../kit/units.js";

/** Validates a value that is already in memory. The schema's library loads on the first call. */
export async function parseConfig(input: unknown, source?: string): Promise<import("./config.js").Config> {
  const { parseConfig: parse } = await import("./resolve.js");
  return parse(input, source);
}

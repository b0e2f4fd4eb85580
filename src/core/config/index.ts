export {
  type AuditConfig,
  type BackendsConfig,
  type Config,
  type ConfirmationConfig,
  type FilesystemConfig,
  type LanguageConfig,
  type LogLevel,
  type PolicyConfig,
  type ProjectsConfig,
  type RuntimeConfig,
  SANDBOX_MODES,
  type SandboxConfig,
  type SandboxMode,
  type ServerConfig,
  type ServerLimitsConfig,
  type ServerMcpConfig,
  type ServerPoolConfig,
  type ServerProcessesConfig,
  type ServerSessionsConfig,
  type SnapshotsConfig,
  type WorkspaceConfig,
} from "./config.js";
export { DEFAULT_CONFIG, DEFAULT_LANGUAGE_CONFIG, DEFAULT_LIMITS } from "./defaults.js";
export { type LoadOptions, loadConfig } from "./load.js";

/** Validates a value that is already in memory. The schema's library loads on the first call. */
export async function parseConfig(
  input: unknown,
  source = "configuration",
): Promise<import("./config.js").Config> {
  const [{ resolveConfig }, { loadConfigSchema }] = await Promise.all([
    import("./resolve.js"),
    import("./schema.js"),
  ]);
  return resolveConfig(input, { schema: await loadConfigSchema(), source });
}

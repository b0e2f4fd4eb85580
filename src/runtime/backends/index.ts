export type {
  BackendContext,
  BackendFactory,
  Capabilities,
  CreateSpec,
  FilesystemRules,
  Instance,
  Limits,
  LimitsConfig,
  Probe,
  ProbeOptions,
  ResourceUsage,
  SandboxBackend,
  SessionDirectory,
  Violation,
} from "./backend.js";
export type { BubblewrapConfig } from "./bubblewrap/index.js";
export {
  buildImage,
  connectDocker,
  DEFAULT_TAG,
  type DockerConfig,
  findDocker,
  findRunsc,
  IMAGE_ORIGINS,
  type ImageOrigin,
  listImages,
  type OwnImage,
  offerRunsc,
  PACKAGE_SETS,
  type PackageSet,
  REGISTER_RUNSC,
  readDaemonFacts,
} from "./docker/index.js";
export { findPrebuilt } from "./guest-runtime.js";
export type { GvisorConfig } from "./gvisor/index.js";
export { ISOLATION_ORDER, type Isolation, isAtLeast } from "./isolation.js";
export {
  BACKEND_DEFAULTS,
  type BackendSettings,
  backendOptions,
  checkBackendName,
  getBackend,
  isInstalledByHand,
  listBackends,
  loadBackendSchemas,
  reapUnusedBackends,
  registerBackend,
  settingsBaseOf,
  settingsByLanguage,
  userRangeOf,
} from "./registry.js";
export type { SrtConfig } from "./srt/index.js";

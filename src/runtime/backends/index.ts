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
export {
  buildImage,
  connectDocker,
  DEFAULT_TAG,
  findDocker,
  IMAGE_ORIGINS,
  type ImageOrigin,
  listImages,
  type OwnImage,
  PACKAGE_SETS,
  type PackageSet,
  readDaemonFacts,
} from "./docker/index.js";
export { findPrebuilt } from "./guest-runtime.js";
export { findRunsc, offerRunsc, REGISTER_RUNSC } from "./gvisor/index.js";
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
  SHORT_NAMES,
  settingsBaseOf,
  settingsByLanguage,
  userRangeOf,
} from "./registry.js";

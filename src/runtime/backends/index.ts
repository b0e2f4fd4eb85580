export type {
  BackendContext,
  BackendFactory,
  Capabilities,
  CreateSpec,
  FilesystemRules,
  Instance,
  Limits,
  Probe,
  ResourceUsage,
  SandboxBackend,
  SessionDirectory,
  Violation,
} from "./backend.js";
export { BUBBLEWRAP_DEFAULTS, type BubblewrapConfig } from "./bubblewrap/settings.js";
export { connectDocker, findDocker } from "./docker/daemon/connect.js";
export { readDaemonFacts } from "./docker/daemon/daemon-facts.js";
export { findRunsc, offerRunsc, REGISTER_RUNSC } from "./docker/gvisor/register-runsc.js";
export {
  DEFAULT_TAG,
  IMAGE_ORIGINS,
  type ImageOrigin,
  PACKAGE_SETS,
  type PackageSet,
} from "./docker/images/image-build.js";
export { buildImage, listImages, type OwnImage } from "./docker/images/images.js";
export { reapUnusedContainers } from "./docker/reap/reap-unused.js";
export { DOCKER_DEFAULTS, type DockerConfig, GVISOR_DEFAULTS, type GvisorConfig } from "./docker/settings.js";
export { findPrebuilt } from "./guest-runtime.js";
export { ISOLATION_ORDER, type Isolation, isAtLeast } from "./isolation.js";
export type { LimitsConfig } from "./limits.js";
export { checkBackendName, getBackend, listBackends, registerBackend } from "./registry.js";
export { SRT_DEFAULTS, type SrtConfig } from "./srt/settings.js";

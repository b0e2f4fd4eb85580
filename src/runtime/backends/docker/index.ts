import type { BackendDefinition } from "../definition.js";
import { reapUnusedContainers } from "./reap/reap-unused.js";
import { DOCKER_DEFAULTS, type DockerConfig, GVISOR_DEFAULTS, type GvisorConfig } from "./settings.js";

export { connectDocker, findDocker } from "./daemon/connect.js";
export { readDaemonFacts } from "./daemon/daemon-facts.js";
export { findRunsc, offerRunsc, REGISTER_RUNSC } from "./gvisor/register-runsc.js";
export {
  IMAGE_ORIGINS,
  type ImageOrigin,
  PACKAGE_SETS,
  type PackageSet,
} from "./images/image-build.js";
export { buildImage, listImages, type OwnImage } from "./images/images.js";
export { DEFAULT_TAG, type DockerConfig, type GvisorConfig } from "./settings.js";

export const DOCKER = {
  load: async () => (await import("./backend.js")).createDockerBackend,
  settings: {
    defaults: DOCKER_DEFAULTS,
    loadSchema: async () => (await import("./schema.js")).dockerSchema,
    byLanguage: "images",
  },
  isInstalledByHand: true,
  reapUnused: reapUnusedContainers,
} as const satisfies BackendDefinition<DockerConfig>;

export const GVISOR = {
  load: async () => (await import("./backend.js")).createGvisorBackend,
  settings: {
    defaults: GVISOR_DEFAULTS,
    loadSchema: async () => (await import("./schema.js")).gvisorSchema,
    basedOn: "docker",
  },
  isInstalledByHand: true,
} as const satisfies BackendDefinition<GvisorConfig>;

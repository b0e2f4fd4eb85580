import type { BackendDefinition } from "../definition.js";
import { reapUnusedContainers } from "./reap/reap-unused.js";
import { DOCKER_DEFAULTS, type DockerConfig } from "./settings.js";

export { connectDocker, findDocker } from "./daemon/connect.js";
export { readDaemonFacts } from "./daemon/daemon-facts.js";
export { findRunsc, offerRunsc, REGISTER_RUNSC } from "./daemon/register-runsc.js";
export {
  IMAGE_ORIGINS,
  type ImageOrigin,
  PACKAGE_SETS,
  type PackageSet,
} from "./images/image-build.js";
export { buildImage, listImages, type OwnImage } from "./images/images.js";
export { DEFAULT_TAG, type DockerConfig } from "./settings.js";

/** Loads what another backend of containers is made with. */
export const loadDockerBackend = async () => (await import("./backend.js")).createDockerBackend;

export const DOCKER = {
  load: loadDockerBackend,
  settings: {
    defaults: DOCKER_DEFAULTS,
    loadSchema: async () => (await import("./schema.js")).dockerSchema,
    byLanguage: "images",
  },
  isInstalledByHand: true,
  reapUnused: reapUnusedContainers,
} as const satisfies BackendDefinition<DockerConfig>;

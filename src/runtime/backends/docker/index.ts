import type { BackendContext } from "../backend.js";
import { orphanedMounts } from "../containers/container/sandbox-mounts.js";
import { DOCKER_DEFAULTS, type DockerConfig } from "../containers/docker-config.js";
import type { BackendDefinition } from "../definition.js";

export { connectDocker, findDocker } from "../containers/daemon/connect.js";
export { readDaemonFacts } from "../containers/daemon/daemon-facts.js";
export { DEFAULT_TAG, type DockerConfig } from "../containers/docker-config.js";
export {
  IMAGE_ORIGINS,
  type ImageOrigin,
  PACKAGE_SETS,
  type PackageSet,
} from "../containers/images/image-build.js";
export { buildImage, listImages, type OwnImage } from "../containers/images/images.js";

const load = async () => (await import("./backend.js")).createDockerBackend;

/** Where no mount is left, this looks into one directory and loads nothing. */
async function reapUnused(context: BackendContext): Promise<number> {
  if (orphanedMounts(context.stateDir).length === 0) return 0;
  return (await load())(context).reap();
}

export const DOCKER = {
  load,
  settings: {
    defaults: DOCKER_DEFAULTS,
    loadSchema: async () => (await import("./schema.js")).dockerSchema,
    byLanguage: "images",
  },
  isInstalledByHand: true,
  reapUnused,
} as const satisfies BackendDefinition<DockerConfig>;

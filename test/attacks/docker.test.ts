import { startDocker } from "../setup/docker.js";
import { requires } from "../setup/requires.js";
import { BY_DISTANCE, describeContainers } from "./container-targets.js";

const { missing } = requires("linux", "docker", "debootstrap");
if (missing.length === 0)
  describeContainers(startDocker, [
    { title: "docker", backend: "docker" },
    {
      title: "docker without a shared directory",
      backend: "docker",
      shareFiles: "never",
      groups: BY_DISTANCE,
    },
  ]);

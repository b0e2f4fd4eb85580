import { startPodman } from "../setup/docker.js";
import { requires } from "../setup/requires.js";
import { BY_BUILDER, describeContainers } from "./container-targets.js";

const { missing } = requires("linux", "docker", "podman", "debootstrap");
if (missing.length === 0)
  describeContainers(startPodman, [{ title: "podman", backend: "docker", groups: BY_BUILDER }]);

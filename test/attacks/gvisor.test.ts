import { startDocker } from "../setup/docker.js";
import { requires } from "../setup/requires.js";
import { describeContainers } from "./container-targets.js";

const { missing } = requires("linux", "docker", "gvisor", "debootstrap");
if (missing.length === 0) describeContainers(startDocker, [{ title: "gvisor", backend: "gvisor" }]);

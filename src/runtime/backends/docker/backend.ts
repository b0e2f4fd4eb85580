import type { BackendContext, SandboxBackend } from "../backend.js";
import { ContainerBackend } from "../containers/container-backend.js";

/** A container around every sandbox, of a daemon that is here or elsewhere. */
export function createDockerBackend(context: BackendContext): SandboxBackend {
  return new ContainerBackend(context, { name: "docker" });
}

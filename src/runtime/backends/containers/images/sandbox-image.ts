import type Docker from "dockerode";
import { SandboxError } from "../../../../kit/errors.js";
import { escapeUnsafe } from "../../../../kit/escape-unsafe.js";
import { statusOf } from "../container/container.js";
import { callDaemon } from "../daemon/call-daemon.js";
import { missingImage } from "../daemon/connect.js";
import { type DaemonFacts, nodeArchitecture } from "../daemon/daemon-facts.js";

/** What a container takes from its image, besides the files. */
export interface SandboxImage {
  readonly id: string;
  readonly architecture: string;
  /** Its PATH, for commands; undefined: ours. */
  readonly path: string | undefined;
  readonly volumes: readonly string[];
}

/** Looks the image up, or says how to get it. Nothing is pulled here: that is for people to decide. */
export async function findImage(docker: Docker, name: string, facts: DaemonFacts): Promise<SandboxImage> {
  const found = await callDaemon(
    10_000,
    docker
      .getImage(name)
      .inspect()
      .catch((error: unknown) => {
        if (statusOf(error) === 404) throw missingImage(name, error);
        throw error;
      }),
  );
  const architecture = nodeArchitecture(found.Architecture);
  if (architecture !== facts.architecture) {
    throw new SandboxError(
      "SANDBOX_START_FAILED",
      `The image ${escapeUnsafe(name)} is for ${escapeUnsafe(architecture)}, and the daemon's machine is ${facts.architecture}`,
      { hint: "Build or pull it for that architecture: docker pull --platform, skerry image build" },
    );
  }
  const variable = found.Config?.Env?.find((each) => each.startsWith("PATH="));
  return {
    id: found.Id,
    architecture,
    path: variable?.slice("PATH=".length) || undefined,
    volumes: Object.keys(found.Config?.Volumes ?? {}),
  };
}

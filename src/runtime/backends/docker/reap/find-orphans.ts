import type Docker from "dockerode";
import { callDaemon } from "../daemon/call-daemon.js";
import { isContainerName, isOrphan, LABEL, type LabelledResource } from "./labels.js";

const CALL_TIMEOUT_MS = 5000;

/** Those of our place whose makers are gone. Who makes an image of a sandbox has our labels on what runs from it. */
export async function findOrphans<Listed extends Docker.ContainerInfo>(
  docker: Docker,
  listed: readonly Listed[],
): Promise<Listed[]> {
  const gone = listed.filter(
    (each) => each.Names.some(isContainerName) && isOrphan(each as LabelledResource),
  );
  const inherited = await Promise.all(gone.map((each) => hasLabelsOfImage(docker, each)));
  return gone.filter((_, index) => !inherited[index]);
}

async function hasLabelsOfImage(docker: Docker, { ImageID, Labels }: Docker.ContainerInfo): Promise<boolean> {
  try {
    const { Config } = await callDaemon(CALL_TIMEOUT_MS, docker.getImage(ImageID).inspect());
    return Config.Labels?.[LABEL.maker] === Labels[LABEL.maker];
  } catch {
    // An image can be removed by force while its containers stay, and theirs are then all that there is.
    return false;
  }
}

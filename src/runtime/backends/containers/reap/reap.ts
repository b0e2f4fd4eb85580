import type Docker from "dockerode";
import { removeContainer } from "../container/container.js";
import { reapGuestVolumes } from "../container/guest-volume.js";
import { isContainerName, isOrphan, LABEL, type LabelledResource, stateLabels } from "../container/labels.js";
import { reapMounts } from "../container/sandbox-mounts.js";
import { callDaemon } from "../daemon/call-daemon.js";

/** A close meanwhile waits for it. */
const CALL_TIMEOUT_MS = 5000;

/**
 * Removes the containers whose makers are gone, then what those had on this host. Other machines' and other state
 * directories' on the same daemon are not ours to judge. A daemon that is away has nothing that we could remove.
 */
export async function reapContainers(
  docker: Docker | undefined,
  stateDir: string,
  guest: () => string,
): Promise<number> {
  const inDaemon = docker === undefined ? Promise.resolve(0) : reapInDaemon(docker, stateDir);
  const [daemons, mounts] = [
    ...(await Promise.allSettled([inDaemon])),
    ...(await Promise.allSettled([reapMounts(stateDir, guest)])),
  ];
  if (daemons!.status === "rejected") throw daemons!.reason;
  if (mounts!.status === "rejected") throw mounts!.reason;
  // A sandbox has both, or only one of them: it is the same one.
  return Math.max(mounts!.value, daemons!.value);
}

async function reapInDaemon(docker: Docker, stateDir: string): Promise<number> {
  const label = Object.entries(stateLabels(stateDir)).map(([name, value]) => `${name}=${value}`);
  const listed = await callDaemon(
    CALL_TIMEOUT_MS,
    docker.listContainers({ all: true, filters: { label } }),
  ).catch(() => undefined);
  if (listed === undefined) return 0;
  const left = await findOrphans(docker, listed);
  const removed = await Promise.allSettled(left.map(({ Id }) => removeContainer(docker.getContainer(Id))));
  const makers = left.map(({ Labels }) => Labels[LABEL.maker] ?? "");
  await reapGuestVolumes(docker, makers).catch(() => undefined);
  const failed = removed.find((each) => each.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return left.length;
}

/** Those of our place whose makers are gone. Who makes an image of a sandbox has our labels on what runs from it. */
async function findOrphans<Listed extends Docker.ContainerInfo>(
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

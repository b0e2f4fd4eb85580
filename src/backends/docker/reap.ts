import type Docker from "dockerode";
import { ask } from "./ask.js";
import { type Found, isAbandoned, ownPlace } from "./labels.js";
import { reapPlaces } from "./place.js";

const CALL_TIMEOUT_MS = 20_000;

/**
 * Removes the containers whose makers are gone, then what those had on this host. Other machines' and other state
 * directories' on the same daemon are not ours to judge. A daemon that is away has nothing that we could remove.
 */
export async function reapContainers(
  docker: Docker | undefined,
  stateDir: string,
  guest: () => string,
): Promise<number> {
  const label = Object.entries(ownPlace(stateDir)).map(([name, value]) => `${name}=${value}`);
  const listed =
    docker === undefined
      ? []
      : await ask(CALL_TIMEOUT_MS, docker.listContainers({ all: true, filters: { label } })).catch(() => []);
  const left = listed.filter((each) => isAbandoned(each as Found));
  const removed = await Promise.allSettled(
    left.map(({ Id }) => ask(CALL_TIMEOUT_MS, docker!.getContainer(Id).remove({ force: true, v: true }))),
  );
  const places = await reapPlaces(stateDir, guest);
  // A sandbox has both, or only one of them: it is the same one.
  return Math.max(places, removed.filter(({ status }) => status === "fulfilled").length);
}

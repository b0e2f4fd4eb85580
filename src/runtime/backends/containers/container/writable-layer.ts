import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type Docker from "dockerode";
import { systemCode } from "../../../../kit/errors.js";

/** What a container's own layer has that the image has not. */
export interface Change {
  readonly Path: string;
  /** 0: modified, 1: added, 2: deleted. */
  readonly Kind: number;
}

const DELETED = 2;
const ADDED = 1;
/** The runtime makes a few directories and files; more is not its work. */
const MOST_ENTRIES = 1000;

/**
 * Looks at the layer itself where this host has it: the daemon compares every file of the image, which takes a second
 * or two.
 */
export async function readWritableLayer(
  container: Docker.Container,
  { GraphDriver }: Docker.ContainerInspectInfo,
): Promise<readonly Change[]> {
  const upper = (GraphDriver?.Data as { readonly UpperDir?: unknown } | null)?.UpperDir;
  // Docker's name for it, and Podman's.
  if (["overlay2", "overlay"].includes(GraphDriver.Name) && typeof upper === "string" && upper !== "") {
    const found = tryReadLayer(upper);
    if (found !== undefined) return found;
  }
  return ((await container.changes()) ?? []) as Change[];
}

/** Undefined: there is no such directory here. */
function tryReadLayer(upper: string): Change[] | undefined {
  try {
    return readLayer(upper, "", []);
  } catch (error) {
    if (systemCode(error) === "ENOENT" || systemCode(error) === "EACCES") return undefined;
    throw error;
  }
}

function readLayer(upper: string, path: string, found: Change[]): Change[] {
  for (const name of readdirSync(join(upper, path))) {
    const Path = `${path}/${name}`;
    const stat = lstatSync(join(upper, Path));
    // Overlay's mark for what is gone.
    found.push({ Path, Kind: stat.isCharacterDevice() ? DELETED : ADDED });
    if (found.length > MOST_ENTRIES) return found;
    if (stat.isDirectory()) readLayer(upper, Path, found);
  }
  return found;
}

/**
 * The first change that is not the runtime's: it makes the directories and files that mounts need, and nothing else
 * can write to the container's own layer.
 */
export function findUnexpectedChange(
  changes: readonly Change[],
  mounted: readonly string[],
): string | undefined {
  if (changes.length > MOST_ENTRIES) return changes.at(-1)?.Path;
  // The runtime's own mounts, for which an image may have no directory.
  const places = [...mounted, "/dev/shm", "/dev/pts", "/dev/mqueue", "/proc", "/sys", "/etc/hosts"];
  const owned = [...places, "/etc/hostname", "/etc/resolv.conf", "/dev/console", "/.dockerenv"];
  return changes.find(
    ({ Path, Kind }) =>
      Kind === DELETED || !owned.some((place) => place === Path || place.startsWith(`${Path}/`)),
  )?.Path;
}

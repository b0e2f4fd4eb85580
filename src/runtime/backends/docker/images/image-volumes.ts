import { posix } from "node:path";
import { SandboxError } from "../../../../kit/errors.js";
import { escapeUnsafe } from "../../../../kit/escape-unsafe.js";

/** Mounts of ours are there: the daemon then makes no volume. */
const COVERED = ["/workspace", "/tmp", "/opt/skerry"];
/** A volume there would hide files of a session, of ours or the kernel's. */
const OURS = ["/workspace", "/opt/skerry", "/dev", "/proc", "/sys"];
/** Memory there would hide what the image needs to work, and a volume could be written to without a limit. */
const SYSTEM = ["/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/sbin", "/usr"];

/** Where an image wants volumes and gets limited memory instead. Throws where it cannot have that either. */
export function volumesInMemory(volumes: readonly string[]): string[] {
  const paths = [...new Set(volumes.map((path) => posix.join("/", path, ".").replace(/(?<=.)\/$/, "")))];
  return paths.filter((path) => {
    if (COVERED.includes(path)) return false;
    if (path === "/" || [...OURS, ...SYSTEM].some((each) => path === each || path.startsWith(`${each}/`))) {
      throw new SandboxError(
        "SANDBOX_START_FAILED",
        `The image declares a volume at ${escapeUnsafe(path)}, which a sandbox cannot have there`,
        { hint: "Build it without that VOLUME line; docker inspect shows which image it comes from." },
      );
    }
    return true;
  });
}

import { chmodSync, lstatSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { SandboxError } from "../errors.js";

/**
 * Where sandboxes' files are kept when nothing else is said. Programs inside can read the path from their mount
 * table, so it names no person: not the home directory.
 */
export function defaultStateDirectory(env: NodeJS.ProcessEnv = process.env): string {
  if (env["SKERRY_STATE_DIR"]) return env["SKERRY_STATE_DIR"];
  const uid = process.getuid?.() ?? 0;
  return uid === 0 ? "/var/lib/skerry" : `/var/tmp/skerry-${uid}`;
}

/** Makes the directory, or checks that the one there is ours alone to change. */
export function ensureStateDirectory(path: string): void {
  // Whatever the umask says: root's sandboxes must be able to pass through.
  if (mkdirSync(path, { recursive: true }) !== undefined) chmodSync(path, 0o711);
  const stat = lstatSync(path);
  if (!stat.isDirectory() || stat.uid !== process.getuid?.() || (stat.mode & 0o022) !== 0) {
    throw new SandboxError(
      "CONFIG_INVALID",
      "The state directory is not a directory that only this user can change",
      {
        hint: "Set SKERRY_STATE_DIR or sandbox.stateDir to a directory you own, with mode 0711 or 0700.",
      },
    );
  }
  if (process.getuid() === 0) checkPassage(path);
}

/** Root's sandboxes run as users of their own, who must be able to pass through to their files. */
function checkPassage(path: string): void {
  for (let parent = path; parent !== "/"; parent = dirname(parent)) {
    if ((statSync(parent).mode & 0o001) !== 0) continue;
    throw new SandboxError(
      "CONFIG_INVALID",
      "Sandboxes cannot reach the state directory: a directory above it is closed to others",
      {
        hint: "Choose a state directory whose parents all have mode 0711 or 0755, such as /var/lib/skerry.",
      },
    );
  }
}

import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { systemCode } from "../../kit/errors.js";
import { isSharedOrphan } from "../../kit/process-label.js";

/** A server calls its sessions by ids of its store. */
const STORE_ID = /^[0-9a-f]{24}$/;
/** The label of the running process; the folder holds another name when no server runs. */
const LABEL = /^\d+-\d+-/;

/** Says of a session's key whether it is one of the server that runs from this state directory. Changes nothing there. */
export function serversSessions(stateDir: string): (key: string) => boolean {
  const runs = hasServer(join(stateDir, "server", "writer"));
  return (key) => runs && STORE_ID.test(key);
}

/** Looks at the lock that a server has while it runs. */
function hasServer(folder: string): boolean {
  try {
    return readdirSync(folder).some(
      (name) => LABEL.test(name) && !isSharedOrphan(name, lstatSync(join(folder, name)).ctimeMs),
    );
  } catch (error) {
    // None has been here, or it goes right now.
    if (systemCode(error) === "ENOENT") return false;
    throw error;
  }
}

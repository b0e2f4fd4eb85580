import {
  type ControlSocket,
  type ControlSocketFolder,
  listenOnControlSocket,
  parseRecord,
  reapSockets,
} from "../../kit/control-socket.js";
import { SandboxError } from "../../kit/errors.js";
import { ensureStateDirectory } from "../../kit/state-directory.js";
import type { PoolStatus } from "./pool-lease.js";

/** No more than so many are told of one by one. */
export const MAX_LISTED = 1000;

/** Where other processes of this user find a pool, such as `skerry pool status`. */
export interface PoolHome {
  readonly stateDir: string;
  /** The backend's name as far as it is known by then. */
  backend(): string;
}

export function poolFolder(stateDir: string): ControlSocketFolder {
  return { stateDir, name: "pools" };
}

/** Tells other processes of this user how a pool of this one does. Undefined: the path is too long for a socket. */
export async function openPoolSocket(
  home: PoolHome,
  status: () => PoolStatus,
): Promise<ControlSocket | undefined> {
  ensureStateDirectory(home.stateDir);
  const folder = poolFolder(home.stateDir);
  reapSockets(folder);
  return listenOnControlSocket(folder, "", async (line, socket) => {
    if (parseRecord(line)["ask"] !== "status") {
      throw new SandboxError("INVALID_ARGUMENT", "Unknown request to a pool");
    }
    const now = status();
    const told = { ...now, instances: now.instances.slice(0, MAX_LISTED) };
    socket.end(`${JSON.stringify({ ok: true, backend: home.backend(), status: told })}\n`);
  });
}

import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../core/config/index.js";
import { ensureStateDirectory } from "../../kit/state-directory.js";
import { openStore, type Store } from "../store/index.js";

/** The server's part of the state directory, for this user alone. Creates it if it is missing. */
export function serverDirectory(stateDir: string): string {
  ensureStateDirectory(stateDir);
  const directory = join(stateDir, "server");
  mkdirSync(directory, { recursive: true });
  // Whatever the umask says: keys' hashes are in here.
  chmodSync(directory, 0o700);
  return directory;
}

/** Opens the store that the configuration names, or the one in the state directory. */
export function openConfiguredStore(config: Config, stateDir: string): Promise<Store> {
  return openStore({ url: config.server.store ?? join(serverDirectory(stateDir), "store.db") });
}

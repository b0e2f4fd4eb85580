import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expandHome } from "../../config/index.js";
import { isOrphaned, labelFor } from "../process-label.js";
import type { HostOrders } from "./host-orders.js";

/** Short, since the path of a socket has at most 107 bytes, and searchable for every sandbox's user. */
const PARENT = "/tmp";
const PREFIX = "skerry-srt-";

/** Where one sandbox's host process finds its orders and keeps its sockets; gone with the sandbox. */
export class RunDirectory {
  readonly path: string;
  readonly #settings: string;

  private constructor(path: string, settings: string) {
    this.path = path;
    this.#settings = settings;
  }

  /** Leaves nothing behind when it throws. */
  static create(
    id: string,
    createOrders: (path: string) => HostOrders,
    settingsPath: string,
    owner: { readonly uid: number; readonly gid: number } | undefined,
  ): RunDirectory {
    const label = labelFor(id);
    const path = join(PARENT, `${PREFIX}${label}`);
    const directory = new RunDirectory(path, join(settingsDirectory(settingsPath), `${label}.json`));
    const orders = createOrders(path);
    // Fails when it exists: nobody else may have made it.
    mkdirSync(path, { mode: 0o700 });
    try {
      writeFileSync(join(path, "orders.json"), JSON.stringify(orders));
      chmodSync(join(path, "orders.json"), 0o444);
      if (owner !== undefined) chownSync(path, owner.uid, owner.gid);
      directory.#showSettings(orders);
    } catch (error) {
      directory.remove();
      throw error;
    }
    return directory;
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
    rmSync(this.#settings, { force: true });
  }

  /** For people to read. The host process has its orders; where there is no home to write to, nothing is lost. */
  #showSettings({ settings }: HostOrders): void {
    try {
      mkdirSync(dirname(this.#settings), { recursive: true, mode: 0o700 });
      writeFileSync(this.#settings, `${JSON.stringify(settings, null, 2)}\n`, { mode: 0o600 });
    } catch {}
  }
}

/** Removes what processes that are gone have left; resolves to the labels of their sandboxes. */
export function reapRunDirectories(settingsPath: string): Set<string> {
  const labels = new Set<string>();
  const reap = (parent: string, prefix: string, suffix: string) => {
    for (const name of readNames(parent)) {
      if (!name.startsWith(prefix) || !name.endsWith(suffix)) continue;
      const label = name.slice(prefix.length, name.length - suffix.length);
      if (!isOrphaned(label)) continue;
      rmSync(join(parent, name), { recursive: true, force: true });
      labels.add(label);
    }
  };
  reap(PARENT, PREFIX, "");
  reap(settingsDirectory(settingsPath), "", ".json");
  return labels;
}

/** Beside the settings that are the user's own. */
function settingsDirectory(settingsPath: string): string {
  return join(dirname(expandHome(settingsPath)), "srt-sessions");
}

function readNames(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

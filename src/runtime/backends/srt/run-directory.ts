import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { expandHome } from "../../../kit/expand-home.js";
import { isOrphaned, processLabel } from "../../../kit/process-label.js";
import { checkStateDirectory } from "../../../kit/state-directory.js";
import { type Owner, removeTree } from "../../workspace/index.js";
import type { HostRequest } from "./host-request.js";

/** Below the state directory. */
const FOLDER = "srt";
/** What the kernel takes for the path of a socket. */
const LONGEST_SOCKET = process.platform === "linux" ? 107 : 103;
/** The longest that sandbox-runtime makes. */
const SOCKET = `/claude-socks-${"0".repeat(16)}.sock`;
/** Where there is room for the path of a socket, below any state directory's length. */
const ELSEWHERE = "/tmp";
const ELSEWHERE_NAME = /^skerry-srt-[0-9a-f]{16}$/;

export interface RunDirectoryInit {
  readonly stateDir: string;
  readonly settingsPath: string;
  readonly id: string;
  /** The user of the host process; left out: this process's. */
  readonly owner: Owner | undefined;
  readonly createRequest: (path: string) => HostRequest;
}

/** Where one sandbox's host process finds its request and keeps its sockets; gone with the sandbox. */
export class RunDirectory {
  readonly path: string;
  readonly #entry: string;
  readonly #settings: string;
  #showsSettings = false;

  private constructor(path: string, entry: string, settings: string) {
    this.path = path;
    this.#entry = entry;
    this.#settings = settings;
  }

  /** Leaves nothing behind when it throws. */
  static async create({
    stateDir,
    settingsPath,
    id,
    owner,
    createRequest,
  }: RunDirectoryInit): Promise<RunDirectory> {
    const label = processLabel(id);
    const folder = join(stateDir, FOLDER);
    // The sandbox's user must be able to pass through, whatever our umask is.
    if (mkdirSync(folder, { recursive: true, mode: 0o711 }) !== undefined) chmodSync(folder, 0o711);
    checkStateDirectory(folder);
    const entry = join(folder, label);
    const outer = fitsSockets(entry)
      ? undefined
      : join(ELSEWHERE, `skerry-srt-${randomBytes(8).toString("hex")}`);
    // What is the sandbox's user's own is never right below /tmp, where that user could put something else there.
    const path = outer === undefined ? entry : join(outer, "run");
    const directory = new RunDirectory(path, entry, join(settingsDirectory(settingsPath), `${label}.json`));
    const request = createRequest(path);
    try {
      if (outer !== undefined) {
        // The link is the record by which it is found again, so it is there first.
        symlinkSync(outer, entry);
        makeDirectory(outer, owner === undefined ? 0o700 : 0o711);
      }
      makeDirectory(path, 0o700);
      writeFileSync(join(path, "request.json"), JSON.stringify(request));
      chmodSync(join(path, "request.json"), 0o444);
      if (owner !== undefined) chownSync(path, owner.uid, owner.gid);
      directory.#showSettings(request);
    } catch (error) {
      await directory.remove();
      throw error;
    }
    return directory;
  }

  async remove(): Promise<void> {
    await removeEntry(this.#entry);
    if (this.#showsSettings) rmSync(this.#settings, { force: true });
  }

  /** For people to read. The host process has its request; where there is no home to write to, nothing is lost. */
  #showSettings({ settings }: HostRequest): void {
    const folder = dirname(this.#settings);
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      checkStateDirectory(folder);
      writeFileSync(this.#settings, `${JSON.stringify(settings, null, 2)}\n`, { mode: 0o600, flag: "wx" });
      this.#showsSettings = true;
    } catch {
      // Only people read them.
    }
  }
}

/** Removes what processes that are gone have left, by our own records only; resolves to the labels of their sandboxes. */
export async function reapRunDirectories(stateDir: string, settingsPath: string): Promise<Set<string>> {
  const labels = new Set<string>();
  const reap = async (folder: string, suffix: string, remove: (path: string) => Promise<void> | void) => {
    for (const name of ownNames(folder)) {
      const label = name.slice(0, name.length - suffix.length);
      if (!name.endsWith(suffix) || !isOrphaned(label)) continue;
      try {
        await remove(join(folder, name));
        labels.add(label);
      } catch {
        // The others are not to wait for one that cannot be removed.
      }
    }
  };
  await reap(join(stateDir, FOLDER), "", removeEntry);
  await reap(settingsDirectory(settingsPath), ".json", (path) => rmSync(path, { force: true }));
  return labels;
}

/** The run directory of an entry in our folder, and the entry. What a link leads to is ours, or is left alone. */
async function removeEntry(entry: string): Promise<void> {
  if (lstatSync(entry, { throwIfNoEntry: false })?.isSymbolicLink()) {
    const outer = readlinkSync(entry);
    const found = lstatSync(outer, { throwIfNoEntry: false });
    const isOurs = found?.isDirectory() === true && found.uid === process.getuid?.();
    if (isOurs && dirname(outer) === ELSEWHERE && ELSEWHERE_NAME.test(basename(outer)))
      await removeDirectory(outer);
  }
  await removeDirectory(entry);
}

/** Its content may belong to a sandbox's user, and must not lead us elsewhere. */
async function removeDirectory(path: string): Promise<void> {
  if (process.platform === "linux") await removeTree(dirname(path), basename(path));
  else rmSync(path, { recursive: true, force: true });
}

/** Room for the sockets in it, and nothing in its name that socat's way to write addresses would take apart. */
function fitsSockets(path: string): boolean {
  return Buffer.byteLength(path + SOCKET) <= LONGEST_SOCKET && /^[\w./-]+$/.test(path);
}

/** Fails when it exists: another user may have made it. */
function makeDirectory(path: string, mode: number): void {
  mkdirSync(path, { mode: 0o700 });
  chmodSync(path, mode);
}

/** Beside the settings that are the user's own. */
function settingsDirectory(settingsPath: string): string {
  return join(dirname(expandHome(settingsPath)), "srt-sessions");
}

/** The names in a folder that only we can change. */
function ownNames(folder: string): string[] {
  try {
    return checkStateDirectory(folder) ? readdirSync(folder) : [];
  } catch {
    return [];
  }
}

import { createHash } from "node:crypto";
import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SandboxError, systemCode } from "../../../../../kit/errors.js";
import { installOnce, removeUnfinished } from "../../../../../kit/install-once.js";
import { checkStateDirectory } from "../../../../../kit/state-directory.js";
import { seccompProfile } from "../seccomp-option.js";

/** Files of this host that Podman's containers are made with. */
export interface PodmanFiles {
  /** Podman takes the name of a file where Docker takes the profile itself. */
  readonly profile: string;
  /** By their path inside: Podman's own would tell what is in the host's. */
  readonly etc: Readonly<Record<string, string>>;
}

const PROFILE = "seccomp.json";
const ETC = {
  hosts: "127.0.0.1 localhost skerry\n::1 localhost\n",
  hostname: "skerry\n",
  "resolv.conf": "nameserver 127.0.0.1\n",
} as const;

/** Of another version of ours, which writes it again when it still wants it. */
const OLD_MS = 60 * 60 * 1000;

/**
 * Writes them into the state directory, once for every content. Before every use: whatever is not exactly as we would
 * write it, and ours alone to change, is rewritten.
 */
export function installPodmanFiles(stateDir: string): PodmanFiles {
  const contents: Readonly<Record<string, string>> = { [PROFILE]: seccompProfile(), ...ETC };
  const name = createHash("sha256").update(JSON.stringify(contents)).digest("hex").slice(0, 32);
  const parent = join(stateDir, "podman");
  const directory = join(parent, name);
  checkStateDirectory(stateDir);
  checkStateDirectory(parent);
  if (!isIntact(directory, contents)) {
    // Another process may be writing it at this moment: what is whole by now stays.
    if (existsSync(directory) && !isIntact(directory, contents))
      rmSync(directory, { recursive: true, force: true });
    removeUnfinished(parent);
    removeOld(parent, name);
    write(parent, name, contents);
    if (!isIntact(directory, contents))
      throw new SandboxError("INTERNAL", "The files for Podman are not as they were written");
  }
  return {
    profile: join(directory, PROFILE),
    etc: Object.fromEntries(Object.keys(ETC).map((each) => [`/etc/${each}`, join(directory, each)])),
  };
}

function isIntact(directory: string, contents: Readonly<Record<string, string>>): boolean {
  try {
    if (!isOursAlone(directory, "isDirectory")) return false;
    return Object.entries(contents).every(([name, content]) => {
      const path = join(directory, name);
      return isOursAlone(path, "isFile") && readFileSync(path, "utf8") === content;
    });
  } catch (error) {
    if (systemCode(error) === "ENOENT" || systemCode(error) === "EACCES") return false;
    throw error;
  }
}

function isOursAlone(path: string, kind: "isDirectory" | "isFile"): boolean {
  const stat = lstatSync(path);
  return stat[kind]() && stat.uid === process.getuid?.() && (stat.mode & 0o022) === 0;
}

function write(parent: string, name: string, contents: Readonly<Record<string, string>>): void {
  try {
    installOnce(parent, name, (temporary) => {
      for (const [file, content] of Object.entries(contents)) {
        writeFileSync(join(temporary, file), content, { flag: "wx" });
        // Whatever the umask says: Podman's own user, and the sandbox's, read them.
        chmodSync(join(temporary, file), 0o644);
      }
    });
  } catch (error) {
    if (systemCode(error) !== "ENOSPC") throw error;
    throw new SandboxError("DISK_FULL", "There is no room for Podman's files in the state directory", {
      hint: "Free some space, or point SKERRY_STATE_DIR at another disk.",
      cause: error,
    });
  }
}

function removeOld(parent: string, current: string): void {
  let names: string[];
  try {
    names = readdirSync(parent);
  } catch {
    return;
  }
  for (const name of names.filter((each) => each !== current && !each.startsWith("."))) {
    const path = join(parent, name);
    const { mtimeMs } = lstatSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() };
    if (Date.now() - mtimeMs > OLD_MS) rmSync(path, { recursive: true, force: true });
  }
}

import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { rmdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { SandboxError } from "../../../../kit/errors.js";
import { isOrphaned, processLabel } from "../../../../kit/process-label.js";
import { checkStateDirectory } from "../../../../kit/state-directory.js";
import type { WorkspaceMount } from "../../linux/workspace/workspace-mount.js";

const run = promisify(execFile);

interface User {
  readonly uid: number;
  readonly gid: number;
}

/** What one sandbox has on this host for its containers: the mounts of its workspace and of the guest, its own files of /etc. */
export class SandboxMounts {
  readonly directory: string;
  /** Where the workspace is mounted. */
  readonly workspace: string;
  readonly #guest: string;
  #isMounted = false;
  #isGuestMounted = false;

  constructor(stateDir: string, id: string, guest: string) {
    this.directory = join(mountsDirectory(stateDir), processLabel(id));
    this.workspace = join(this.directory, "workspace");
    this.#guest = guest;
    mkdirSync(this.workspace, { recursive: true, mode: 0o700 });
  }

  /** By their path inside. The daemon's would tell the host's name servers; the image's do not know this user. */
  writeFiles({ uid, gid }: User): Record<string, string> {
    const etc = join(this.directory, "etc");
    mkdirSync(etc, { recursive: true, mode: 0o755 });
    return Object.fromEntries(
      Object.entries(etcFiles(uid, gid)).map(([name, content]) => {
        const path = join(etc, name);
        writeFileSync(path, content, { mode: 0o644 });
        return [`/etc/${name}`, path];
      }),
    );
  }

  /** Mounts what the kernel keeps within its limits. The container takes it from here when it starts. */
  async mount(mount: WorkspaceMount, { uid, gid }: User): Promise<void> {
    const how =
      mount.kind === "image"
        ? ["--mount-image", mount.path]
        : ["--mount-memory", `size=${mount.bytes},nr_inodes=${mount.inodes}`];
    this.#isMounted = true;
    try {
      await run(this.#guest, [...how, this.workspace, String(uid), String(gid)], { env: {} });
    } catch (error) {
      throw new SandboxError("SANDBOX_START_FAILED", `The workspace cannot be mounted: ${said(error)}`, {
        hint: "skerry doctor says what this host lacks.",
        cause: error,
      });
    }
  }

  /**
   * The guest's files under inodes of this sandbox's own: a lock or a watch there reaches no other one. Resolves to where
   * they are; where the kernel has no overlay, that is where all have them.
   */
  async coverGuest(directory: string): Promise<string> {
    const point = join(this.directory, "guest");
    const empty = join(this.directory, "empty");
    for (const path of [point, empty]) mkdirSync(path, { recursive: true, mode: 0o755 });
    try {
      await run(this.#guest, ["--mount-cover", directory, empty, point], { env: {} });
    } catch {
      return directory;
    }
    this.#isGuestMounted = true;
    return point;
  }

  async unmount(): Promise<void> {
    if (!this.#isMounted) return;
    await run(this.#guest, ["--unmount", this.workspace], { env: {} });
    this.#isMounted = false;
  }

  async remove(): Promise<void> {
    await this.unmount();
    if (this.#isGuestMounted)
      await run(this.#guest, ["--unmount", join(this.directory, "guest")], { env: {} });
    this.#isGuestMounted = false;
    await removeMounts(this.directory);
  }
}

/** The places of processes that are gone. */
export function orphanedMounts(stateDir: string): string[] {
  // Never in a directory that another user could have put there.
  if (![stateDir, mountsDirectory(stateDir)].every(checkStateDirectory)) return [];
  return readdirSync(mountsDirectory(stateDir))
    .filter(isOrphaned)
    .map((name) => join(mountsDirectory(stateDir), name));
}

/** Removes them, and goes on past those that cannot be, which it reports together; resolves to how many. */
export async function reapMounts(stateDir: string, guest: () => string): Promise<number> {
  const left = orphanedMounts(stateDir);
  const failures: unknown[] = [];
  for (const directory of left) {
    try {
      for (const name of ["workspace", "guest"])
        await run(guest(), ["--unmount", join(directory, name)], { env: {} });
      await removeMounts(directory);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length === 0) return left.length;
  const message = `${failures.length} workspaces of ended processes cannot be removed: ${said(failures[0])}`;
  throw new SandboxError("INTERNAL", message, {
    hint: `What they left is in ${mountsDirectory(stateDir)}.`,
    cause: new AggregateError(failures),
  });
}

/** Never through a mount: what is still mounted there are a session's files. */
async function removeMounts(directory: string): Promise<void> {
  rmSync(join(directory, "etc"), { recursive: true, force: true });
  for (const path of [...["workspace", "guest", "empty"].map((name) => join(directory, name)), directory]) {
    await rmdir(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
  }
}

function mountsDirectory(stateDir: string): string {
  return join(stateDir, "mounts");
}

function etcFiles(uid: number, gid: number): Record<string, string> {
  return {
    passwd:
      `root:x:0:0:root:/:/usr/sbin/nologin\nagent:x:${uid}:${gid}:agent:/workspace:/bin/bash\n` +
      "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
    group: `root:x:0:\nagent:x:${gid}:\nnogroup:x:65534:\n`,
    hosts: "127.0.0.1 localhost skerry\n::1 localhost\n",
    hostname: "skerry\n",
    "resolv.conf": "nameserver 127.0.0.1\n",
  };
}

function said(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message?: string };
  return (stderr || message || "unknown")
    .replace(/^skerry-guest: /, "")
    .trim()
    .slice(0, 300);
}

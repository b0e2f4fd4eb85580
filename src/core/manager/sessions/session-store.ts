import { randomBytes } from "node:crypto";
import { renameSync } from "node:fs";
import { join, relative } from "node:path";
import { SandboxError, systemCode } from "../../../kit/errors.js";
import { isOrphaned, processLabel } from "../../../kit/process-label.js";
import { checkStateDirectory, ensureStateDirectory } from "../../../kit/state-directory.js";
import {
  allocateOwner,
  countOwners,
  moveOwner,
  releaseOwner,
  releaseUnheld,
  removeTree,
  validateSessionKey,
} from "../../../runtime/workspace/index.js";
import {
  directoryName,
  ensurePassable,
  isOwnedBy,
  isPristine,
  isTaken,
  type MadeDirectory,
  makeDirectory,
  ownerOf,
  readDirectory,
  readMeta,
  removeEmpty,
  type SessionMeta,
  type StoredSession,
  sessionIdOf,
  TEMPORARY,
  temporaryName,
  touchMeta,
  whenFull,
  withoutRecord,
  writeMeta,
} from "./session-directory.js";

export interface SessionInfo {
  readonly sessionId: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date;
}

const MAX_SPARES = 8;
const UNFINISHED = ".new-";
const GONE = ".gone-";
/** Folders and the prefixes of names in them that belong to one process. */
const REAPED = [
  ["ephemeral", ""],
  ["ephemeral", GONE],
  ["sessions", UNFINISHED],
  ["sessions", GONE],
  ["sessions", TEMPORARY],
] as const;

/**
 * Sessions as directories below the state directory:
 *
 *   sessions/<name>/    session.json, workspace/: kept until deleted
 *   sessions/.temporary-<label>/  the same, for the sessions that go with one process
 *   ephemeral/<label>/  the same, for one sandbox of one process
 *   owners/<uid>        which directory a user id belongs to
 */
export class SessionStore {
  readonly #isRoot = process.getuid?.() === 0;
  readonly #spares: MadeDirectory[] = [];
  /** The directories of temporary sessions, by key. */
  readonly #temporary = new Map<string, string>();
  /** The temporary ones whose name may be used again once they are deleted: a caller chose it. */
  readonly #adopted = new Set<string>();

  constructor(
    private readonly root: string,
    private readonly uidRange: { readonly start: number; readonly count: number },
  ) {}

  /** The session of this key will go with this process: another process neither sees nor keeps it. */
  addTemporary(key: string): void {
    this.#temporary.set(validateSessionKey(key), temporaryName());
  }

  isTemporary(key: string): boolean {
    return this.#temporary.has(key);
  }

  /** Removes the temporary sessions that are left. */
  async deleteTemporary(): Promise<void> {
    await Promise.all([...this.#temporary.keys()].map((key) => this.delete(key)));
  }

  /** Finds the session or makes it; two processes that do this at once get the same one. */
  async open(key: string): Promise<StoredSession> {
    this.#prepare();
    const path = join(this.root, "sessions", this.#directoryName(key));
    const existing = readMeta(path);
    if (existing !== undefined) {
      touchMeta(path);
      return this.#found(existing, path);
    }
    const made = await this.#add(key);
    if (made !== undefined) return made;
    const winner = readMeta(path);
    if (winner !== undefined) return this.#found(winner, path);
    throw new SandboxError("INTERNAL", "The session was removed while it was opened");
  }

  /** Makes the session. Undefined: there is one of that name, which may be another process'. */
  async create(key: string): Promise<StoredSession | undefined> {
    this.#prepare();
    return this.exists(key) ? undefined : this.#add(key);
  }

  async #add(key: string): Promise<StoredSession | undefined> {
    const name = this.#directoryName(key);
    const path = join(this.root, "sessions", name);
    const unfinished = `${UNFINISHED}${processLabel(randomBytes(6).toString("hex"))}`;
    const made = this.#make(join(this.root, "sessions", unfinished), join("sessions", name));
    try {
      writeMeta(made, { key, createdAt: new Date().toISOString(), ready: false });
      renameSync(made.path, path);
      return { ...made, key, path, ready: false, ephemeral: false };
    } catch (error) {
      await this.#discard(made);
      const isThere = readMeta(path) !== undefined;
      if (!isTaken(error)) throw whenFull(error);
      if (!isThere) throw withoutRecord(name, error);
      return undefined;
    }
  }

  /** Notes that the workspace has been filled: from now on it is kept. */
  markReady(session: StoredSession): void {
    if (session.ready || session.ephemeral) return;
    const meta = readMeta(session.path);
    if (meta !== undefined) writeMeta(session, { key: meta.key, createdAt: meta.createdAt, ready: true });
  }

  /** Removes a session whose start failed, unless another process has started it meanwhile. */
  async discardUnready(session: StoredSession): Promise<void> {
    if (session.ephemeral || readMeta(session.path)?.ready === false) await this.#discard(session);
  }

  /** A directory for one sandbox, which no key finds again. */
  openEphemeral(key: string): StoredSession {
    validateSessionKey(key);
    const made = this.#spares.pop() ?? this.#makeEphemeral();
    return { ...made, key, ready: false, ephemeral: true };
  }

  /**
   * Makes the directory of a sandbox that was started ahead, with all that is in it, a new session's. Undefined: the
   * session was made meanwhile, and the directory still belongs to none. `isTemporary`: it goes with this process.
   */
  adopt(prepared: StoredSession, key: string, isTemporary = false): StoredSession | undefined {
    // A temporary name is never taken: no rename would fail.
    if (isTemporary && this.exists(key)) return undefined;
    const name = isTemporary ? temporaryName() : this.#directoryName(key);
    const holder = join("sessions", name);
    const path = join(this.root, holder);
    const giveOwner = (to: string) => {
      if (prepared.owner !== undefined) moveOwner(this.root, prepared.owner, processLabel("owner"), to);
    };
    // First: a user id whose holder does not exist would be given to another session.
    giveOwner(holder);
    try {
      writeMeta(prepared, { key, createdAt: new Date().toISOString(), ready: true });
      renameSync(prepared.path, path);
    } catch (error) {
      giveOwner(relative(this.root, prepared.path));
      if (isTaken(error)) return undefined;
      throw whenFull(error);
    }
    if (isTemporary) {
      this.#temporary.set(key, name);
      this.#adopted.add(key);
    }
    return { ...prepared, key, path, ready: true, ephemeral: false };
  }

  /** An empty directory of the same user, for a sandbox that stays; `discardOutgrown` removes the one before. */
  renew(session: StoredSession, key: string): StoredSession {
    const holder = join("ephemeral", processLabel(randomBytes(8).toString("hex")));
    const path = join(this.root, holder);
    makeDirectory(path, session.owner);
    if (session.owner !== undefined) moveOwner(this.root, session.owner, processLabel("owner"), holder);
    return { ...session, key, path, ready: false };
  }

  async discardOutgrown({ path }: StoredSession): Promise<void> {
    await this.#discard({ path, owner: undefined });
  }

  exists(key: string): boolean {
    if (!this.#isThere()) return false;
    return readMeta(join(this.root, "sessions", this.#directoryName(key))) !== undefined;
  }

  /** A session's directory; undefined: there is no such session. */
  find(key: string): string | undefined {
    return this.exists(key) ? join(this.root, "sessions", this.#directoryName(key)) : undefined;
  }

  /** Where all of them are. */
  paths(): string[] {
    if (!this.#isThere()) return [];
    const directory = join(this.root, "sessions");
    return readDirectory(directory)
      .filter((name) => !name.startsWith("."))
      .map((name) => join(directory, name));
  }

  list(): SessionInfo[] {
    if (!this.#isThere()) return [];
    const directory = join(this.root, "sessions");
    return readDirectory(directory)
      .filter((name) => !name.startsWith("."))
      .flatMap((name) => readMeta(join(directory, name)) ?? [])
      .map(({ key, createdAt, usedAt }) => ({
        sessionId: sessionIdOf(key),
        createdAt: new Date(createdAt),
        lastUsedAt: usedAt,
      }))
      .sort((a, b) => b.lastUsedAt.getTime() - a.lastUsedAt.getTime());
  }

  /** Removes a session's files. False when there was none. */
  async delete(key: string): Promise<boolean> {
    if (!this.#isThere()) return false;
    const path = join(this.root, "sessions", this.#directoryName(key));
    const meta = readMeta(path);
    if (meta === undefined) return false;
    if (this.#adopted.delete(key)) this.#temporary.delete(key);
    await this.#discard({ path, owner: ownerOf(meta) });
    return true;
  }

  /** With `recycle`, a directory that nothing was ever written into serves the next one. */
  async discardEphemeral(session: StoredSession, recycle = false): Promise<void> {
    if (!session.ephemeral) return;
    if (recycle && this.#spares.length < MAX_SPARES && isPristine(session.path)) {
      this.#spares.push({ path: session.path, owner: session.owner });
      return;
    }
    if (removeEmpty(join(session.path, "workspace")) && removeEmpty(session.path)) {
      if (session.owner !== undefined) releaseOwner(this.root, session.owner);
      return;
    }
    await this.#discard(session);
  }

  /** Removes the directories that were kept for the next sandbox. */
  async discardSpares(): Promise<void> {
    await Promise.all(this.#spares.splice(0).map((spare) => this.#discard(spare)));
  }

  /** Removes what processes that were killed left behind; resolves to how many. */
  async reap(): Promise<number> {
    let count = 0;
    if (!this.#isThere()) return count;
    for (const [folder, prefix] of REAPED) {
      for (const name of readDirectory(join(this.root, folder))) {
        if (!name.startsWith(prefix) || !isOrphaned(name.slice(prefix.length))) continue;
        await removeTree(join(this.root, folder), name);
        count++;
      }
    }
    if (count > 0 || this.#hasSpareOwners()) {
      releaseUnheld(
        this.root,
        (maker, holder, uid) => !isOrphaned(maker) || isOwnedBy(join(this.root, holder), uid),
      );
    }
    return count;
  }

  /** A process that was killed may have taken a user id, and no more than that. */
  #hasSpareOwners(): boolean {
    const holders = ["sessions", "ephemeral"].flatMap((name) => readDirectory(join(this.root, name)));
    return countOwners(this.root) > holders.length;
  }

  #directoryName(key: string): string {
    return this.#temporary.get(key) ?? directoryName(key);
  }

  /** Never acts on a directory, or through a link, that another user may have put there. */
  #isThere(): boolean {
    const folders = ["sessions", "ephemeral", "owners"].map((name) => join(this.root, name));
    return checkStateDirectory(this.root) && folders.map(checkStateDirectory).some(Boolean);
  }

  #prepare(): void {
    ensureStateDirectory(this.root);
    for (const name of ["sessions", "ephemeral"]) ensurePassable(join(this.root, name));
  }

  #makeEphemeral(): MadeDirectory {
    this.#prepare();
    const name = processLabel(randomBytes(8).toString("hex"));
    return this.#make(join(this.root, "ephemeral", name), join("ephemeral", name));
  }

  #make(path: string, holder: string): MadeDirectory {
    const owner = this.#isRoot
      ? allocateOwner(this.root, this.uidRange, processLabel("owner"), holder)
      : undefined;
    try {
      makeDirectory(path, owner);
      return { path, owner };
    } catch (error) {
      if (owner !== undefined) releaseOwner(this.root, owner);
      throw error;
    }
  }

  #found(meta: SessionMeta, path: string): StoredSession {
    return { key: meta.key, path, owner: ownerOf(meta), ready: meta.ready, ephemeral: false };
  }

  /** Out of sight first, so that no process opens half a session; then removed. */
  async #discard(session: MadeDirectory): Promise<void> {
    const folder = join(session.path, "..");
    const gone = `${GONE}${processLabel(randomBytes(6).toString("hex"))}`;
    try {
      renameSync(session.path, join(folder, gone));
    } catch (error) {
      if (systemCode(error) === "ENOENT") return;
      throw error;
    }
    await removeTree(folder, gone);
    if (session.owner !== undefined) releaseOwner(this.root, session.owner);
  }
}

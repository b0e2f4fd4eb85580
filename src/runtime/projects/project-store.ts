import { createHash, randomBytes } from "node:crypto";
import {
  copyFileSync,
  createReadStream,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { writeFileAtomic } from "../../kit/atomic-write.js";
import { SandboxError } from "../../kit/errors.js";
import { FileLock } from "../../kit/file-lock.js";
import { unlessMissing } from "../../kit/if-missing.js";
import { isOrphaned, processLabel } from "../../kit/process-label.js";
import { tooLarge } from "../workspace/index.js";
import type { ProjectLimits } from "./list-project.js";
import type { FileState, Project } from "./project.js";

const RECORD = "projects.json";
const BLOBS = "blobs";
const STAGED = "staged-";

/** A project as it is written down. */
type StoredProject = Omit<Project, "base"> & { readonly base: readonly (readonly [string, FileState])[] };

/** A content that is kept. */
export interface Kept {
  readonly sha256: string;
  readonly size: number;
}

/**
 * The projects of a session, in the session's directory and beside its workspace, so that no program inside reaches them:
 *
 *   projects.json   what was copied in, from where, with the hash of each file
 *   blobs/<sha256>  those contents
 *   projects-<snapshot>.json  the same as it was at a snapshot
 *   staged-<label>/ what changed, while one process compares
 */
export class ProjectStore {
  constructor(
    private readonly directory: () => string,
    readonly stateDir: string,
    readonly limits: ProjectLimits,
  ) {}

  list(): readonly Project[] {
    const text = unlessMissing(undefined, () => readFileSync(join(this.directory(), RECORD), "utf8"));
    if (text === undefined) return [];
    try {
      const { projects } = JSON.parse(text) as { projects: StoredProject[] };
      return projects.map((each) => ({ ...each, base: new Map(each.base) }));
    } catch (cause) {
      throw new SandboxError("INTERNAL", "The record of the session's projects cannot be read", { cause });
    }
  }

  /** Adds one, or replaces the one of the same target. */
  save(project: Project): void {
    const others = this.list().filter(({ target }) => target !== project.target);
    const projects = [...others, project].map((each): StoredProject => ({ ...each, base: [...each.base] }));
    writeFileAtomic(join(this.#ready(), RECORD), JSON.stringify({ version: 1, projects }));
  }

  /** Remembers what the projects are at a snapshot: its files are to be compared with that. */
  keepFor(snapshotId: string): void {
    const directory = this.directory();
    unlessMissing(undefined, () =>
      copyFileSync(join(directory, RECORD), join(directory, recordOf(snapshotId))),
    );
  }

  /** Makes the projects what they were at a snapshot. Where none is remembered there are none: what is there now was not in it. */
  restoreFrom(snapshotId: string): void {
    const directory = this.directory();
    const text = unlessMissing(undefined, () => readFileSync(join(directory, recordOf(snapshotId)), "utf8"));
    if (text === undefined) rmSync(join(directory, RECORD), { force: true });
    else writeFileAtomic(join(directory, RECORD), text);
  }

  forget(snapshotId: string): void {
    rmSync(join(this.directory(), recordOf(snapshotId)), { force: true });
  }

  blobs(): ContentStore {
    return new ContentStore(join(this.#ready(), BLOBS));
  }

  /** A place for what changed; disposing removes it. */
  stage(): ContentStore & Disposable {
    const parent = this.#ready();
    for (const name of readdirSync(parent)) {
      if (name.startsWith(STAGED) && isOrphaned(name.slice(STAGED.length)))
        rmSync(join(parent, name), { recursive: true, force: true });
    }
    const path = join(parent, `${STAGED}${processLabel(randomBytes(6).toString("hex"))}`);
    return Object.assign(new ContentStore(path), {
      [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
    });
  }

  /** One process at a time copies in, applies or discards. */
  async alone<Value>(work: () => Promise<Value>): Promise<Value> {
    const lock = new FileLock(this.#ready(), processLabel(randomBytes(6).toString("hex")));
    if (!lock.tryAcquire()) {
      throw new SandboxError("SANDBOX_BUSY", "Another process is at work on this session's project", {
        hint: "Try again when it is done.",
      });
    }
    try {
      return await work();
    } finally {
      lock.release();
    }
  }

  #ready(): string {
    const path = this.directory();
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return path;
  }
}

function recordOf(snapshotId: string): string {
  return `projects-${snapshotId}.json`;
}

/** Contents by their hash. */
export class ContentStore {
  constructor(private readonly path: string) {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  }

  /** Takes all that comes; more than `maxBytes` is refused, whatever its size was said to be. */
  async keep(content: AsyncIterable<Buffer>, maxBytes: number, shownAs: string): Promise<Kept> {
    const unfinished = join(this.path, `.${randomBytes(9).toString("hex")}`);
    const file = await open(unfinished, "wx", 0o600);
    const hash = createHash("sha256");
    let size = 0;
    try {
      for await (const chunk of content) {
        size += chunk.length;
        if (size > maxBytes) throw tooLarge(shownAs, maxBytes);
        hash.update(chunk);
        await file.writeFile(chunk);
      }
      await file.close();
      const sha256 = hash.digest("hex");
      renameSync(unfinished, join(this.path, sha256));
      return { sha256, size };
    } catch (error) {
      await file.close().catch(() => undefined);
      rmSync(unfinished, { force: true });
      throw error;
    }
  }

  read({ sha256 }: Pick<Kept, "sha256">): Readable {
    return createReadStream(join(this.path, sha256));
  }

  readAll({ sha256 }: Pick<Kept, "sha256">): Buffer {
    return readFileSync(join(this.path, sha256));
  }
}

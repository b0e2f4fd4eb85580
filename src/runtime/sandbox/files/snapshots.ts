import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { SandboxError } from "../../../kit/errors.js";
import { Mutex } from "../../../kit/mutex.js";
import type { ProjectStore } from "../../projects/index.js";
import type { SnapshotStore } from "../../workspace/index.js";
import {
  exportArchive,
  importArchive,
  keepTree,
  type RestoreReport,
  restoreTree,
  type SnapshotInfo,
  type SnapshotProgress,
  snapshotIdOf,
  validateSessionKey,
  type WorkspaceFiles,
  type WorkspaceTree,
} from "../../workspace/index.js";
import type { Activity } from "../activity.js";
import type { TouchedFiles } from "./file-activity.js";

export interface RestoreOptions {
  readonly signal?: AbortSignal | undefined;
  /** Told now and then how far it is. */
  readonly onProgress?: SnapshotProgress | undefined;
}

export interface SnapshotOptions extends RestoreOptions {
  /** What people call it; it need not be the only one of that name. */
  readonly name?: string | undefined;
}

export interface ForkOptions {
  /** Left out: one that is taken now, and gone afterwards. */
  readonly snapshotId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Makes a new session whose workspace is what `fill` makes of an empty one. */
export type ForkSession<Forked> = (
  key: string,
  fill: (files: WorkspaceFiles) => Promise<void>,
  signal: AbortSignal | undefined,
) => Promise<Forked>;

export interface SandboxSnapshotsInit<Forked> {
  readonly store: SnapshotStore;
  readonly projects: Pick<ProjectStore, "keepFor" | "restoreFrom" | "forget">;
  readonly workspace: WorkspaceFiles;
  readonly touched: TouchedFiles;
  readonly activity: Activity;
  readonly sessionId: () => string;
  /** Throws when the sandbox has stopped. */
  readonly assertRunning: () => void;
  readonly fork: ForkSession<Forked>;
}

/** The snapshots of a running sandbox's session: taken, brought back, forked from. */
export class SandboxSnapshots<Forked> {
  /** A snapshot that is taken while another is brought back would be half of both. */
  readonly #mutex = new Mutex();
  /** Those that go with this sandbox. */
  readonly #temporary = new Set<string>();
  readonly #closing = new AbortController();

  constructor(private readonly init: SandboxSnapshotsInit<Forked>) {}

  async create(options: SnapshotOptions & { readonly isTemporary?: boolean } = {}): Promise<SnapshotInfo> {
    const { store, projects, workspace, touched, activity, sessionId } = this.init;
    return this.#inTurn(options.signal, async (signal) => {
      const ended = activity.begin("snapshot");
      try {
        const about = { sessionId: sessionId(), ...options, signal };
        const info = await store.add(about, (stage) =>
          keepTree(workspace.tree, stage, {
            limits: store.limits,
            excluded: touched.changes.programs,
            signal,
            onProgress: options.onProgress,
          }),
        );
        projects.keepFor(info.id);
        if (options.isTemporary === true) this.#temporary.add(info.id);
        return info;
      } finally {
        touched.readByHost();
        ended();
      }
    });
  }

  async restore(snapshot: string | SnapshotInfo, options: RestoreOptions = {}): Promise<RestoreReport> {
    const { store, projects, workspace, touched, activity } = this.init;
    const id = snapshotIdOf(snapshot);
    return this.#inTurn(options.signal, async (signal) => {
      const ended = activity.beginRestore();
      const changed = touched.beginHostWork();
      try {
        const opened = await store.open(id);
        try {
          const report = await restoreTree(workspace.tree, opened.entries(), {
            limits: store.limits,
            isProtected: (path) => workspace.isProtected(path),
            content: (content) => opened.content(content),
            signal,
            onProgress: options.onProgress,
          });
          projects.restoreFrom(id);
          return report;
        } finally {
          await opened.close();
        }
      } finally {
        changed();
        ended();
      }
    });
  }

  /** Other work of this host on all files at once. Where it writes, nothing may run. */
  async useTree<Value>(
    work: (tree: WorkspaceTree, programs: ReadonlySet<string>) => Promise<Value>,
    { writes }: { readonly writes: boolean },
  ): Promise<Value> {
    const { workspace, touched, activity } = this.init;
    return this.#inTurn(undefined, async () => {
      const ended = writes ? activity.beginRestore() : activity.begin("snapshot");
      const changed = writes ? touched.beginHostWork() : () => touched.readByHost();
      try {
        return await work(workspace.tree, touched.changes.programs);
      } finally {
        changed();
        ended();
      }
    });
  }

  list(): Promise<SnapshotInfo[]> {
    return this.init.store.list();
  }

  async remove(snapshot: string | SnapshotInfo): Promise<boolean> {
    const id = snapshotIdOf(snapshot);
    this.#temporary.delete(id);
    const isRemoved = await this.init.store.remove(id);
    if (isRemoved) this.init.projects.forget(id);
    return isRemoved;
  }

  exportArchive(snapshot: string | SnapshotInfo): Promise<Readable> {
    return exportFrom(this.init.store, snapshot);
  }

  importArchive(source: Readable | Uint8Array, options: SnapshotOptions = {}): Promise<SnapshotInfo> {
    return importInto(this.init.store, this.init.sessionId(), source, options);
  }

  /** A new session with the files of a snapshot, those that `denyWrite` protects included. */
  async fork(key = `fork-${randomBytes(6).toString("hex")}`, options: ForkOptions = {}): Promise<Forked> {
    const { store, fork, assertRunning } = this.init;
    validateSessionKey(key);
    assertRunning();
    const { snapshotId, signal } = options;
    const id =
      snapshotId === undefined
        ? (await this.create({ isTemporary: true, signal })).id
        : snapshotIdOf(snapshotId);
    try {
      const opened = await store.open(id);
      try {
        const fill = async ({ tree }: WorkspaceFiles) => {
          await restoreTree(tree, opened.entries(), {
            limits: store.limits,
            isProtected: () => false,
            content: (content) => opened.content(content),
            signal,
          });
        };
        return await fork(key, fill, signal);
      } finally {
        await opened.close();
      }
    } finally {
      if (snapshotId === undefined) await this.remove(id).catch(() => undefined);
    }
  }

  /** Gives up what is under way, and removes those that were to go with the sandbox. Never rejects. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#mutex.run(async () => undefined);
    await Promise.allSettled([...this.#temporary].map((id) => this.remove(id)));
  }

  async #inTurn<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.init.assertRunning();
    const either =
      signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
    return this.#mutex.run(async () => {
      this.init.assertRunning();
      return work(either);
    }, either);
  }
}

/** A snapshot of a store as a tar; rejects at once where there is none. */
export async function exportFrom(store: SnapshotStore, snapshot: string | SnapshotInfo): Promise<Readable> {
  const { id } = await store.find(snapshotIdOf(snapshot));
  return exportArchive(() => store.open(id));
}

/** A snapshot of what a tar has. */
export async function importInto(
  store: SnapshotStore,
  sessionId: string,
  source: Readable | Uint8Array,
  { name, signal, onProgress }: SnapshotOptions,
): Promise<SnapshotInfo> {
  const stream = source instanceof Uint8Array ? Readable.from([source]) : source;
  if (!(stream instanceof Readable)) {
    throw new SandboxError(
      "INVALID_ARGUMENT",
      `Expected a stream or the bytes of a tar, got ${typeof source}`,
      {
        hint: "Pass what the export of a snapshot gave, or a stream of a tar.",
      },
    );
  }
  return store.add({ sessionId, name, signal }, (stage) =>
    importArchive(stream, stage, { limits: store.limits, signal, onProgress }),
  );
}

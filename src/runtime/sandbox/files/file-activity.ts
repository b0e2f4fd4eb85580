import type { WorkspaceFiles } from "../../workspace/index.js";
import type { SessionSync } from "../sync/session-sync.js";
import { ChangeLog, type ChangesSeen, type FileChange } from "./change-log.js";

/** The files of the workspace that were read since the last call; undefined: it cannot be told. */
export interface ReadLog {
  take(): Promise<{ readonly files: readonly string[]; readonly truncated: boolean } | undefined>;
  /** Called once, before the sandbox ends. */
  close(): Promise<void>;
}

/** What an execution did to the files. */
export interface FilesTouched extends ChangesSeen {
  /** Undefined: it cannot be told. */
  readonly read?: readonly string[] | undefined;
  readonly readTruncated?: boolean | undefined;
}

/** The file activity of one execution; `over` is called once, whatever the outcome. */
export interface FilesWatch {
  /** True when another execution ran at the same time. */
  readonly overlapped: boolean;
  /** It has ended: the sooner the log of reads is asked, the sooner it answers. */
  ended(): void;
  /** What it did, after it has ended; listeners for changes have been called. */
  seen(): Promise<FilesTouched>;
  over(): void;
}

/** Follows what happens to a sandbox's files: what executions change and read, and what has to be copied to this host. */
export class TouchedFiles {
  readonly changes: ChangeLog;
  readonly #sync: SessionSync | undefined;
  readonly #reads: ReadLog | undefined;
  /** The host may have read files itself since the log was last asked. */
  #hostMayHaveRead = true;
  #listener: ((changes: readonly FileChange[]) => Promise<void>) | undefined;

  constructor(workspace: WorkspaceFiles, sync: SessionSync | undefined, reads: ReadLog | undefined) {
    this.changes = new ChangeLog(workspace);
    this.#sync = sync;
    this.#reads = reads;
    sync?.leaveOut(() => this.changes.programs);
  }

  tell(listener: (changes: readonly FileChange[]) => Promise<void>): void {
    this.#listener = listener;
  }

  readByHost(): void {
    this.#hostMayHaveRead = true;
  }

  changedByHost(): void {
    this.changes.invalidate();
    this.#sync?.touched();
  }

  /** The host is about to do much to the files; what it did is copied to this host as after an execution. */
  beginHostWork(): () => void {
    this.changes.invalidate();
    const saving = this.#sync?.begin();
    return () => {
      this.readByHost();
      this.changes.invalidate();
      saving?.(true);
    };
  }

  /** Something is about to run. With `reads`, its result says what it read. Counts from the call, resolves when it may run. */
  begin({ reads }: { readonly reads: boolean }): {
    readonly watch: FilesWatch;
    readonly ready: Promise<void>;
  } {
    const before = this.changes.begin();
    const saving = this.#sync?.begin();
    let hasChanged = true;
    let asking: ReturnType<ReadLog["take"]> | undefined;
    const ask = () => {
      if (reads) asking ??= this.#reads?.take();
      return asking;
    };
    const watch: FilesWatch = {
      get overlapped() {
        return before.overlapped;
      },
      ended: () => void ask(),
      seen: async () => {
        // The program's own file may be removed meanwhile.
        const programs = new Set([...before.programs, ...this.changes.programs]);
        const [read, changes] = await Promise.all([ask(), this.changes.end(before)]);
        hasChanged = changes.truncated || changes.changes.length > 0;
        if (changes.changes.length > 0) await this.#listener?.(changes.changes);
        const files = read?.files.filter((path) => !programs.has(path));
        return { ...changes, read: files, readTruncated: read?.truncated };
      },
      over: () => {
        saving?.(hasChanged);
        this.changes.abandon(before);
      },
    };
    const prepare = async () => {
      await before.snapshot;
      if (!reads) return;
      if (this.#hostMayHaveRead) await this.#reads?.take();
      this.#hostMayHaveRead = false;
    };
    return { watch, ready: prepare() };
  }
}

import { SandboxError } from "../../../kit/errors.js";
import type { AgentWorkspace } from "../../workspace/index.js";
import type { RunnerWorkspace } from "../guest-files/runner-workspace.js";
import { type SyncOptions, type SyncReport, WorkspaceSync } from "./sync-workspace.js";

export interface SessionSyncOptions extends Omit<SyncOptions, "excluded"> {
  /** False: the files go with the sandbox, and nothing is copied back. */
  readonly isKept: () => boolean;
}

/** When the files of a session that shares no directory with this host are copied: while it goes on, and at its end. */
export class SessionSync {
  readonly #workspace: AgentWorkspace;
  readonly #sync: WorkspaceSync;
  /** Counts what may have changed files inside. */
  #changes = 0;
  /** What the host's copy has of it. */
  #saved = 0;
  #underWay: Promise<void> | undefined;
  /** An execution has ended since the running copy began. */
  #isWantedAgain = false;
  #isLost = false;
  #isEnding = false;
  readonly #isKept: () => boolean;
  #excluded: () => Iterable<string> = () => [];

  /** The workspace is this host's copy; it is closed at the end. */
  constructor(workspace: AgentWorkspace, inside: RunnerWorkspace, options: SessionSyncOptions) {
    this.#workspace = workspace;
    this.#isKept = options.isKept;
    this.#sync = new WorkspaceSync(workspace, inside, { ...options, excluded: () => this.#excluded() });
  }

  get isKept(): boolean {
    return this.#isKept();
  }

  /** This host's copy, from which a new session is filled. */
  get hostFiles(): AgentWorkspace {
    return this.#workspace;
  }

  /** Files that programs run from are not synchronised. */
  leaveOut(excluded: () => Iterable<string>): void {
    this.#excluded = excluded;
  }

  /** Fills the sandbox. Throws when something did not get there: a session without some of its files is another one. */
  async start(isNew: boolean): Promise<void> {
    const { complete, skipped } = await this.#sync.toContainer({ keep: isNew });
    if (complete) return;
    const [first] = skipped.filter(({ code }) => code !== "FILE_TYPE" && code !== "INVALID_ARGUMENT");
    throw new SandboxError(
      first?.code === "DISK_FULL" ? "DISK_FULL" : "SANDBOX_START_FAILED",
      `The session's files could not all be copied into the sandbox${first === undefined ? "" : `: ${first.message}`}`,
      { hint: "It may need a larger limits.workspace or limits.workspaceInodes, or fewer files." },
    );
  }

  /** The host writes inside. */
  touched(): void {
    this.#changes++;
  }

  /** Something begins to run inside; to be called with whether it changed anything, or may have, when it has ended. */
  begin(): (hasChanged: boolean) => void {
    const wasSaved = this.#saved === this.#changes;
    const begun = ++this.#changes;
    return (hasChanged) => {
      const wasAlone = this.#changes === begun;
      this.#changes++;
      if (hasChanged) this.#inBackground();
      else if (wasSaved && wasAlone) this.#saved = this.#changes;
    };
  }

  /** Copies what has changed to this host, behind whatever else goes on. */
  #inBackground(): void {
    if (!this.#isKept()) return;
    this.#isWantedAgain = true;
    this.#underWay ??= this.#copyWhileWanted().finally(() => {
      this.#underWay = undefined;
    });
  }

  /** What fails here is tried again at the end. */
  async #copyWhileWanted(): Promise<void> {
    while (this.#isWantedAgain && !this.#isEnding) {
      this.#isWantedAgain = false;
      await this.toHost().catch(() => undefined);
    }
  }

  async toHost(options: { readonly last?: boolean } = {}): Promise<SyncReport> {
    const changes = this.#changes;
    const report = await this.#sync.toHost(options);
    if (report.complete) this.#saved = Math.max(this.#saved, changes);
    return report;
  }

  /** Copies as the end will; false: not all that changed is on this host. */
  async save(): Promise<boolean> {
    if (!this.#isKept()) return true;
    const { complete } = await this.toHost({ last: true });
    return complete;
  }

  toContainer(): Promise<SyncReport> {
    return this.#sync.toContainer();
  }

  /** The sandbox has ended by itself: there is nothing to copy from any more. */
  lost(): void {
    this.#isLost = true;
  }

  /** Copies what is left. Rejects when files that changed are not on this host. */
  async finish(): Promise<void> {
    this.#isEnding = true;
    try {
      if (!this.#isKept()) return;
      await this.#underWay;
      if (this.#isLost) throw new SandboxError("SANDBOX_LOST", "The sandbox had ended");
      const { complete, skipped } = await this.toHost({ last: true });
      if (!complete) throw new SandboxError("FILE_FAILED", skipped.at(-1)?.message ?? "There were too many");
    } catch (error) {
      if (this.#saved === this.#changes) return;
      const why = error instanceof Error ? error.message : String(error);
      throw new SandboxError(
        "FILE_FAILED",
        `Not all that changed in the sandbox could be copied to this host: ${why}`,
        {
          hint: "What was copied is whole. Sync after each step that must not be lost.",
          cause: error,
        },
      );
    } finally {
      this.#workspace.close();
    }
  }
}

/** Whether changes were lost with a sandbox, and whether that was reported. */
export class UnsavedFiles {
  /** Why they are not on this host; undefined: they are. */
  failure: SandboxError | undefined;
  /** A caller asked for the stop, and learns of it from that. */
  isTold = false;
}

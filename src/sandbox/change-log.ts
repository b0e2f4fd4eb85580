import type { AgentWorkspace } from "../workspace/agent-workspace.js";
import { diffSnapshots, type Snapshot, takeSnapshot } from "../workspace/change-tracker.js";

/** The state of the files when an execution began. */
export interface Beginning {
  readonly snapshot: Snapshot | undefined;
  open: boolean;
}

/**
 * Tells which files an execution changed. Nothing inside runs between two executions, so the state after one is
 * the state before the next, unless several overlap or the host wrote something.
 */
export class ChangeLog {
  readonly #workspace: AgentWorkspace | undefined;
  #latest: Snapshot | undefined;
  #open = 0;

  constructor(workspace: AgentWorkspace | undefined) {
    this.#workspace = workspace;
  }

  begin(): Beginning {
    if (this.#open > 0) this.#latest = undefined;
    const snapshot = this.#latest ?? (this.#workspace && takeSnapshot(this.#workspace));
    this.#open++;
    return { snapshot, open: true };
  }

  /** Paths relative to the workspace, without the program's own file. */
  end(
    beginning: Beginning,
    program?: string,
  ): { readonly written: readonly string[]; readonly deleted: readonly string[] } {
    this.abandon(beginning);
    if (this.#workspace === undefined || beginning.snapshot === undefined)
      return { written: [], deleted: [] };
    const after = takeSnapshot(this.#workspace, program === undefined ? {} : { excluded: [program] });
    this.#latest = this.#open === 0 ? after : undefined;
    const { created, modified, deleted } = diffSnapshots(beginning.snapshot, after);
    return {
      written: [...created, ...modified].sort(),
      deleted: deleted.filter((path) => path !== program),
    };
  }

  /** For an execution that failed: what it left behind is looked at anew. */
  abandon(beginning: Beginning): void {
    if (!beginning.open) return;
    beginning.open = false;
    this.#open--;
    this.#latest = undefined;
  }

  invalidate(): void {
    this.#latest = undefined;
  }
}

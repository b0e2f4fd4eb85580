import type { AgentWorkspace } from "../workspace/agent-workspace.js";
import { diffSnapshots, type Snapshot, takeSnapshot } from "../workspace/change-tracker.js";

/** A program can make its workspace so large that looking at it holds up everybody else. */
const SCAN_MS = 15;

/** The state of the files when an execution began. */
export interface Beginning {
  readonly snapshot: Snapshot | undefined;
  /** Files of programs that ran at the same time: ours, not theirs. */
  readonly programs: Set<string>;
  /** True when another execution ran at the same time. */
  overlapped: boolean;
  open: boolean;
}

/**
 * Tells which files an execution changed. Nothing inside runs between two executions, so the state after one is
 * the state before the next, unless several overlap or the host wrote something.
 */
export class ChangeLog {
  readonly #workspace: AgentWorkspace | undefined;
  #latest: Snapshot | undefined;
  readonly #open = new Set<Beginning>();

  constructor(workspace: AgentWorkspace | undefined) {
    this.#workspace = workspace;
  }

  begin(program?: string): Beginning {
    if (this.#open.size > 0) this.#latest = undefined;
    const snapshot = this.#latest ?? (this.#workspace && takeSnapshot(this.#workspace, { maxMs: SCAN_MS }));
    const programs = new Set([...this.#open].flatMap((each) => [...each.programs]));
    if (program !== undefined) {
      programs.add(program);
      for (const each of this.#open) each.programs.add(program);
    }
    const beginning: Beginning = { snapshot, programs, overlapped: this.#open.size > 0, open: true };
    for (const each of this.#open) each.overlapped = true;
    this.#open.add(beginning);
    return beginning;
  }

  /** Paths relative to the workspace, without programs' own files. Executions that overlap share what changed. */
  end(beginning: Beginning): { readonly written: readonly string[]; readonly deleted: readonly string[] } {
    this.abandon(beginning);
    if (this.#workspace === undefined || beginning.snapshot === undefined)
      return { written: [], deleted: [] };
    const after = takeSnapshot(this.#workspace, { excluded: [...beginning.programs], maxMs: SCAN_MS });
    this.#latest = this.#open.size === 0 ? after : undefined;
    const { created, modified, deleted } = diffSnapshots(beginning.snapshot, after);
    return {
      written: [...created, ...modified].sort(),
      deleted: deleted.filter((path) => !beginning.programs.has(path)),
    };
  }

  /** For an execution that failed: what it left behind is looked at anew. */
  abandon(beginning: Beginning): void {
    if (!beginning.open) return;
    beginning.open = false;
    this.#open.delete(beginning);
    this.#latest = undefined;
  }

  invalidate(): void {
    this.#latest = undefined;
  }
}

import { diffSnapshots, type Snapshot, type WorkspaceFiles } from "../../workspace/index.js";

/** One file or symbolic link that an execution changed. */
export interface FileChange {
  /** Relative to the workspace, as the program named it: show it only after making it visible. */
  readonly path: string;
  readonly change: "created" | "modified" | "deleted";
}

/** What happened to the files during an execution. */
export interface ChangesSeen {
  /** Sorted by path. */
  readonly changes: readonly FileChange[];
  /** True when there may be more. */
  readonly truncated: boolean;
}

/** The state of the files when an execution began. */
export interface ChangePeriod {
  /** Undefined: it could not be read. */
  readonly snapshot: Promise<Snapshot | undefined> | Snapshot | undefined;
  /** Files of programs that came or went at the same time: ours, not theirs. */
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
  /** The state since the last execution, as long as it holds. */
  #latest: Snapshot | undefined;
  /** Counts what makes a state invalid that is being looked at meanwhile. */
  #changes = 0;
  readonly #open = new Set<ChangePeriod>();
  /** Files of running programs in the workspace. */
  readonly #programs = new Set<string>();

  constructor(private readonly workspace: WorkspaceFiles) {}

  /** The execution starts when the snapshot of its beginning is there. One that does not look only overlaps others. */
  begin(looks = true): ChangePeriod {
    if (this.#open.size > 0) this.invalidate();
    const beginning: ChangePeriod = {
      snapshot: looks ? (this.#latest ?? this.#look([])) : undefined,
      programs: new Set(this.#programs),
      overlapped: this.#open.size > 0,
      open: true,
    };
    for (const each of this.#open) each.overlapped = true;
    this.#open.add(beginning);
    this.#changes++;
    return beginning;
  }

  /** The files of running programs in the workspace. */
  get programs(): ReadonlySet<string> {
    return this.#programs;
  }

  /** True for the file of a running program in the workspace. */
  isProgram(path: string): boolean {
    return this.#programs.has(path);
  }

  /** Paths relative to the workspace, without programs' own files. Executions that overlap share what changed. */
  async end(beginning: ChangePeriod): Promise<ChangesSeen> {
    const before = await beginning.snapshot;
    const count = this.#changes;
    const after = before && (await this.#look([...beginning.programs, ...this.#programs]));
    const isQuiet = this.#open.size === 1 && beginning.open && count === this.#changes;
    this.abandon(beginning);
    if (before === undefined || after === undefined) return { changes: [], truncated: true };
    if (isQuiet) this.#latest = after;
    const isProgram = (path: string) => beginning.programs.has(path) || this.#programs.has(path);
    const { created, modified, deleted, truncated } = diffSnapshots(before, after);
    const changes = [
      ...created.map((path) => ({ path, change: "created" as const })),
      ...modified.map((path) => ({ path, change: "modified" as const })),
      ...deleted.map((path) => ({ path, change: "deleted" as const })),
    ].filter(({ path }) => !isProgram(path));
    return { changes: changes.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0)), truncated };
  }

  /** For an execution that failed: the next one reads again what it left behind. */
  abandon(beginning: ChangePeriod): void {
    if (!beginning.open) return;
    beginning.open = false;
    this.#open.delete(beginning);
    this.#latest = undefined;
  }

  /** Something else than an execution changes the files. */
  invalidate(): void {
    this.#latest = undefined;
    this.#changes++;
  }

  /** Says that a program's file is about to be made. False: another program has that name now. */
  placing(program: string): boolean {
    if (this.#programs.has(program)) return false;
    this.#programs.add(program);
    return true;
  }

  /** Says that it was not made: something of the session has that name. */
  notPlaced(program: string): void {
    this.#programs.delete(program);
  }

  /** Says that it is gone. */
  removed(program: string): void {
    this.#programs.delete(program);
    for (const each of this.#open) each.programs.add(program);
  }

  /** An execution counts whether or not its changes can be told. */
  #look(excluded: readonly string[]): ChangePeriod["snapshot"] {
    try {
      const snapshot = this.workspace.snapshot(excluded);
      return snapshot instanceof Promise ? snapshot.catch(() => undefined) : snapshot;
    } catch {
      return undefined;
    }
  }
}

import { checkOptions } from "../../../kit/check-options.js";
import { SandboxError } from "../../../kit/errors.js";
import type {
  AppliedChanges,
  ProjectChanges,
  ProjectConflict,
  StagedChanges,
} from "../../../runtime/projects/index.js";
import { type SandboxCall, workValue } from "../call/file-call.js";
import type { HandleCaller, HandleHost } from "./handle-host.js";

/** What changed in a directory that was copied in, as data. */
export interface SessionChanges extends ProjectChanges {
  /** What keeps it from being applied: changed outside meanwhile. */
  readonly conflicts: readonly ProjectConflict[];
  /** A unified patch. Names and texts in it are a program's own: escape it for a terminal. */
  readonly patch: string;
}

/** Which of a session's projects: by its place in the workspace; left out where there is one. */
export interface ProjectChoice {
  readonly target?: string;
}

const ALL = { touchesAllFiles: true, tool: "file_read", paths: [{ path: ".", access: "read" }] } as const;

/** The directories of this host that were copied into a session (`mounts`), each use a tool call. */
export class HandleProjects {
  readonly #host: HandleHost;
  readonly #caller: HandleCaller;

  /** @internal */
  constructor(host: HandleHost, caller: HandleCaller) {
    this.#host = host;
    this.#caller = caller;
  }

  /** What is not as it was copied in or last applied. */
  async changes(options: ProjectChoice = {}): Promise<SessionChanges> {
    const { target } = checkOptions(options, { target: true });
    return this.#use({
      ...ALL,
      summary: "compare the project with what was copied in",
      work: async ({ projects }) => {
        using staged = await projects.changes(target);
        return toChanges(staged);
      },
    });
  }

  /**
   * Brings what changed back into the directory on this host. With the `id` of changes that were looked at, only exactly those:
   * CONFLICT where there are others by now, or where something was changed outside meanwhile. Then nothing is written.
   */
  async apply(options: ProjectChoice & { readonly id?: string } = {}): Promise<AppliedChanges> {
    const { target, id } = checkOptions(options, { target: true, id: true });
    return this.#use({
      ...ALL,
      summary: "bring the project's changes back to the host",
      work: async ({ projects }) => {
        using staged = await projects.changes(target);
        if (id !== undefined && id !== staged.id) throw changedSince();
        return await staged.apply();
      },
    });
  }

  /** Makes what changed inside what it was before. Resolves to how many files. */
  async discard(options: ProjectChoice = {}): Promise<number> {
    const { target } = checkOptions(options, { target: true });
    return this.#use({
      tool: "file_write",
      touchesAllFiles: true,
      paths: [{ path: ".", access: "write" }],
      summary: "discard the project's changes",
      work: ({ projects }) => projects.discard(target),
    });
  }

  async #use<Value>(call: Omit<SandboxCall<Value>, keyof HandleCaller>): Promise<Value> {
    return workValue(await this.#host.useSandbox({ ...this.#caller, ...call }));
  }
}

function toChanges(staged: StagedChanges): SessionChanges {
  const { id, source, target, changes, leftOut, conflicts } = staged;
  const patch = [...staged.show()].map(({ text }) => text).join("");
  return { id, source, target, changes, leftOut, conflicts, patch };
}

function changedSince(): SandboxError {
  return new SandboxError("CONFLICT", "The changes are not those that were looked at", {
    hint: "Look at them again.",
  });
}

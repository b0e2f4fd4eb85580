import { SandboxError } from "../../kit/errors.js";
import type { WorkspaceTree } from "../workspace/index.js";
import type { AppliedChanges, ProjectConflict } from "./apply-changes.js";
import type { CopiedIn } from "./copy-in.js";
import type { CopiedTree } from "./copy-tree.js";
import type { ComparedChanges, ProjectChanges } from "./find-changes.js";
import { type MountRequest, parseMounts, parseTarget, refuseOverlap } from "./mount-request.js";
import type { ShownChange } from "./patch.js";
import type { Project } from "./project.js";
import type { ContentStore, ProjectStore } from "./project-store.js";

/** Most sandboxes have no project: what it takes loads with the first. */
const load = () => import("./project-work.js");

/** The workspace of a running sandbox, for work of the host on all of it. */
export interface ProjectFiles {
  use<Value>(
    work: (tree: WorkspaceTree, programs: ReadonlySet<string>) => Promise<Value>,
    options: { readonly writes: boolean },
  ): Promise<Value>;
}

/** Changes with their contents, as they were when they were looked at; dispose of them. */
export interface StagedChanges extends ProjectChanges, Disposable {
  /** What was changed outside meanwhile, and keeps all of them from being applied. */
  readonly conflicts: readonly ProjectConflict[];
  /** As a unified patch, one change after the other. */
  show(): Generator<ShownChange>;
  /** Brings them into the directory. CONFLICT: something is not as it was copied in, or last applied. */
  apply(): Promise<AppliedChanges>;
}

/** The directories of this host that were copied into one session. */
export class SessionProjects {
  constructor(
    private readonly store: ProjectStore,
    private readonly files: ProjectFiles,
  ) {}

  list(): readonly Project[] {
    return this.store.list();
  }

  /** Copies directories in. One that is there already is brought up to date, unless something inside has changed. */
  async copyIn(mounts: readonly MountRequest[]): Promise<CopiedIn[]> {
    const parsed = parseMounts(mounts);
    return this.store.alone(async () => {
      const copied: CopiedIn[] = [];
      for (const { source, target } of parsed) copied.push(await this.#copyOne(source, target));
      return copied;
    });
  }

  async #copyOne(given: string, target: string): Promise<CopiedIn> {
    const { copyIn, SourceDirectory } = await load();
    using source = SourceDirectory.open(given, this.store);
    const there = this.store.list();
    const earlier = there.find((each) => each.target === target);
    if (earlier === undefined) refuseOverlap([...there.map((each) => each.target), target]);
    if (earlier !== undefined && earlier.source !== source.path) throw anotherThere(target);
    if (earlier !== undefined && !earlier.isCopying && (await this.#hasChanges(earlier))) {
      return { source: source.path, target, files: 0, bytes: 0, leftOut: [], isCopied: false };
    }
    return await this.files.use((tree) => copyIn(source, target, tree, this.store, earlier), {
      writes: true,
    });
  }

  /** Copies a directory of this host into the workspace, once: what changes in it is not followed. */
  async putDirectory(given: string, target: string): Promise<CopiedTree> {
    const { putTree, SourceDirectory } = await load();
    using source = SourceDirectory.open(given, this.store);
    const work = (tree: WorkspaceTree) => putTree(source, parseTarget(target), tree, this.store.limits);
    return await this.files.use(work, { writes: true });
  }

  /** Copies a directory of the workspace to a new one of this host. */
  async getDirectory(path: string, destination: string): Promise<CopiedTree> {
    const { getTree } = await load();
    const work = (tree: WorkspaceTree) => getTree(tree, parseTarget(path), destination, this.store);
    return await this.files.use(work, { writes: false });
  }

  async #hasChanges(project: Project): Promise<boolean> {
    using stage = this.store.stage();
    const { changes } = await this.#compare(project, stage);
    return changes.length > 0;
  }

  /** What changed inside since it was copied in or last applied; of a session with several, the one at `target`. */
  async changes(target?: string): Promise<StagedChanges> {
    const { findConflicts, showChanges, SourceDirectory } = await load();
    const project = this.#project(target);
    const stage = this.store.stage();
    try {
      const found = await this.#compare(project, stage);
      using source = unlessGone(() => SourceDirectory.reopen(project.source, this.store));
      const conflicts =
        source === undefined
          ? found.changes.map(({ path }) => ({ path, why: "has no directory outside any more" }))
          : await findConflicts(found, source);
      const contents = { before: this.store.blobs(), after: stage };
      return {
        ...found,
        conflicts,
        show: () => showChanges(found, contents),
        apply: () => this.store.alone(() => this.#apply(found, stage)),
        [Symbol.dispose]: () => stage[Symbol.dispose](),
      };
    } catch (error) {
      stage[Symbol.dispose]();
      throw error;
    }
  }

  /** Makes what changed inside what it was before. Resolves to how many files. */
  async discard(target?: string): Promise<number> {
    return this.store.alone(async () => {
      const { discardChanges } = await load();
      const project = this.#project(target);
      using stage = this.store.stage();
      const found = await this.#compare(project, stage);
      return await this.files.use((tree) => discardChanges(found, project, tree, this.store), {
        writes: true,
      });
    });
  }

  async #apply(found: ComparedChanges, stage: ContentStore): Promise<AppliedChanges> {
    const { applyChanges, SourceDirectory } = await load();
    using source = SourceDirectory.reopen(found.source, this.store);
    return await applyChanges(found, this.#project(found.target), source, this.store, stage);
  }

  async #compare(project: Project, stage: ContentStore): Promise<ComparedChanges> {
    const { findChanges } = await load();
    return this.files.use((tree, programs) => findChanges(project, tree, this.store, stage, programs), {
      writes: false,
    });
  }

  #project(target: string | undefined): Project {
    const projects = this.store.list();
    const found =
      target === undefined ? projects : projects.filter((each) => each.target === parseTarget(target));
    const [project] = found;
    if (project?.isCopying) throw unfinished();
    if (project !== undefined && found.length === 1) return project;
    if (found.length > 1) {
      throw new SandboxError("INVALID_ARGUMENT", "The session has several projects", {
        hint: `Name one by its place in the workspace: ${found.map((each) => each.target || ".").join(", ")}.`,
      });
    }
    throw new SandboxError("NOT_FOUND", "No directory was copied into this session", {
      hint: "Copy one in first: mount it when the session is opened or a program is run.",
    });
  }
}

/** Changes can be looked at without the directory that they would go to. */
function unlessGone<Value>(open: () => Value): Value | undefined {
  try {
    return open();
  } catch (error) {
    if (error instanceof SandboxError && error.code === "FILE_NOT_FOUND") return undefined;
    throw error;
  }
}

function unfinished(): SandboxError {
  return new SandboxError("CONFLICT", "The directory was not copied in to its end", {
    hint: "Mount it again: that finishes the copy.",
  });
}

function anotherThere(target: string): SandboxError {
  return new SandboxError("CONFLICT", "Another directory was copied to this place of the session", {
    hint: `Use another session, or another place than ${JSON.stringify(target || ".")} (DIR:PATH).`,
  });
}

import { byteNameOf, type WorkspaceTree } from "../workspace/index.js";
import { type ComparedChanges, LOOK_FACTOR } from "./find-changes.js";
import { type FileState, insidePath, type Project, parentsOf } from "./project.js";
import type { ProjectStore } from "./project-store.js";

/** Makes the changed files in the workspace what they were when they were copied in, or last applied. Resolves to how many. */
export async function discardChanges(
  { changes, obscured }: Pick<ComparedChanges, "changes" | "obscured">,
  project: Project,
  tree: WorkspaceTree,
  store: ProjectStore,
): Promise<number> {
  const inside = (path: string) => insidePath(project, path);
  const made = changes.filter(({ before }) => before === undefined);
  await tree.remove(made.map(({ path, after }) => ({ path: inside(path), type: after!.type })));
  await tree.remove(
    emptied(made, project.base).map((path) => ({ path: inside(path), type: "directory" as const })),
  );
  const changed = changes.flatMap(({ path, before }) => (before === undefined ? [] : [path]));
  const restored = [...new Set([...changed, ...obscured])];
  await clearWay(restored, project, tree, store);
  const blobs = store.blobs();
  for (const path of restored) {
    const before = project.base.get(path);
    if (before === undefined) continue;
    // Whatever is there now; a directory may stand where a file was.
    await tree.removeTrees([inside(path)]);
    if (before.type === "file") {
      const mode = before.executable ? 0o755 : 0o644;
      await tree.write({ path: inside(path), mode }, blobs.read(before));
    } else {
      await tree.makeDirectories(parentsOf(inside(path)).slice(-1));
      await tree.link([{ path: inside(path), target: byteNameOf(before.target) }]);
    }
  }
  return made.length + restored.length;
}

/** Removes what stands where a directory of the project was: a link that leads out is no change, and is in the way all the same. */
async function clearWay(
  restored: readonly string[],
  project: Project,
  tree: WorkspaceTree,
  store: ProjectStore,
): Promise<void> {
  const parents = new Set(restored.flatMap((path) => parentsOf(insidePath(project, path))));
  const { nodes } = await tree.look(LOOK_FACTOR * store.limits.maxFiles);
  const inTheWay = [...parents].filter((path) => nodes.get(path)?.type !== "directory");
  await tree.removeTrees(inTheWay.sort());
}

/** Directories that hold nothing of the project, the deepest first; one that is not empty stays. */
function emptied(made: readonly { readonly path: string }[], base: ReadonlyMap<string, FileState>): string[] {
  const kept = new Set([...base.keys()].flatMap(parentsOf));
  const directories = new Set(made.flatMap(({ path }) => parentsOf(path)));
  return [...directories]
    .filter((path) => !kept.has(path))
    .sort()
    .reverse();
}

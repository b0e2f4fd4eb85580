import { join } from "node:path";
import { SandboxError } from "../../kit/errors.js";
import type { LeftOut } from "./left-out.js";
import type { ProjectLimits } from "./list-project.js";

/** What a program that is a file has beside it. */
export interface Neighbours {
  readonly files: readonly { readonly path: string; readonly hostPath: string }[];
  readonly leftOut: readonly LeftOut[];
  /** Why it is alone although there is more; left out: it is not. */
  readonly alone?: string;
}

/** The files in a program's directory and below, for imports: all of them, or none where that is no project or too much. */
export async function listNeighbours(
  directory: string,
  options: { readonly stateDir: string; readonly limits: ProjectLimits; readonly except: string },
): Promise<Neighbours> {
  const [{ isWideDirectory, SourceDirectory }, { listProject }] = await Promise.all([
    import("./source-directory.js"),
    import("./list-project.js"),
  ]);
  const none = { files: [], leftOut: [] };
  try {
    if (isWideDirectory(directory)) return { ...none, alone: "its directory is no project" };
    using source = SourceDirectory.open(directory, options);
    const { entries, leftOut } = listProject(source, options.limits);
    const files = entries.filter(({ type, path }) => type === "file" && path !== options.except);
    return { files: files.map(({ path }) => ({ path, hostPath: join(source.path, path) })), leftOut };
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    return { ...none, alone: error.code === "FILE_TOO_LARGE" ? "its directory has too much" : error.message };
  }
}

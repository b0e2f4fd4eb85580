/** A file or link as it was at one moment. */
export type FileState =
  | { readonly type: "file"; readonly sha256: string; readonly size: number; readonly executable: boolean }
  | { readonly type: "symlink"; readonly target: string };

/** A directory of this host that was copied into a session, and what it had then. */
export interface Project {
  /** On this host, without links. */
  readonly source: string;
  /** In the workspace; "" is the workspace itself. */
  readonly target: string;
  readonly copiedAt: string;
  /** The rules of `.gitignore` files above it that held then. */
  readonly above?: readonly { readonly prefix: string; readonly text: string }[];
  /** The first copy has begun and is not done: the base is what it was to be. */
  readonly isCopying?: true;
  /** By path in the project. Changes are differences from these. */
  readonly base: ReadonlyMap<string, FileState>;
}

/** True where nothing that goes between the two sides differs. */
export function isSame(one: FileState | undefined, other: FileState | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  if (one.type === "symlink") return other.type === "symlink" && one.target === other.target;
  return other.type === "file" && one.sha256 === other.sha256 && one.executable === other.executable;
}

/** The directories on the way to a path, the uppermost first. */
export function parentsOf(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join("/"));
}

/** Where a file of the project is in the workspace. */
export function insidePath({ target }: Pick<Project, "target">, path: string): string {
  return target === "" ? path : `${target}/${path}`;
}

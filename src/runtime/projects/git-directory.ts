/**
 * What makes a directory a repository for git, whatever its name is: `HEAD` with `objects` and `refs`, or with a `commondir` that says
 * where those are. Git runs what the `config` of such a directory says when somebody works in it.
 */
const NAMES = ["HEAD", "objects", "refs", "commondir"] as const;
type GitName = (typeof NAMES)[number];

const BY_FOLDED = new Map<string, GitName>(NAMES.map((name) => [name.toLowerCase(), name]));

/** A name as git, or a file system that ignores case and invisible characters, may take it. */
export function foldName(name: string): string {
  return name
    .normalize("NFKC")
    .replaceAll(/[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu, "")
    .toLowerCase()
    .replace(/[. ]+$/, "");
}

/** True for a directory in which `has` finds what git looks for. */
export function isGitDirectory(has: (name: GitName) => boolean): boolean {
  return has("HEAD") && (has("commondir") || (has("objects") && has("refs")));
}

/**
 * The directories that are repositories once the paths are there, "" for the uppermost. `isThere` tells of a name that stands in a
 * directory already.
 */
export function findGitDirectories(
  paths: Iterable<string>,
  isThere: (directory: string, name: GitName) => boolean = () => false,
): ReadonlySet<string> {
  const coming = new Map<string, Set<GitName>>();
  for (const path of paths) {
    const parts = path.split("/");
    for (const [depth, part] of parts.entries()) {
      const directory = parts.slice(0, depth).join("/");
      const names = coming.get(directory) ?? new Set();
      coming.set(directory, names);
      const name = BY_FOLDED.get(foldName(part));
      if (name !== undefined) names.add(name);
    }
  }
  const found = [...coming].filter(([directory, names]) =>
    isGitDirectory((name) => names.has(name) || isThere(directory, name)),
  );
  return new Set(found.map(([directory]) => directory));
}

/** True for a path that is in one of the directories. */
export function isBelowAny(path: string, directories: ReadonlySet<string>): boolean {
  if (directories.size === 0) return false;
  const parts = path.split("/");
  return parts.some((_, depth) => directories.has(parts.slice(0, depth).join("/")));
}

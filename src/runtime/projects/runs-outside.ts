import type { FileState } from "./project.js";

/** Files that act on this machine by being there: what reads them, by the end of their path. */
const READERS: readonly (readonly [RegExp, string])[] = [
  [/(?:^|\/)\.envrc$/, "direnv runs it when a shell enters the directory"],
  [/(?:^|\/)\.(?:vscode|idea|devcontainer)\//, "an editor runs what it says"],
  [/(?:^|\/)\.(?:husky|githooks)\//, "git runs it as a hook"],
  [/(?:^|\/)\.git(?:attributes|modules)$/, "git does what it says"],
  [/(?:^|\/)\.pre-commit-config\.yaml$/, "pre-commit runs what it says"],
  [/(?:^|\/)package\.json$/, "npm runs its scripts, some of them at install"],
  [/(?:^|\/)\.(?:npmrc|yarnrc(?:\.yml)?|pnpmfile\.cjs)$/, "a package manager does what it says"],
  [/(?:^|\/)(?:GNUm|m|M)akefile$/, "make runs it"],
  [
    /(?:^|\/)(?:setup\.py|conftest\.py|pyproject\.toml|sitecustomize\.py|tox\.ini|noxfile\.py)$/,
    "Python's tools run it",
  ],
  [/\.pth$/, "Python runs it at its start"],
  [/(?:^|\/)(?:build\.rs|binding\.gyp|CMakeLists\.txt|build\.gradle(?:\.kts)?)$/, "a build runs it"],
  [/(?:^|\/)\.cargo\/config(?:\.toml)?$/, "cargo does what it says"],
  [/(?:^|\/)\.(?:github\/workflows|circleci)\/|(?:^|\/)\.gitlab-ci\.yml$/, "the CI runs it"],
  [/(?:^|\/)\.(?:bashrc|bash_profile|profile|zshrc|zshenv)$/, "a shell runs it"],
  [
    /(?:^|\/)(?:\.mcp\.json|\.claude\/|\.cursor\/|CLAUDE\.md$|AGENTS\.md$)/,
    "agents on this machine follow it",
  ],
];

/** What a person should know of a change before it is applied; undefined: it is like any other. */
export function noteOn(
  path: string,
  before: FileState | undefined,
  after: FileState | undefined,
): string | undefined {
  if (after === undefined) return undefined;
  const reader = READERS.find(([pattern]) => pattern.test(path))?.[1];
  if (reader !== undefined) return reader;
  const wasExecutable = before?.type === "file" && before.executable;
  if (after.type === "file" && after.executable && !wasExecutable) return "it becomes executable";
  return after.type === "symlink" ? "it is a symbolic link" : undefined;
}

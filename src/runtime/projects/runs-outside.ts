import type { FileState } from "./project.js";

/** Files that act on this machine by being there: what reads them, by the end of their path in lower case. */
const READERS: readonly (readonly [RegExp, string])[] = [
  [/(?:^|\/)\.envrc(?:\..*)?$/, "direnv runs it when a shell enters the directory"],
  [/(?:^|\/)\.(?:vscode|idea|devcontainer|zed)\//, "an editor runs what it says"],
  [/(?:^|\/)\.devcontainer\.json$/, "an editor runs what it says"],
  [/(?:^|\/)\.(?:husky|githooks)\/|(?:^|\/)\.?lefthook(?:-local)?\.ya?ml$/, "git runs it as a hook"],
  [/(?:^|\/)\.git(?:ignore|attributes|modules)$/, "git does what it says"],
  [/(?:^|\/)\.pre-commit-config\.yaml$/, "pre-commit runs what it says"],
  [/(?:^|\/)package\.json$/, "npm runs its scripts, some of them at install"],
  [/(?:^|\/)\.(?:npmrc|yarnrc(?:\.yml)?|pnpmfile\.cjs)$/, "a package manager does what it says"],
  [/(?:^|\/)(?:gnu)?makefile$/, "make runs it"],
  [/(?:^|\/)\.?justfile$/, "just runs it"],
  [/(?:^|\/)rakefile(?:\.rb)?$/, "rake runs it"],
  [/(?:^|\/)(?:dockerfile|containerfile)(?:\.[^/]*)?$/, "a build runs it"],
  [/(?:^|\/)(?:docker-)?compose[^/]*\.ya?ml$/, "docker compose runs what it says"],
  [
    /(?:^|\/)(?:vite|vitest|webpack|rollup|eslint|jest|babel|next|postcss|tailwind|playwright)\.config\.[cm]?[jt]s$/,
    "a tool of JavaScript runs it",
  ],
  [/(?:^|\/)\.(?:eslintrc|babelrc|prettierrc)\.[cm]?js$/, "a tool of JavaScript runs it"],
  [/(?:^|\/)\.?mise(?:\.[^/]*)?\.toml$/, "mise does what it says when a shell enters the directory"],
  [/(?:^|\/)(?:flake|shell|default)\.nix$/, "nix runs it"],
  [
    /(?:^|\/)(?:setup\.py|conftest\.py|pyproject\.toml|sitecustomize\.py|tox\.ini|noxfile\.py)$/,
    "Python's tools run it",
  ],
  [/\.pth$/, "Python runs it at its start"],
  [
    /(?:^|\/)(?:build\.rs|binding\.gyp|cmakelists\.txt|pom\.xml|(?:build|settings)\.gradle(?:\.kts)?)$/,
    "a build runs it",
  ],
  [/(?:^|\/)\.cargo\/config(?:\.toml)?$/, "cargo does what it says"],
  [/(?:^|\/)\.(?:github\/workflows|circleci)\/|(?:^|\/)(?:\.gitlab-ci\.yml|jenkinsfile)$/, "the CI runs it"],
  [/(?:^|\/)\.(?:bashrc|bash_profile|profile|zshrc|zshenv)$/, "a shell runs it"],
  [
    /(?:^|\/)(?:\.mcp\.json|\.(?:claude|cursor|codex|gemini)\/|(?:claude[^/]*|agents|gemini)\.md$)/,
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
  const plain = path.toLowerCase();
  const reader = READERS.find(([pattern]) => pattern.test(plain))?.[1];
  if (reader !== undefined) return reader;
  const wasExecutable = before?.type === "file" && before.executable;
  if (after.type === "file" && after.executable && !wasExecutable) return "it becomes executable";
  return after.type === "symlink" ? "it is a symbolic link" : undefined;
}

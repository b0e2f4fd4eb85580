import { existsSync, readdirSync, statSync } from "node:fs";
import { join, normalize } from "node:path";
import { SandboxError } from "../../../../kit/errors.js";
import { compileGlob, isGlob } from "../../../../kit/glob.js";
import type { FilesystemRules } from "../../backend.js";

/** A walk of a shared host directory stops here, and says so. */
const MAX_ENTRIES = 100_000;

/** Interfaces of the kernel and of other programs, and what the sandbox itself needs. */
const NEVER_SHARED = ["/proc", "/sys", "/dev", "/run", "/var/run", "/workspace", "/opt/skerry"];

/** What the configured rules mean for this host's files, as bubblewrap's arguments. */
export function filesystemArguments(rules: FilesystemRules, emptyDirectory: string): string[] {
  const readable = rules.allowRead.map((path) => sharedPath(path, "allowRead"));
  const writable = rules.allowWrite.map((path) => sharedPath(path, "allowWrite"));
  const shared = [...readable, ...writable];
  const arguments_ = [
    ...readable.flatMap((path) => ["--ro-bind", path, path]),
    ...writable.flatMap((path) => ["--bind", path, path]),
  ];
  for (const path of findMatches(rules.denyWrite, writable)) arguments_.push("--ro-bind", path, path);
  for (const path of [
    ...findMatches(rules.denyRead, shared),
    ...literalBelow(rules.denyRead, [...shared, "/usr"]),
  ]) {
    arguments_.push(...hide(path, emptyDirectory));
  }
  return arguments_;
}

/** Makes a path look empty. */
export function hide(path: string, emptyDirectory: string): string[] {
  return ["--ro-bind", statSync(path).isDirectory() ? emptyDirectory : "/dev/null", path];
}

function sharedPath(path: string, rule: string): string {
  const normal = normalize(path);
  if (!normal.startsWith("/") || isGlob(path) || normal === "/") {
    throw new SandboxError(
      "CONFIG_INVALID",
      `filesystem.${rule}: ${JSON.stringify(path)} is not an absolute path of one directory or file`,
      {
        hint: "Name each path you want to share; never the whole root.",
      },
    );
  }
  if (NEVER_SHARED.some((root) => isBelow(normal, root)) || normal === "/tmp") {
    throw new SandboxError("CONFIG_INVALID", `filesystem.${rule}: ${normal} cannot be shared with a sandbox`);
  }
  if (!existsSync(normal)) {
    throw new SandboxError("FILE_NOT_FOUND", `filesystem.${rule}: ${normal} does not exist on this host`);
  }
  return normal;
}

/** Plain paths among the rules that lie in something the sandbox sees. */
function literalBelow(patterns: readonly string[], roots: readonly string[]): string[] {
  return patterns
    .filter((pattern) => pattern.startsWith("/") && !isGlob(pattern))
    .map((pattern) => normalize(pattern))
    .filter((path) => roots.some((root) => isBelow(path, root)) && existsSync(path));
}

/** Everything below the roots that a relative pattern or a glob matches, outermost first. */
function findMatches(patterns: readonly string[], roots: readonly string[]): string[] {
  const matchers = patterns
    .filter((pattern) => isGlob(pattern) || !pattern.startsWith("/"))
    .map((pattern) => ({ absolute: pattern.startsWith("/"), matches: compileGlob(pattern) }));
  if (matchers.length === 0) return [];
  const found: string[] = [];
  let seen = 0;
  const visit = (root: string, relative: string) => {
    for (const entry of readDirectory(join(root, relative))) {
      if (++seen > MAX_ENTRIES) {
        throw new SandboxError(
          "CONFIG_INVALID",
          `A shared directory has more than ${MAX_ENTRIES} entries to check`,
          {
            hint: "Share a smaller directory, or use denyRead and denyWrite with plain paths only.",
          },
        );
      }
      const path = relative === "" ? entry.name : `${relative}/${entry.name}`;
      const absolute = join(root, path);
      if (matchers.some((each) => each.matches(each.absolute ? absolute.slice(1) : path)))
        found.push(absolute);
      else if (entry.isDirectory()) visit(root, path);
    }
  };
  for (const root of roots) if (statSync(root).isDirectory()) visit(root, "");
  return found;
}

function readDirectory(path: string) {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch {
    return [];
  }
}

function isBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(`${root}/`);
}

import { posix } from "node:path";
import { compileGlob, isGlob, type PathMatcher } from "../syntax/glob.js";
import type { Items, Setting } from "./policy.js";

const WORKSPACE = "/workspace";
const MAX_PATH_CHARACTERS = 4096;
const matchers = new Map<string, PathMatcher>();

/** A path as the sandbox means it: absolute, without dots, relative ones below the workspace. */
export function resolvePath(path: string): string {
  const cut = path.slice(0, MAX_PATH_CHARACTERS).replace(/^~(?=\/|$)/, WORKSPACE);
  return posix.resolve(WORKSPACE, cut);
}

export function isInWorkspace(resolved: string): boolean {
  return resolved === WORKSPACE || resolved.startsWith(`${WORKSPACE}/`);
}

/** The first rule of a list that a resolved path falls under. */
export function matchingPath(items: Items, resolved: string): Setting<string> | undefined {
  // Globs are compared below the root; one without a slash names a file at any depth.
  return items.find(({ value }) => matcherOf(value)(resolved.slice(1)));
}

/** The first rule that a shell's pattern of file names may reach, as far as the rule names one file. */
export function matchingPattern(items: Items, pattern: string): Setting<string> | undefined {
  let reaches: PathMatcher;
  try {
    reaches = compileGlob(resolvePath(pattern));
  } catch {
    return items[0];
  }
  return items.find(({ value }) => !isGlob(value) && reaches(resolvePath(value).slice(1)));
}

function matcherOf(glob: string): PathMatcher {
  let matcher = matchers.get(glob);
  if (matcher === undefined) {
    matcher = compileGlob(glob);
    // A policy has few; whoever makes thousands gets no cache.
    if (matchers.size < 1000) matchers.set(glob, matcher);
  }
  return matcher;
}

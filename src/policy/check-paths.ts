import type { ShellCommand } from "../syntax/index.js";
import { visible } from "../visible.js";
import type { Consideration, PolicyRequest } from "./decision.js";
import type { EffectiveSettings } from "./effective-settings.js";
import {
  compilePathGlob,
  coversPath,
  matchesPath,
  mayCoverPath,
  type PathGlob,
  resolveSandboxPath,
  WORKSPACE,
} from "./path-globs.js";
import { builtInRule } from "./rule.js";

const OUTSIDE = builtInRule("filesystem_access", "workspace_only");

/** What the rules about files say to the paths of a request. */
export function checkPaths(
  paths: NonNullable<PolicyRequest["paths"]>,
  settings: EffectiveSettings,
): Consideration[] {
  return paths.flatMap(({ path, access }) => checkPath(path, access, settings));
}

function checkPath(given: string, access: "read" | "write", settings: EffectiveSettings): Consideration[] {
  const shown = `"${visible(given.slice(0, 120))}"`;
  if (given.includes("\0")) {
    return [{ verdict: "deny", reason: "path", rule: OUTSIDE, why: `${shown} holds a NUL byte.` }];
  }
  const path = resolveSandboxPath(given);
  const found: Consideration[] = [];
  const filesystem = settings.single.filesystem;
  const mode = filesystem?.value ?? "workspace_only";
  const rule = filesystem?.rule ?? OUTSIDE;
  if (mode === "none")
    found.push({ verdict: "deny", reason: "path", rule, why: `No file may be used: ${shown}.` });
  if (mode === "read_only" && access === "write") {
    found.push({ verdict: "deny", reason: "path", rule, why: `Files may only be read: ${shown}.` });
  }
  if (path !== WORKSPACE && !path.startsWith(`${WORKSPACE}/`)) {
    found.push({ verdict: "deny", reason: "path", rule, why: `${shown} is outside of the workspace.` });
  }
  found.push(...denials(path, shown, settings));
  for (const list of settings.allowedPaths) {
    const allowed = list.items.find(({ value }) => matchesPath(value, path));
    found.push(
      allowed === undefined
        ? {
            verdict: "deny",
            reason: "path",
            rule: list.rule,
            why: `${shown} is not among the allowed paths.`,
          }
        : { verdict: "allow", reason: "path", rule: allowed.rule, why: `${shown} is allowed.` },
    );
  }
  return found;
}

function denials(path: string, shown: string, settings: EffectiveSettings): Consideration[] {
  return settings.deniedPaths
    .filter(({ value }) => coversPath(value, path))
    .map(({ rule }) => ({ verdict: "deny", reason: "path", rule, why: `${shown} is denied.` }));
}

/** Commands whose arguments are only printed. */
const PRINTERS = new Set(["echo", "printf", "export", "declare", "alias", "trap"]);
const MAX_DIRECTORIES = 16;

/** What the rules about files say to the constant arguments and redirections of commands. */
export function checkCommandPaths(
  commands: readonly ShellCommand[],
  settings: EffectiveSettings,
): Consideration[] {
  if (settings.deniedPaths.length === 0) return [];
  const found: Consideration[] = [];
  // After `cd` a relative path may start from any directory the text has been in.
  const directories = new Set([WORKSPACE]);
  let anywhere = false;
  for (const command of commands) {
    for (const { text, pattern } of filesOf(command)) {
      const shown = `"${visible(text.slice(0, 80))}" at ${command.line}:${command.column}`;
      for (const { value, rule } of settings.deniedPaths) {
        if (!mayName(value, text, pattern, directories, anywhere)) continue;
        found.push({ verdict: "deny", reason: "path", rule, why: `${shown} is denied, or may be.` });
      }
    }
    if (command.name !== "cd" && command.name !== "pushd") continue;
    const target = command.args.find((arg) => arg === undefined || !arg.startsWith("-"));
    if (command.args.length > 0 && (target === undefined || directories.size >= MAX_DIRECTORIES))
      anywhere = true;
    else for (const from of [...directories]) directories.add(resolveSandboxPath(target ?? WORKSPACE, from));
  }
  return found;
}

interface NamedFile {
  readonly text: string;
  /** The shell puts names of files there. */
  readonly pattern: boolean;
}

function filesOf(command: ShellCommand): NamedFile[] {
  const redirects = command.redirects
    .filter(
      ({ operator, target }) => target !== undefined && !operator.includes("<<") && !/&$/.test(operator),
    )
    .map(({ target }) => ({ text: target!, pattern: false }));
  if (PRINTERS.has(command.name ?? "")) return redirects;
  const args = command.args.flatMap((arg, index) => {
    if (arg === undefined || arg === "" || arg.length > 4096) return [];
    const pattern = command.patterns.includes(index);
    // --file=x, if=x, @x
    const inner = /^(?:-{0,2}[\w-]+=|@)(.+)$/s.exec(arg)?.[1];
    const whole = arg.startsWith("-") ? [] : [{ text: arg, pattern }];
    return inner === undefined ? whole : [...whole, { text: inner, pattern }];
  });
  return [...redirects, ...args];
}

function mayName(
  glob: PathGlob,
  text: string,
  pattern: boolean,
  directories: ReadonlySet<string>,
  anywhere: boolean,
): boolean {
  if (text.includes("\0")) return true;
  const isRelative = !/^(?:\/|~(?:\/|$))/.test(text);
  if (anywhere && isRelative) {
    const last = resolveSandboxPath(text, "/").slice(1);
    if (last !== "" && meets(glob, `/**/${pattern ? last : escape(last)}`)) return true;
  }
  for (const from of isRelative ? directories : [WORKSPACE]) {
    const path = resolveSandboxPath(text, from);
    if (pattern ? meets(glob, path) : coversPath(glob, path)) return true;
  }
  return false;
}

function escape(text: string): string {
  return text.replaceAll(/[*?[\]{}\\]/g, "\\$&");
}

/** Whether a shell's pattern may name something that the rule names. One that we cannot read may name anything. */
function meets(glob: PathGlob, pattern: string): boolean {
  try {
    return mayCoverPath(glob, compilePathGlob(pattern));
  } catch {
    return true;
  }
}

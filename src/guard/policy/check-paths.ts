import { escapeUnsafe } from "../../kit/escape-unsafe.js";
import type { ShellCommand } from "../analysis/index.js";
import type { Consideration, PolicyRequest } from "./decision.js";
import { allowLists, denyItems, type Layers } from "./effective-settings.js";
import {
  compilePathGlob,
  coversPath,
  matchesPath,
  mayCoverPath,
  type PathGlob,
  pathGlob,
  resolveSandboxPath,
  WORKSPACE,
} from "./path-globs.js";
import type { Items, RuleReference, Setting } from "./policy.js";
import { BUILT_IN_TOOLS } from "./tools.js";

const BUILT_IN: RuleReference = { path: "built in", source: "skerry", line: 1, column: 1 };
const MAX_PATH_CHARACTERS = 4096;

/** What the rules say about the files that a call names. */
export function checkPaths({ paths = [], tool }: PolicyRequest, layers: Layers): Consideration[] {
  const denied = denyItems(layers, "denied_paths");
  const lists = allowLists(layers, "allowed_paths");
  const access =
    layers.tool.filesystem_access ?? layers.role.filesystem_access ?? layers.base.filesystem_access;
  return paths.flatMap(({ path, access: use }) => {
    const shown = escapeUnsafe(path.slice(0, 120));
    if (path.includes("\0") || path.length > MAX_PATH_CHARACTERS) {
      return [say("deny", BUILT_IN, `${shown} is no path: it is too long or holds a NUL byte`)];
    }
    const resolved = resolveSandboxPath(path);
    const found: Consideration[] = [];
    if (!isInWorkspace(resolved))
      found.push(say("deny", access?.rule ?? BUILT_IN, `${shown} is outside the workspace`));
    const refusing = denied.find(({ value }) => coversPath(pathGlob(value), resolved));
    if (refusing !== undefined) found.push(say("deny", refusing.rule, `${shown} is denied`));
    for (const list of lists) {
      const item = list.value.find(({ value }) => matchesPath(pathGlob(value), resolved));
      if (item !== undefined) found.push(say("allow", item.rule, `${shown} is allowed`));
      // The lists of a tool that runs code are about what it opens by itself; its input files go into the workspace.
      else if (use === "read" || BUILT_IN_TOOLS.get(tool)?.runsCode !== true)
        found.push(say("deny", list.rule, `${shown} is not among the allowed paths`));
    }
    return found;
  });
}

function isInWorkspace(resolved: string): boolean {
  return resolved === WORKSPACE || resolved.startsWith(`${WORKSPACE}/`);
}

/** Commands whose arguments are only printed or kept. */
const PRINTERS = new Set(["echo", "printf", "export", "declare", "alias", "trap"]);
const MAX_DIRECTORIES = 16;

/** What the rules say about the files that commands name. What they open by themselves is the sandbox's business. */
export function checkCommandPaths(commands: readonly ShellCommand[], denied: Items): Consideration[] {
  if (denied.length === 0) return [];
  const found: Consideration[] = [];
  // After `cd` a relative path may start from any directory that the text has been in.
  const places: Places = { directories: new Set([WORKSPACE]), anywhere: false };
  for (const command of commands) {
    for (const file of filesOf(command)) {
      const rule = denied.find(({ value }) => mayName(pathGlob(value), file, places));
      if (rule !== undefined) found.push(refuse(rule, file.text, command.line));
    }
    follow(command, places);
  }
  return found;
}

function refuse({ rule }: Setting<string>, text: string, line: number): Consideration {
  return say("deny", rule, `${escapeUnsafe(text.slice(0, 80))} is a denied path, or may be (line ${line})`);
}

interface Places {
  readonly directories: Set<string>;
  /** A directory is known only when it runs. */
  anywhere: boolean;
}

function follow({ name, args }: ShellCommand, places: Places): void {
  if (name !== "cd" && name !== "pushd") return;
  const target = args.find((arg) => arg === undefined || !arg.startsWith("-") || arg === "-");
  const known = args.length === 0 ? WORKSPACE : target;
  if (known === undefined || known === "-" || places.directories.size >= MAX_DIRECTORIES) {
    places.anywhere ||= known !== "-";
    return;
  }
  for (const from of [...places.directories]) places.directories.add(resolveSandboxPath(known, from));
}

interface NamedFile {
  readonly text: string;
  /** The shell puts names of files there. */
  readonly isPattern: boolean;
}

function filesOf(command: ShellCommand): NamedFile[] {
  const targets = command.redirects.flatMap(({ operator, target }) =>
    target === undefined || operator.includes("<<") || operator.endsWith("&")
      ? []
      : [{ text: target, isPattern: false }],
  );
  if (PRINTERS.has(command.name ?? "")) return targets;
  const args = command.args.flatMap((arg, index) => {
    if (arg === undefined || arg === "" || arg.length > MAX_PATH_CHARACTERS) return [];
    const isPattern = command.patterns.includes(index);
    // --file=x, if=x, @x
    const inner = /^(?:-{0,2}[\w-]+=|@)(.+)$/s.exec(arg)?.[1];
    return [...(arg.startsWith("-") ? [] : [arg]), ...(inner === undefined ? [] : [inner])].map((text) => ({
      text,
      isPattern,
    }));
  });
  return [...targets, ...args];
}

function mayName(glob: PathGlob, { text, isPattern }: NamedFile, { directories, anywhere }: Places): boolean {
  const isRelative = !/^(?:\/|~(?:\/|$))/.test(text);
  if (anywhere && isRelative) {
    const tail = resolveSandboxPath(text, "/").slice(1);
    if (tail !== "" && meets(glob, `/**/${isPattern ? tail : literally(tail)}`)) return true;
  }
  for (const from of isRelative ? directories : [WORKSPACE]) {
    const path = resolveSandboxPath(text, from);
    if (isPattern ? meets(glob, path) : coversPath(glob, path)) return true;
  }
  return false;
}

function literally(text: string): string {
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

function say(verdict: Consideration["verdict"], rule: RuleReference, why: string): Consideration {
  return { verdict, rule, why, reason: "path" };
}

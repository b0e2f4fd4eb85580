import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { RunnerWorkspace } from "../../src/runtime/sandbox/guest-files/runner-workspace.js";
import { type SyncOptions, WorkspaceSync } from "../../src/runtime/sandbox/sync/sync-workspace.js";
import { AgentWorkspace } from "../../src/runtime/workspace/index.js";
import { temporaryDirectory } from "./clean-up.js";
import { type StartedGuest, startGuest } from "./start-guest.js";

const LIMITS = { maxBytes: 64 * 1024 * 1024, maxEntries: 10_000 };

export let base: string;
export let guest: StartedGuest;
/** The sandbox's files, as this test reaches them past the guest. */
export let inside: string;
export let host: string;
let workspace: AgentWorkspace;

/** Every test of the file has a sandbox's files and a host's, which are gone at its end. */
export function useSyncedFiles(): void {
  beforeEach(async () => {
    base = temporaryDirectory();
    inside = join(base, "workspace");
    host = join(base, "host");
    mkdirSync(inside);
    mkdirSync(host);
    workspace = AgentWorkspace.open(host);
  });

  afterEach(async () => {
    workspace.close();
    await guest?.stop();
  });
}

/** Starts the guest, whose programs may be others. */
export async function open(options: Partial<SyncOptions> = {}, programs: Record<string, string> = {}) {
  guest = await startGuest(base, programs);
  return createSync(options);
}

/** A copier that knows of nothing yet. */
export function createSync(options: Partial<SyncOptions> = {}): WorkspaceSync {
  return new WorkspaceSync(workspace, new RunnerWorkspace(guest), { limits: LIMITS, ...options });
}

/** Everything of a tree, in a form that can be compared. */
export function contents(root: string): Record<string, string> {
  const all: Record<string, string> = {};
  const walk = (directory: string, prefix: string) => {
    for (const name of readdirSync(directory).sort()) {
      const path = join(directory, name);
      const stat = lstatSync(path);
      const mode = (stat.mode & 0o777).toString(8);
      if (stat.isSymbolicLink()) all[prefix + name] = `-> ${readlinkSync(path)}`;
      else if (stat.isDirectory()) {
        all[prefix + name] = `${mode} directory`;
        walk(path, `${prefix}${name}/`);
      } else if (stat.isFile()) {
        all[prefix + name] = `${mode} ${readFileSync(path).toString("base64").slice(0, 200)}`;
      }
    }
  };
  walk(root, "");
  return all;
}

import type { RunningSandbox } from "../running-sandbox.js";
import type { SyncReport } from "./sync-workspace.js";

/** Copies what has changed in a session's directory on this host into its sandbox; the same as `syncFromHost`. */
export function syncWorkspaceToContainer(sandbox: RunningSandbox): Promise<SyncReport | undefined> {
  return sandbox.syncFromHost();
}

/** Copies what has changed in a sandbox to its session's directory on this host; the same as `syncToHost`. */
export function syncContainerToWorkspace(sandbox: RunningSandbox): Promise<SyncReport | undefined> {
  return sandbox.syncToHost();
}

export { compileGlob, isGlob, type PathMatcher } from "../../kit/glob.js";
export {
  type AccessWatch,
  AccessWatcher,
  type AccessWatcherOptions,
  type FilesRead,
} from "./access-watcher.js";
export { AgentWorkspace, type WorkspaceOptions } from "./agent-workspace.js";
export { type BootstrapOptions, bootstrapWorkspace } from "./bootstrap.js";
export type { BootstrapTarget, Copy } from "./bootstrap-target.js";
export {
  diffSnapshots,
  type FileChanges,
  type Snapshot,
  type SnapshotOptions,
  takeSnapshot,
} from "./change-tracker.js";
export type { Owner } from "./descriptor-walk.js";
export type { Entry } from "./entry.js";
export { PathTraversalError } from "./path-traversal-error.js";
export { type RemoveTreeOptions, removeTree } from "./remove-tree.js";
export { sessionDirectoryName, validateSessionKey } from "./session-name.js";
export type { SnapshotProgress } from "./snapshots/keep-tree.js";
export type { RestoreReport } from "./snapshots/restore-tree.js";
export type { SnapshotInfo } from "./snapshots/snapshot.js";
export {
  type Collected,
  type CollectOptions,
  collectOutputFiles,
  type InputFile,
  type OutputFile,
  type OutputStream,
  putInputFiles,
} from "./transfer.js";
export { visibleName } from "./visible-name.js";
export type {
  ByteSource,
  FileRules,
  ListOptions,
  WorkspaceFiles,
  WriteOptions,
  WriteStreamOptions,
} from "./workspace-files.js";

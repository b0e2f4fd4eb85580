export { compileGlob } from "../../kit/glob.js";
export { AccessWatcher } from "./access-watcher.js";
export { AgentWorkspace, type WorkspaceOptions } from "./agent-workspace.js";
export { bootstrapWorkspace } from "./bootstrap.js";
export type { BootstrapTarget, Copy } from "./bootstrap-target.js";
export { readBounded } from "./bounded-read.js";
export { type ByteName, byteNameOf, entryPath, textOf } from "./byte-name.js";
export { diffSnapshots, type Snapshot } from "./change-tracker.js";
export { readInnerLink, staysInside } from "./copy-entry.js";
export { DENIED_SCAN, DeniedPaths } from "./denied-paths.js";
export {
  beneath,
  type Owner,
  openDirectory,
  openHostDirectory,
  openRegularFile,
  withParent,
} from "./descriptor-walk.js";
export { type DiskSpace, diskSpace, isDiskLow } from "./disk-space.js";
export type { Entry } from "./entry.js";
export { bytesOf, foundNothing, requireCount, requireElsewhere, requireMode } from "./file-arguments.js";
export {
  directoryTypeError,
  fileError,
  linkError,
  PathTraversalError,
  quoted,
  tooLarge,
  typeError,
} from "./file-errors.js";
export { HostTree, IncomingFile, isReserved, reserved, special, unaddressable } from "./host-tree.js";
export { allocateOwner, countOwners, moveOwner, releaseOwner, releaseUnheld } from "./owner-ids.js";
export { parseInnerPath, parseRelativePath, type RelativePath } from "./relative-path.js";
export { removeTree } from "./remove-tree.js";
export { sessionDirectoryName, validateSessionKey } from "./session-name.js";
export { exportArchive } from "./snapshots/export-archive.js";
export { importArchive } from "./snapshots/import-archive.js";
export { keepTree, type SnapshotProgress } from "./snapshots/keep-tree.js";
export { type RestoreReport, restoreTree } from "./snapshots/restore-tree.js";
export { type SnapshotInfo, snapshotIdOf } from "./snapshots/snapshot.js";
export { SnapshotStore } from "./snapshots/snapshot-store.js";
export { TimeSlice } from "./time-slice.js";
export {
  type Collected,
  type CollectOptions,
  collectOutputFiles,
  type InputFile,
  type OutputFile,
  type OutputStream,
  putInputFiles,
} from "./transfer.js";
export { openEntries } from "./tree-scan.js";
export type {
  ByteSource,
  FileRules,
  ListOptions,
  WorkspaceFiles,
  WriteOptions,
  WriteStreamOptions,
} from "./workspace-files.js";
export {
  TREE_MAX_DEPTH,
  type Tree,
  type TreeNode,
  type TreeProblem,
  type WorkspaceTree,
} from "./workspace-tree.js";

export { applyChanges, findConflicts } from "./apply-changes.js";
export { copyIn } from "./copy-in.js";
export { getTree, putTree } from "./copy-tree.js";
export { discardChanges } from "./discard-changes.js";
export { findChanges } from "./find-changes.js";
export { showChanges } from "./patch.js";
export { SourceDirectory } from "./source-directory.js";

import { SandboxError, type SandboxErrorInit } from "../../kit/errors.js";

/** A path that leaves the workspace, or that would have to follow a link to be opened. */
export class PathTraversalError extends SandboxError {
  declare readonly code: "PATH_TRAVERSAL";

  constructor(message: string, init: SandboxErrorInit = {}) {
    super("PATH_TRAVERSAL", message, init);
    this.name = "PathTraversalError";
  }
}

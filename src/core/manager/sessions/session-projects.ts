import { join } from "node:path";
import { type ProjectLimits, ProjectStore } from "../../../runtime/projects/index.js";

/** What is remembered of a session's projects, beside its workspace: no backend shows it to programs. */
export function openProjectStore(
  sessionPath: () => string,
  stateDir: string,
  limits: ProjectLimits,
): ProjectStore {
  return new ProjectStore(() => join(sessionPath(), "projects"), stateDir, limits);
}

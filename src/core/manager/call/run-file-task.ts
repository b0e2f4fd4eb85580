import type { PolicyDecision } from "../../../guard/policy/index.js";
import { coversPath, matchesPath, pathGlob, resolveSandboxPath } from "../../../guard/policy/index.js";
import { SandboxError } from "../../../kit/errors.js";
import { Mutex } from "../../../kit/mutex.js";
import type { ExecutionResult, FileChange, RunningSandbox } from "../../../runtime/sandbox/index.js";
import type { FileTask } from "./call-kind.js";

/** Calls that change files of one sandbox take turns: what a call has read must not be stale when it writes. */
const writers = new WeakMap<RunningSandbox, Mutex>();
/** More changes than these are not told one by one. */
const MAX_CHANGES = 10_000;

/** Runs the task, and reports the files it touched as for any execution. */
export async function runFileTask(
  sandbox: RunningSandbox,
  { paths, run, touchesAllFiles }: FileTask,
  decision: PolicyDecision | undefined,
  signal: AbortSignal | undefined,
): Promise<ExecutionResult> {
  if (touchesAllFiles === true) refuseAllFiles(decision);
  const startedAt = performance.now();
  const changes: FileChange[] = [];
  const work = () =>
    run(
      {
        files: sandbox.files,
        maySee: createVisibilityCheck(decision),
        changed: (path, change) => changes.push({ path, change }),
      },
      sandbox,
    );
  const writes = paths.some(({ access }) => access === "write");
  await (writes ? writersOf(sandbox).run(work, signal) : work());
  const fileChanges = changes.slice(0, MAX_CHANGES).sort((a, b) => (a.path < b.path ? -1 : 1));
  const changedPaths = (isGone: boolean) =>
    fileChanges.filter(({ change }) => (change === "deleted") === isGone).map(({ path }) => path);
  return {
    success: true,
    reason: "exited",
    exitCode: 0,
    signal: null,
    stdout: "",
    stderr: "",
    truncated: false,
    executionTimeMs: Math.round((performance.now() - startedAt) * 100) / 100,
    cpuTimeMs: 0,
    memoryUsedMb: 0,
    sandboxType: sandbox.type,
    sandboxId: sandbox.id,
    sessionId: sandbox.sessionId,
    filesRead: paths.filter(({ access }) => access === "read").map(({ path }) => path),
    filesWritten: changedPaths(false),
    filesDeleted: changedPaths(true),
    fileChanges,
    ...(changes.length > MAX_CHANGES && { filesWrittenTruncated: true }),
    warm: false,
  };
}

function writersOf(sandbox: RunningSandbox): Mutex {
  const found = writers.get(sandbox) ?? new Mutex();
  writers.set(sandbox, found);
  return found;
}

/** The paths in an archive or a snapshot are not checked one by one. */
function refuseAllFiles(decision: PolicyDecision | undefined): void {
  if (decision === undefined) return;
  if (decision.deniedPaths.length === 0 && decision.allowedPaths === undefined) return;
  throw new SandboxError("POLICY_DENIED", "The policy hides some files, and this takes all of them", {
    hint: "Work with single files, or in a role that may reach all of them.",
  });
}

/** Which paths the policy lets a call see. */
function createVisibilityCheck(decision: PolicyDecision | undefined): (path: string) => boolean {
  if (decision === undefined) return () => true;
  const denied = decision.deniedPaths.map(pathGlob);
  const lists = (decision.allowedPaths ?? []).map((list) => list.map(pathGlob));
  return (path) => {
    const resolved = resolveSandboxPath(path);
    return (
      !denied.some((glob) => coversPath(glob, resolved)) &&
      lists.every((list) => list.some((glob) => matchesPath(glob, resolved)))
    );
  };
}

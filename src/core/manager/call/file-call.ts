import type { PolicyDecision } from "../../../guard/policy/index.js";
import { coversPath, matchesPath, pathGlob, resolveSandboxPath } from "../../../guard/policy/index.js";
import { SandboxError } from "../../../kit/errors.js";
import { Mutex } from "../../../kit/mutex.js";
import type {
  ExecutionResult,
  FileChange,
  RunningSandbox,
  SandboxFiles,
} from "../../../runtime/sandbox/index.js";
import type { ToolCall, ToolResult } from "./tool-call.js";

/** What an agent wants done with its session's files, and in whose name. */
export interface FileCall<Value> extends SessionCall {
  /** What it will write, by path: looked at like the input files of a program. A stream takes `isPlaced`. */
  readonly content?: ToolCall["files"];
  /** True: `content` is written before the work, as the input files of a program are. */
  readonly isPlaced?: boolean | undefined;
  readonly work: (files: GuardedFiles) => Promise<Value>;
}

/** Something that is done with a session's sandbox itself, such as with its contexts or its snapshots. */
export interface SandboxCall<Value> extends SessionCall {
  readonly work: (sandbox: RunningSandbox) => Promise<Value>;
}

/** What every call of a session says of itself when it runs no program. */
export interface SessionCall
  extends Pick<ToolCall, "agentId" | "orgId" | "role" | "backend" | "signal" | "requestId"> {
  readonly sessionId: string;
  /** What the policy calls it: `file_read`, `file_write`, … */
  readonly tool: string;
  /** One line that says what it does: for whoever is asked, and for the record. */
  readonly summary: string;
  /** Every file that it touches, for the policy. */
  readonly paths: readonly TouchedPath[];
  /** Why it cannot be done at all, known beforehand: it is recorded like any call, and thrown. */
  readonly refusal?: SandboxError | undefined;
  /** True: it reaches every file there is. Where the policy keeps some of them back, it is denied. */
  readonly touchesAllFiles?: boolean | undefined;
}

export interface TouchedPath {
  readonly path: string;
  readonly access: "read" | "write";
}

/** What came of it; `value` is left out where it was not allowed to happen. */
export interface FileResult<Value> extends ToolResult {
  readonly value?: Value;
}

/** A session's files as a call may see them. */
export interface GuardedFiles {
  readonly files: SandboxFiles;
  /** False: the policy keeps this one back, also from a listing or a search. */
  maySee(path: string): boolean;
  /** Says what was done to a file, for the result and the record. */
  changed(path: string, change: FileChange["change"]): void;
}

/** What the work of a call came to. Throws where it was not allowed to happen. */
export function workValue<Value>(result: FileResult<Value>): Value {
  if ("value" in result) return result.value as Value;
  const why = result.error ?? "It was not done";
  if (result.reason === "cancelled") throw new SandboxError("CANCELLED", why);
  throw new SandboxError(result.reason === "rejected" ? "CONFIRMATION_REJECTED" : "POLICY_DENIED", why);
}

/** The part of a file call that is done in the sandbox. */
export interface FileWork {
  readonly summary: string;
  readonly paths: readonly TouchedPath[];
  readonly refusal?: SandboxError | undefined;
  /** The call's files are put in place first. */
  readonly isPlaced?: boolean | undefined;
  /** It reaches every file. */
  readonly touchesAllFiles?: boolean | undefined;
  readonly run: (files: GuardedFiles, sandbox: RunningSandbox) => Promise<void>;
}

/** Whoever changes files of a sandbox waits for those before: what one has read must not be stale when it writes. */
const writers = new WeakMap<RunningSandbox, Mutex>();
/** More changes than these are not told one by one. */
const MAX_CHANGES = 10_000;

/** Does it, and tells as of any execution what it touched. */
export async function runFileWork(
  sandbox: RunningSandbox,
  { paths, run, touchesAllFiles }: FileWork,
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

/** Nobody looks into an archive or a snapshot path by path. */
function refuseAllFiles(decision: PolicyDecision | undefined): void {
  if (decision === undefined) return;
  if (decision.deniedPaths.length === 0 && decision.allowedPaths === undefined) return;
  throw new SandboxError("POLICY_DENIED", "The policy keeps some files back, and this takes all of them", {
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

/** The call that everybody between here and the sandbox decides about. */
export function toolCallOf(call: SessionCall & Pick<FileCall<unknown>, "content">): ToolCall {
  if (typeof call !== "object" || call === null || typeof call.sessionId !== "string") {
    throw new SandboxError("INVALID_ARGUMENT", "A file call names the session whose files it is about", {
      hint: "Pass a sessionId.",
    });
  }
  const { sessionId, agentId, orgId, role, backend, signal, requestId, tool, content } = call;
  return {
    sessionId,
    tool,
    ...(agentId !== undefined && { agentId }),
    ...(orgId !== undefined && { orgId }),
    ...(role !== undefined && { role }),
    ...(backend !== undefined && { backend }),
    ...(signal !== undefined && { signal }),
    ...(requestId !== undefined && { requestId }),
    ...(content !== undefined && { files: content }),
  };
}

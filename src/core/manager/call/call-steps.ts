import { randomBytes } from "node:crypto";
import type { PolicyLimits } from "../../../guard/policy/index.js";
import { coversPath, pathGlob, resolveSandboxPath } from "../../../guard/policy/index.js";
import { SandboxError, toSandboxError } from "../../../kit/errors.js";
import type { Limits } from "../../../runtime/backends/index.js";
import type {
  ExecOptions,
  ExecutionResult,
  ExecutionSink,
  ResultEvent,
  RunningSandbox,
} from "../../../runtime/sandbox/index.js";
import { LONGEST_TIMEOUT_MS } from "../../../runtime/sandbox/index.js";
import type { Collected } from "../../../runtime/workspace/index.js";
import { StreamedInput } from "../files/streamed-input.js";
import type { ChosenBackend } from "../sandboxes/choose-backend.js";
import { checkLimits, effectiveLimits, strictestLimits } from "../sandboxes/limits.js";
import type { CallPlan } from "./assess-call.js";
import { runFileWork } from "./file-call.js";
import type { Guards } from "./guards.js";
import { runInContext } from "./run-in-context.js";
import type { CheckedCall } from "./tool-call.js";

/** A sandbox that a call may use until it lets it go. */
export interface AcquiredSandbox {
  readonly sandbox: RunningSandbox;
  /** The workspace's limit, where it has one. */
  readonly workspaceMb: number | undefined;
  /** `hasNetwork`: the host's, which nobody counts. */
  readonly about: { readonly id: string; readonly backend: string; readonly hasNetwork: boolean };
  /** What did not even run is gone when this resolves; the rest may go in the background. */
  release(isReusable: boolean): Promise<void>;
}

/** The session's sandbox with the plan's limits, or one of its own for a call without a session, in a cell or with a harness. */
export async function acquireSandbox(
  call: CheckedCall,
  plan: CallPlan,
  chosen: ChosenBackend,
  guards: Pick<Guards, "sandboxes" | "nameOf" | "limits">,
): Promise<AcquiredSandbox> {
  const { backend, probe } = chosen;
  const { sandboxes, nameOf } = guards;
  const { limits, enforced } = limitsFor(plan, chosen, guards);
  const options = {
    limits,
    signal: call.signal,
    ...(call.backend !== undefined && { backend: backend.name }),
    ...(isIsolated(call) && { cells: call.isolate }),
    ...(call.fileWork !== undefined && { forFiles: true }),
  };
  try {
    const hasNetwork = probe.capabilities.network === "all-or-nothing";
    const lease = (sandbox: RunningSandbox, release: AcquiredSandbox["release"]): AcquiredSandbox => ({
      sandbox,
      workspaceMb: enforced.workspaceMb,
      about: { id: sandbox.id, backend: sandbox.type, hasNetwork },
      release,
    });
    // Nothing of the session's is in a cell: its sandbox, with what runs there, stays as it is.
    if (isIsolated(call)) {
      const { sandbox, release } = await sandboxes.leaseForCells(ownerOf(call), options);
      return lease(sandbox, async () => release());
    }
    if (call.sessionId !== undefined && call.harness === undefined) {
      const { sandbox, release } = await sandboxes.lease(nameOf(call.sessionId), options);
      return lease(sandbox, async () => release());
    }
    const sandbox = await sandboxes.start(`once-${randomBytes(4).toString("hex")}`, {
      ...options,
      hasInputs: Object.keys(call.files ?? {}).length > 0,
      leased: true,
    });
    return lease(sandbox, (isReusable) => (isReusable ? sandboxes.discard(sandbox) : sandbox.stop()));
  } catch (error) {
    throw asPolicyError(error, plan);
  }
}

function isIsolated({ isolate }: CheckedCall): boolean {
  return isolate !== undefined && isolate !== false;
}

/** Whose programs may share a sandbox, each in a cell of its own. */
function ownerOf({ orgId, agentId, role, sessionId }: CheckedCall): string {
  return JSON.stringify([orgId, agentId, role, sessionId].map((each) => each ?? null));
}

/** The limits that a sandbox for the plan is asked to have, and all that it then has. Throws where it cannot. */
export function limitsFor(
  plan: CallPlan,
  { backend, probe }: ChosenBackend,
  { sandboxes, limits: own }: Pick<Guards, "sandboxes" | "limits">,
): { readonly limits: Limits; readonly enforced: Limits } {
  if (own !== undefined) checkLimits(own);
  const limits = sandboxLimits(plan.limits, { ...sandboxes.requestedLimits, ...own }, own);
  try {
    const requested = { ...sandboxes.requestedLimits, ...limits };
    return { limits, enforced: effectiveLimits(requested, probe.capabilities, backend.name) };
  } catch (error) {
    throw asPolicyError(error, plan);
  }
}

/** Puts the call's input files in place. Every path is checked before the first byte is written. */
export async function placeFiles(
  sandbox: RunningSandbox,
  { files }: CheckedCall,
  signal: AbortSignal | undefined,
): Promise<void> {
  const wanted = Object.entries(files ?? {}).map(([path, content]) => ({
    path,
    content: content instanceof StreamedInput ? content.content(signal) : content,
  }));
  if (wanted.length > 0) await sandbox.files.writeAll(wanted);
}

/** Runs it with the time and the output that the plan allows. */
export async function runInSandbox(
  sandbox: RunningSandbox,
  call: CheckedCall,
  { limits, decision }: CallPlan,
  sink: ExecutionSink<ResultEvent>,
): Promise<ExecutionResult> {
  if (call.fileWork !== undefined) return runFileWork(sandbox, call.fileWork, decision, call.signal);
  const options: ExecOptions = {
    env: call.env,
    cwd: call.cwd,
    stdin: call.stdin,
    signal: call.signal,
    stream: call.stream,
    timeoutMs:
      smaller(call.timeoutMs, limits.timeoutMs) ??
      (call.background === true ? LONGEST_TIMEOUT_MS : undefined),
    maxOutputBytes: smaller(call.maxOutputBytes, limits.outputBytes),
  };
  if (call.code !== undefined) {
    const { code, language = "", filename, args } = call;
    if (call.context !== undefined) {
      const context = await sandbox.obtainContext(call.context, language);
      return runInContext(context, sink, code, options);
    }
    const program = { ...options, code, language, filename, args, isolate: isIsolated(call) };
    return sandbox.runCodeInto(sink, program, call.harness);
  }
  const argv = call.argv ?? ["bash", "-c", call.command ?? ""];
  if (call.terminal !== undefined) return sandbox.terminalInto(sink, argv, call.terminal, options);
  return sandbox.execInto(sink, argv, options);
}

/** Brings the files back that the call asked for; undefined when it asked for none. */
export async function collectFiles(
  { sandbox, workspaceMb }: AcquiredSandbox,
  { outputFiles, onOutputFile }: CheckedCall,
  { decision }: CallPlan,
  signal: AbortSignal | undefined,
): Promise<Collected | undefined> {
  if (outputFiles === undefined) return undefined;
  // A glob may find what the policy keeps back.
  const denied = (decision?.deniedPaths ?? []).map(pathGlob);
  return sandbox.files.collect(outputFiles, {
    isDenied: (path) => denied.some((glob) => coversPath(glob, resolveSandboxPath(path))),
    ...(onOutputFile !== undefined && {
      take: onOutputFile,
      // A sparse file of any size fits into a workspace; on this host it would be written out.
      ...(workspaceMb !== undefined && { maxBytes: Math.ceil(workspaceMb * 1024 * 1024) }),
    }),
    // A program that was cancelled may have left something; only what comes later ends the copying.
    ...(signal?.aborted === false && { signal }),
  });
}

/** The part of a policy's limits that holds for the whole sandbox, never above what the manager's caller set. */
function sandboxLimits(policy: PolicyLimits, requested: Limits, own: Limits = {}): Limits {
  const { timeoutMs: _, outputBytes: __, ...limits } = policy;
  const wanted = { ...own, ...limits };
  const strictest = strictestLimits(wanted, requested);
  return Object.fromEntries(
    Object.entries(strictest).filter(([name]) => Object.hasOwn(wanted, name)),
  ) as Limits;
}

function smaller(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}

/** A limit that comes from a policy is the policy's to blame. */
function asPolicyError(error: unknown, plan: CallPlan): SandboxError {
  const failure = toSandboxError(error);
  if (failure.code !== "LIMIT_UNENFORCEABLE" || plan.decision === undefined) return failure;
  return new SandboxError("POLICY_UNENFORCEABLE", `The policy cannot be enforced here: ${failure.message}`, {
    ...(failure.hint !== undefined && { hint: failure.hint }),
    cause: failure,
  });
}

import type { Readable } from "node:stream";
import type { RiskAssessment } from "../../../guard/analysis/index.js";
import type { PolicyDecision } from "../../../guard/policy/index.js";
import type { ContextResult, ExecOptions, ExecutionResult } from "../../../runtime/sandbox/index.js";
import type { Collected, OutputStream } from "../../../runtime/workspace/index.js";
import type { HostFile } from "../files/streamed-input.js";
import type { CellOptions } from "../manager-options.js";

/** What an agent wants done, and on whose behalf. */
export interface ToolCall extends ExecOptions {
  /** Left out: a sandbox of its own that is thrown away. */
  readonly sessionId?: string | undefined;
  readonly agentId?: string | undefined;
  readonly orgId?: string | undefined;
  /** What the caller calls this request, for the record. */
  readonly requestId?: string | undefined;
  /** A role of the policy. */
  readonly role?: string | undefined;
  /** What the policy calls it. Left out: `run_code` for code, `shell_exec` for a command. */
  readonly tool?: string | undefined;
  /** A program: its language and text. */
  readonly language?: string | undefined;
  readonly code?: string | undefined;
  readonly filename?: string | undefined;
  readonly args?: readonly string[] | undefined;
  /** Or a shell's command line. */
  readonly command?: string | undefined;
  /** Or a command without a shell. */
  readonly argv?: readonly string[] | undefined;
  /** Files to put into the workspace before it runs, by their path there. A stream is read once, and destroyed. */
  readonly files?: Readonly<Record<string, string | Uint8Array | HostFile | Readable>> | undefined;
  /** Files to bring back when it has ended: paths and globs. */
  readonly outputFiles?: readonly string[] | undefined;
  /**
   * Takes the output files, one after the other, as they are read. Left out: they come in the result, 64 MiB of all
   * together. What it throws is why a file is in `outputFiles.skipped` of the result.
   */
  readonly onOutputFile?: ((file: OutputStream) => Promise<void> | void) | undefined;
  /** Only one that is at least as strong as what the security mode asks for. */
  readonly backend?: string | undefined;
  /**
   * Runs the code in the session's context of that name, which keeps its state between calls; the first call makes it. It goes
   * with the session's sandbox.
   */
  readonly context?: string | undefined;
  /**
   * Runs the code in a cell: it sees neither the session's files nor its other programs, and leaves nothing. Calls without a
   * session that have the same owner (org, agent, role) and ask for the same share a sandbox, each in a cell of its own.
   */
  readonly isolate?: boolean | CellOptions | undefined;
}

/** A result before its version is noted. */
export type UnversionedResult = Omit<ToolResult, "version">;

/** What came of a tool call. Of code in a context it also says what that showed. */
export interface ToolResult
  extends ExecutionResult,
    Partial<
      Pick<ContextResult, "contextId" | "results" | "exception" | "executionCount" | "resultsTruncated">
    > {
  /** Of the result's JSON. */
  readonly version: 1;
  /** Why the context ended in this run; the next call restarts it. Left out: it goes on. */
  readonly contextEnded?: string;
  /** Why the context had ended before this run, which restarted it: its state is lost. */
  readonly contextRestarted?: string;
  /** What the policy said; left out without a policy. */
  readonly decision?: PolicyDecision;
  /** What the code would reach for; left out where the code was not assessed. */
  readonly risk?: RiskAssessment;
  /** What the person who was asked decided. */
  readonly confirmation?: { readonly approved: boolean; readonly edited: boolean; readonly by?: string };
  /** The call's record in the audit log. */
  readonly auditId?: string;
  /** What `outputFiles` of the call brought. */
  readonly outputFiles?: Collected;
}

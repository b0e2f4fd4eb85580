import type { SandboxStarts } from "../../core/manager/index.js";
import type { AuditTail } from "../../guard/audit/index.js";
import type { ErrorCode } from "../../kit/errors.js";
import type { PoolStatus } from "../../runtime/pool/index.js";
import type { DiskSpace } from "../../runtime/workspace/index.js";
import type { ServerRecord, StoreFigures } from "../store/index.js";
import type { LoopDelays } from "./loop-delay.js";

/** What was measured just now, over all orgs. */
export interface Figures {
  readonly at: Date;
  readonly uptimeMs: number;
  /** How far back what is recent goes: an hour, or since the start. */
  readonly recentMs: number;
  /** Requests that run something. */
  readonly running: number;
  readonly sandboxes: {
    readonly running: number;
    readonly starts: SandboxStarts;
    /** Of those that could be measured; undefined: none could. */
    readonly highest: { readonly cpuPercent: number; readonly memoryPercent: number } | undefined;
    readonly measured: number;
    /** Above a threshold now. */
    readonly alerting: number;
  };
  readonly pool: PoolStatus | undefined;
  readonly store: (StoreFigures & { readonly pingMs: number }) | { readonly problem: ErrorCode };
  readonly servers: readonly ServerRecord[];
  readonly audit: AuditFigures | undefined;
  readonly disks: readonly (DiskSpace & { readonly place: "state" | "audit" })[];
  readonly process: {
    readonly memoryBytes: number;
    readonly heapUsedBytes: number;
    readonly heapLimitBytes: number;
    readonly loopDelay: LoopDelays;
  };
}

export interface AuditFigures {
  readonly open: number;
  readonly waiting: number;
  /** Why nothing can be written; undefined: it can. */
  readonly failure: ErrorCode | undefined;
  readonly tail: AuditTail | { readonly problem: string };
}

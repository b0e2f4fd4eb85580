import type { Instance } from "../backends/index.js";
import type { ProjectStore } from "../projects/index.js";
import type { SnapshotStore, WorkspaceFiles } from "../workspace/index.js";
import type { ReadLog } from "./files/file-activity.js";
import type { ForkSession } from "./files/snapshots.js";
import type { Language } from "./languages/language.js";
import type { NetworkInit } from "./network/network.js";
import type { CellSettings } from "./programs/cell-runner.js";
import type { WarmSettings } from "./programs/warm-interpreters.js";
import type { SessionSync } from "./sync/session-sync.js";

export interface SandboxSettings {
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  /** Default limits that the backend cannot enforce on this host; left out: none that a program could abuse. */
  readonly limitsNotEnforced?: readonly string[];
  readonly warm: (language: Language) => WarmSettings;
  /** Left out: it makes no cells. */
  readonly cells?: CellSettings;
}

/** What a sandbox is made of; `Forked` is what a fork resolves to. */
export interface SandboxInit<Forked = unknown> {
  readonly instance: Instance;
  readonly type: string;
  readonly sessionId: string;
  /** Closed with the sandbox. */
  readonly workspace: WorkspaceFiles;
  readonly settings: SandboxSettings;
  /** Copies the files to this host, where it shares no directory with the sandbox. */
  readonly sync?: SessionSync;
  /** Left out: results do not say what was read. */
  readonly reads?: ReadLog;
  /** Where the session's snapshots are kept. */
  readonly snapshots: SnapshotStore;
  /** What is remembered of directories that were copied in. */
  readonly projects: ProjectStore;
  readonly fork: ForkSession<Forked>;
  /** Left out: there is no egress, and no port can be opened. */
  readonly network?: NetworkInit;
  /** Called once, when the sandbox has stopped for whatever reason. */
  readonly onStopped?: () => void | Promise<void>;
}

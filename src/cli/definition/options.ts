import type { SecurityMode } from "../../core/manager/index.js";
import type { Mount, Transfer } from "./arguments.js";

/** Options that every command has. */
export interface GlobalOptions {
  readonly config?: string;
  readonly color: boolean;
}

/** Which sandbox, and with which limits. */
export interface SandboxOptions extends GlobalOptions {
  readonly backend?: string;
  readonly session?: string;
  readonly memory?: number;
  readonly cpus?: number;
  readonly pids?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly mount?: readonly Mount[];
  readonly allowDomain?: readonly string[];
  /** Clients, as they stand on the command line. */
  readonly allow?: readonly string[];
  readonly allowInternet?: boolean;
  /** As they stand on the command line: names, never values. */
  readonly secret?: readonly string[];
}

export const CONFIRM_CHOICES = ["ask", "reject"] as const;

/** Identity, policy, confirmation and audit of a call. */
export interface GuardOptions extends GlobalOptions {
  readonly policy?: string;
  readonly role?: string;
  readonly securityMode?: SecurityMode;
  readonly agent?: string;
  readonly org?: string;
  readonly confirm?: (typeof CONFIRM_CHOICES)[number];
  readonly dangerouslyApproveAll?: boolean;
  readonly audit: boolean;
}

/** Options of `run` and `exec`. */
export interface ExecuteOptions extends SandboxOptions, GuardOptions {
  readonly json?: boolean;
  readonly timeout?: number;
  readonly input?: readonly Transfer[];
  readonly output?: readonly Transfer[];
}

/** Options of `mcp`. */
export interface McpOptions extends Omit<SandboxOptions, "env" | "cwd" | "mount">, GuardOptions {
  /** A directory whose copy the model works on. */
  readonly project?: string;
  readonly tools?: string;
}

/** Options of `shell`. */
export interface ShellOptions extends SandboxOptions, GuardOptions {}

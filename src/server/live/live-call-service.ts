import type { Config, ServerConfig } from "../../core/config/index.js";
import { type GuardedProcess, type GuardedTerminal, OutputBudget } from "../../core/manager/index.js";
import { LiveCallRegistry, type LiveCallRegistryOptions } from "./live-call-registry.js";
import type { ServerProcess } from "./server-process.js";
import type { ServerTerminal } from "./server-terminal.js";

/** The request of a live call stays in memory as long as the call: large files do not belong in it. */
const MOST_REQUEST_BYTES = 1024 * 1024;

/** The largest request for a live call. */
export function liveCallBodyLimit({ server }: Config): number {
  return Math.min(server.limits.bodyBytes, MOST_REQUEST_BYTES);
}

/** Processes and terminals: calls that outlive their request. */
export class LiveCallService {
  readonly processes: LiveCallRegistry<GuardedProcess, ServerProcess>;
  readonly terminals: LiveCallRegistry<GuardedTerminal, ServerTerminal>;
  readonly #logBytes: number;
  readonly #outputs = new Map<string, OutputBudget>();

  constructor(
    { processes }: Pick<ServerConfig, "processes">,
    options: Omit<LiveCallRegistryOptions, "what" | "mostRunning">,
  ) {
    const shared = { ...options, mostRunning: processes.perSession };
    this.processes = new LiveCallRegistry({ ...shared, what: "process" });
    this.terminals = new LiveCallRegistry({ ...shared, what: "terminal" });
    this.#logBytes = processes.logBytes;
  }

  /** What may be kept of an org's outputs. */
  outputsOf(org: string): OutputBudget {
    const outputs = this.#outputs.get(org) ?? new OutputBudget(this.#logBytes);
    this.#outputs.set(org, outputs);
    return outputs;
  }

  /** Starts no more calls: processes are asked to end, terminals are closed. */
  stop(): void {
    this.processes.stop();
    this.terminals.stop();
  }

  /** The session is gone: drops what was kept of it. */
  forgetSession(session: string): void {
    this.processes.forgetSession(session);
    this.terminals.forgetSession(session);
  }
}

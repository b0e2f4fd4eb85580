import type { Config, ServerConfig } from "../../core/config/index.js";
import type { GuardedProcess, GuardedTerminal } from "../../core/manager/index.js";
import { LiveCallRegistry, type LiveCallRegistryOptions } from "./live-call-registry.js";
import { OutputBudget } from "./output-budget.js";
import type { ServerProcess } from "./server-process.js";
import type { ServerTerminal } from "./server-terminal.js";

/** A request for something that lasts is kept as long as that does: it is no place for large files. */
const MOST_REQUEST_BYTES = 1024 * 1024;

/** How large such a request may be. */
export function liveCallBodyLimit({ server }: Config): number {
  return Math.min(server.limits.bodyBytes, MOST_REQUEST_BYTES);
}

/** What goes on in sessions without a request: processes and terminals. */
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

  /** Starts nothing any more: processes are asked to end, terminals are hung up. */
  stop(): void {
    this.processes.stop();
    this.terminals.stop();
  }

  /** The session is gone, and with it what is kept. */
  forgetSession(session: string): void {
    this.processes.forgetSession(session);
    this.terminals.forgetSession(session);
  }
}

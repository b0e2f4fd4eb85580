import type { Capabilities, Limits } from "../../runtime/backends/index.js";
import type { RunningSandbox } from "../../runtime/sandbox/index.js";
import type { Config } from "../config/index.js";
import type { SandboxManager } from "../manager/index.js";

/** What a case works with. */
interface CaseContext {
  readonly backend: string;
  readonly capabilities: Capabilities;
  readonly stateDir: string;
  readonly module: string | undefined;
  readonly config: Config;
  /** A sandbox of its own, stopped when the case ends. */
  createSandbox(limits?: Limits): Promise<RunningSandbox>;
  readonly manager: SandboxManager;
}

/** One case of the suite. */
export interface ConformanceCase {
  readonly title: string;
  /** Left out: every backend must pass it. */
  readonly needs?: (capabilities: Capabilities) => boolean;
  run(context: CaseContext): Promise<void>;
}

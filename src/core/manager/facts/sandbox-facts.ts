import type { Config } from "../../config/index.js";
import { DEFAULT_LIMITS } from "../../config/index.js";
import type { EgressController } from "../egress/egress-controller.js";
import type { NetworkFacts } from "../egress/network-facts.js";
import type { SandboxManagerOptions } from "../manager-options.js";

/** What is true of every sandbox of a manager, for the texts that a model reads. */
export interface SandboxFacts {
  readonly network: NetworkFacts;
  readonly memoryMb: number;
  readonly pids: number;
  /** Of one call, at most. */
  readonly timeoutMs: number;
  /** Directories of this host that programs inside see under the same path. */
  readonly shared: readonly { readonly path: string; readonly writable: boolean }[];
}

export function sandboxFacts(
  { limits, runtime, filesystem }: Config["sandbox"],
  options: SandboxManagerOptions,
  egress: EgressController,
): SandboxFacts {
  const paths = (list: readonly string[], writable: boolean) => list.map((path) => ({ path, writable }));
  return {
    network: options.policy === undefined ? egress.reachable : { kind: "policy" },
    memoryMb: options.limits?.memoryMb ?? limits.memoryMb ?? DEFAULT_LIMITS.memoryMb,
    pids: options.limits?.pids ?? limits.pids ?? DEFAULT_LIMITS.pids,
    timeoutMs: runtime.timeoutMs,
    shared: [...paths(filesystem.allowRead, false), ...paths(filesystem.allowWrite, true)],
  };
}

import { SandboxManager, type SandboxManagerOptions } from "../../src/core/manager/index.js";
import { cleanUp, temporaryDirectory } from "./clean-up.js";

/** A manager, with a state directory of its own unless one is named; it is closed after the test or the file. */
export function openManager({
  stateDir = temporaryDirectory(),
  ...options
}: SandboxManagerOptions = {}): SandboxManager {
  const manager = new SandboxManager({ stateDir, handleSignals: false, ...options });
  cleanUp(() => manager.close());
  return manager;
}

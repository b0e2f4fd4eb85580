import type { Instance } from "../backends/backend.js";
import { SandboxError } from "../errors.js";
import { RunnerWorkspace } from "../sandbox/inside/runner-workspace.js";
import { AgentWorkspace, type WorkspaceFiles, type WorkspaceOptions } from "../workspace/index.js";
import type { ChosenBackend } from "./choose-backend.js";

/** The host's way to a sandbox's files: its directory where the backend shares one, else the guest. */
export function openWorkspace(
  instance: Instance,
  { backend, probe }: ChosenBackend,
  options: WorkspaceOptions,
): WorkspaceFiles {
  const { hostWorkspace } = instance;
  // What was decided on the ground of the claim would not hold.
  if (probe.capabilities.sharedWorkspace !== (hostWorkspace !== undefined)) {
    const [claimed, given] = hostWorkspace === undefined ? ["a", "none"] : ["no", "one"];
    throw new SandboxError(
      "INTERNAL",
      `The backend ${backend.name} claims ${claimed} workspace that it shares with this host, and gave ${given}`,
      {
        hint: "Its capability sharedWorkspace must be true exactly when its instances have a hostWorkspace.",
      },
    );
  }
  if (hostWorkspace === undefined) return new RunnerWorkspace(instance, options);
  try {
    return AgentWorkspace.open(hostWorkspace, options);
  } catch (error) {
    // A guest that dies here has not started.
    throw new SandboxError("SANDBOX_START_FAILED", "The sandbox ended while it started", {
      hint: "Its limits may be too small for it to live: limits.memory above all.",
      cause: error,
    });
  }
}

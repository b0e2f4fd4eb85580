import { existsSync } from "node:fs";
import { join } from "node:path";
import { SandboxError, systemCode } from "../../../kit/errors.js";
import type { Instance, Limits, Probe } from "../../../runtime/backends/index.js";
import { RunnerWorkspace, SessionSync } from "../../../runtime/sandbox/index.js";
import {
  AgentWorkspace,
  type WorkspaceFiles,
  type WorkspaceOptions,
} from "../../../runtime/workspace/index.js";
import { DEFAULT_LIMITS } from "../../config/index.js";
import type { StoredSession } from "../sessions/session-store.js";
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
        hint: "Set its capability sharedWorkspace to whether its instances have a hostWorkspace.",
      },
    );
  }
  if (hostWorkspace === undefined) return new RunnerWorkspace(instance, options);
  try {
    return AgentWorkspace.open(hostWorkspace, options);
  } catch (error) {
    if (["EACCES", "EPERM"].includes(systemCode((error as Error).cause) ?? "")) throw cannotLookInto(error);
    // A guest that dies here has not started.
    throw new SandboxError("SANDBOX_START_FAILED", "The sandbox ended while it started", {
      hint: "Its limits may be too small for it to live: limits.memory above all.",
      cause: error,
    });
  }
}

/** What is mounted for a sandbox is reached through a process of another user. */
function cannotLookInto(cause: unknown): SandboxError {
  return new SandboxError(
    "BACKEND_UNAVAILABLE",
    "This process may not look into the sandbox that it has started",
    {
      hint: "Root needs CAP_SYS_PTRACE for that: start the container with it, or Skerry outside of one.",
      cause,
    },
  );
}

/** A session's files on this host as a backend that shares no directory would copy them; throws where they are elsewhere. */
export function assertFilesReachable({ path, key }: StoredSession, { capabilities }: Probe): void {
  if (capabilities.sharedWorkspace || !existsSync(join(path, "workspace.img"))) return;
  throw new SandboxError(
    "UNSUPPORTED",
    `The files of session ${JSON.stringify(key)} are in a disk image, which this backend cannot copy from`,
    {
      hint: "Use the session as root with the backend that made it, or copy its files to a new session.",
    },
  );
}

/** What keeps a session's directory on this host and the sandbox's files the same; undefined: they are the same. */
export function openSessionSync(
  workspace: WorkspaceFiles,
  slot: { readonly session: StoredSession },
  { denyWrite, limits }: { readonly denyWrite: readonly string[]; readonly limits: Limits },
): SessionSync | undefined {
  if (!(workspace instanceof RunnerWorkspace)) return undefined;
  const { path, owner } = slot.session;
  const host = AgentWorkspace.open(join(path, "workspace"), { ...(owner !== undefined && { owner }) });
  const { workspaceMb = DEFAULT_LIMITS.workspaceMb, workspaceInodes = DEFAULT_LIMITS.workspaceInodes } =
    limits;
  return new SessionSync(host, workspace, {
    limits: { maxBytes: Math.ceil(workspaceMb * 1024 * 1024), maxEntries: workspaceInodes },
    denyWrite,
    isKept: () => !slot.session.ephemeral,
  });
}

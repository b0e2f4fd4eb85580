import { type ChildProcess, spawn } from "node:child_process";
import type { CreateSpec, Instance } from "../backend.js";
import { createGuestInstance, hostEnvironment, processFailure, stopGuest } from "../guest-instance.js";
import type { GuestRuntime } from "../guest-runtime.js";
import { workspacePath } from "../linux/workspace/workspace-mount.js";
import { greetGuest } from "../start-guest.js";
import { enterCgroups } from "./enter-cgroups.js";
import type { HostRequest } from "./host-request.js";
import { RunDirectory } from "./run-directory.js";
import type { SrtRuntime } from "./srt-package.js";
import { loadUserSettings, type UserSettings } from "./user-settings.js";
import { ViolationLog } from "./violations.js";

/** Where people's and other programs' files are. */
const HIDDEN = [
  "/Users",
  "/Volumes",
  "/private/tmp",
  "/private/var",
  "/private/etc",
  "/opt",
  "/Network",
  "/home",
];

/** Seatbelt knows no second view of the files: programs see the host's paths, and the library's walls are the only ones. */
export async function createOnMac(
  spec: CreateSpec,
  runtime: SrtRuntime,
  guest: GuestRuntime,
  paths: { readonly stateDir: string; readonly settingsPath: string },
): Promise<Instance> {
  const own = await loadUserSettings(paths.settingsPath);
  const directory = await RunDirectory.create({
    ...paths,
    id: spec.id,
    owner: undefined,
    createRequest: () => macOrders(spec, runtime, guest, own),
  });
  let child: ChildProcess | undefined;
  let violations: ViolationLog | undefined;
  const destroy = async () => {
    // The host process leaves after the guest; one that does not is killed with its group.
    if (child !== undefined) await stopGuest(child, (pid) => process.kill(-pid, "SIGKILL"));
    violations?.close();
    await directory.remove();
  };
  try {
    const log = await ViolationLog.open(directory.path);
    violations = log;
    child = spawn(process.execPath, [runtime.program, "--args", "3", "--", directory.path], {
      stdio: ["pipe", "pipe", "ignore", "ignore", "ignore"],
      env: {},
      cwd: "/",
      detached: true,
    });
    const failed = processFailure(child, "sandbox-runtime");
    const streams = { toGuest: child.stdin!, fromGuest: child.stdout! };
    await enterCgroups(streams, { entryFiles: [], failed, signal: spec.signal });
    const runner = await greetGuest(streams, { signal: spec.signal, failed });
    const workspace = workspacePath(spec);
    return createGuestInstance({
      id: spec.id,
      runner,
      guestWorkspace: workspace,
      hostWorkspace: workspace,
      guestRuntime: guest.directory,
      baseEnv: { ...hostEnvironment(workspace), TMPDIR: workspace },
      violations: () => log.take(),
      destroy,
    });
  } catch (error) {
    await destroy();
    throw error;
  }
}

/** The library's settings: the workspace and the shared paths, programs to run, no network but the loopback. */
export function macOrders(
  spec: CreateSpec,
  runtime: SrtRuntime,
  guest: GuestRuntime,
  own: UserSettings,
): HostRequest {
  const { openFiles, fileSizeMb } = spec.limits;
  const { filesystem } = spec;
  const workspace = workspacePath(spec);
  return {
    settings: {
      network: { allowedDomains: [], deniedDomains: [], allowLocalBinding: true },
      filesystem: {
        denyRead: [...HIDDEN, ...filesystem.denyRead, ...own.denyRead],
        allowRead: [workspace, guest.directory, runtime.directory, ...filesystem.allowRead],
        allowWrite: [workspace, ...filesystem.allowWrite],
        denyWrite: [...filesystem.denyWrite],
      },
      ignoreViolations: own.ignoreViolations,
      allowPty: true,
    },
    command: `exec '${guest.guest}'`,
    ...(openFiles !== undefined && { openFiles }),
    ...(fileSizeMb !== undefined && { fileSizeMb }),
    // The library reads the system's log, which has refusals only.
    writable: [],
  };
}

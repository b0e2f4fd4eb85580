import { existsSync } from "node:fs";
import { SandboxError } from "../../../kit/errors.js";
import type {
  BackendContext,
  CreateSpec,
  Instance,
  Probe,
  ProbeOptions,
  SandboxBackend,
} from "../backend.js";
import { createGuestInstance } from "../guest-instance.js";
import { type GuestRuntime, installGuestRuntime } from "../guest-runtime.js";
import { commonArguments, sandboxArguments, sharedDirectories } from "../linux/bwrap/arguments.js";
import { endLaunched, Launchers, startFailure } from "../linux/bwrap/launcher.js";
import type { Ending } from "../linux/bwrap/launcher-reports.js";
import { reapCgroups, SandboxCgroup } from "../linux/cgroup/cgroup.js";
import { findCgroupBase } from "../linux/cgroup/cgroup-base.js";
import { explainStart } from "../linux/explain-start.js";
import { GUEST_LAYOUT, GUEST_RUNTIME, GUEST_WORKSPACE } from "../linux/guest-layout.js";
import type { HostFacts } from "../linux/host-facts.js";
import { readHostSigns } from "../linux/host-signs.js";
import { loadSeccompFilter } from "../linux/seccomp/filter.js";
import { findImageTools } from "../linux/workspace/workspace-image.js";
import { hostWorkspaceOf, prepareWorkspace, workspacePath } from "../linux/workspace/workspace-mount.js";
import { greetGuest } from "../start-guest.js";
import { enterCgroups } from "./enter-cgroups.js";
import type { HostRequest } from "./host-request.js";
import { createSettings } from "./library-settings.js";
import { createOnMac } from "./macos.js";
import { findSrtFacts, probeSrt, type SrtFacts } from "./probe.js";
import { RunDirectory, reapRunDirectories } from "./run-directory.js";
import { SRT_DEFAULTS } from "./settings.js";
import { installSrtRuntime, type SrtRuntime } from "./srt-package.js";
import { loadUserSettings, type UserSettings } from "./user-settings.js";
import { ViolationLog } from "./violations.js";

/**
 * Anthropic's sandbox-runtime around every session, in a process of its own, and behind its walls the guest with ours:
 * limits, a minimal view of the files, a filter for system calls.
 */
export function createSrtBackend(context: BackendContext): SandboxBackend {
  return new SrtBackend(context);
}

class SrtBackend implements SandboxBackend {
  readonly name = "srt";
  readonly #stateDir: string;
  readonly #settingsPath: string;
  /** Left out: the host's. */
  readonly #bubblewrap: string | undefined;
  readonly #launchers = new Launchers();
  #facts: Promise<SrtFacts> | undefined;
  #guest: GuestRuntime | undefined;
  #runtime: SrtRuntime | undefined;

  constructor({ stateDir, options }: BackendContext) {
    this.#stateDir = stateDir;
    const { settingsPath, path } = (options ?? {}) as { settingsPath?: string; path?: string };
    this.#bubblewrap = path;
    this.#settingsPath = settingsPath ?? SRT_DEFAULTS.settingsPath;
  }

  async probe(options: ProbeOptions = {}): Promise<Probe> {
    return probeSrt(await this.#host(), this.#stateDir, options);
  }

  async create(spec: CreateSpec): Promise<Instance> {
    const facts = await this.#host();
    const probe = await probeSrt(facts, this.#stateDir, {});
    const { srt, node } = facts;
    if (!probe.available || srt === undefined || node === undefined) throw unavailable(probe);
    if (facts.host.isRoot && spec.directory.owner === undefined)
      throw new SandboxError("INTERNAL", "Root must give every sandbox a user of its own");
    const guest = installGuestRuntime(this.#stateDir, this.#guest);
    this.#guest = guest;
    if (this.#runtime === undefined || !existsSync(this.#runtime.program))
      this.#runtime = installSrtRuntime(this.#stateDir, srt, node);
    const paths = { stateDir: this.#stateDir, settingsPath: this.#settingsPath };
    if (process.platform === "darwin") return createOnMac(spec, this.#runtime, guest, paths);
    return this.#createOnLinux(spec, this.#runtime, guest, facts.host);
  }

  async #createOnLinux(
    spec: CreateSpec,
    runtime: SrtRuntime,
    guest: GuestRuntime,
    host: HostFacts,
  ): Promise<Instance> {
    const { cgroups } = host;
    const bubblewrap = host.bubblewrap!;
    const own = await loadUserSettings(this.#settingsPath);
    const mount = await prepareWorkspace(
      spec,
      findImageTools(host, this.#stateDir, () => guest.guest),
    );
    const undo: (() => unknown)[] = [];
    let isStarting = true;
    try {
      const directory = await RunDirectory.create({
        stateDir: this.#stateDir,
        settingsPath: this.#settingsPath,
        id: spec.id,
        owner: spec.directory.owner,
        createRequest: (path) => createRequest(spec, { own, runtime, guest, bubblewrap, path }),
      });
      undo.push(() => directory.remove());
      const violations = own.observe ? await ViolationLog.open(directory.path) : undefined;
      undo.push(() => violations?.close());
      const cgroup = cgroups === undefined ? undefined : SandboxCgroup.create(cgroups, spec.id, spec.limits);
      undo.push(() => cgroup?.remove());
      const { pids } = spec.limits;
      const launched = await this.#launchers.launch(guest.guest, {
        bubblewrap: runtime.program,
        // The host process hands these on to the guest's walls, and takes the command for its directory.
        arguments: sandboxArguments(guest, commonArguments(guest), spec),
        command: directory.path,
        seccomp: await loadSeccompFilter(),
        // It is not the sandbox's to pay for: only what it starts is put into the groups.
        cgroupFiles: [],
        limits: { ...(pids !== undefined && { pids }) },
        ...(spec.directory.owner !== undefined && { identity: spec.directory.owner }),
        mountPoint: workspacePath(spec),
        covers: sharedDirectories(guest),
        ...(mount !== undefined && { mount }),
      });
      undo.push(() => endLaunched(launched));
      const failed = startFailure(launched, () => isStarting, explainFailure);
      await enterCgroups(launched, { entryFiles: cgroup?.entryFiles ?? [], failed, signal: spec.signal });
      const runner = await greetGuest(launched, { signal: spec.signal, failed });
      isStarting = false;
      const hostWorkspace = hostWorkspaceOf(spec, mount, await launched.pid);
      return createGuestInstance({
        id: spec.id,
        runner,
        ...GUEST_LAYOUT,
        hostWorkspace,
        directoryUntouched: mount !== undefined,
        cgroup,
        violations: async () => (await violations?.take()) ?? [],
        destroy: () => undoAll(undo),
      });
    } catch (error) {
      await undoAll(undo);
      throw error;
    }
  }

  async reap(): Promise<number> {
    // Without /proc it cannot be told whether a maker is alive.
    if (process.platform !== "linux") return 0;
    const labels = await reapRunDirectories(this.#stateDir, this.#settingsPath);
    const cgroups = findCgroupBase();
    const groups = cgroups === undefined ? 0 : await reapCgroups(cgroups);
    return Math.max(labels.size, groups);
  }

  #host(): Promise<SrtFacts> {
    this.#facts ??= findSrtFacts(this.#bubblewrap);
    return this.#facts;
  }
}

interface RequestInput {
  readonly own: UserSettings;
  readonly runtime: SrtRuntime;
  readonly guest: GuestRuntime;
  readonly bubblewrap: string;
  /** The host process's directory. */
  readonly path: string;
}

/** What the host process is to do for one sandbox. */
function createRequest(
  spec: CreateSpec,
  { own, runtime, guest, bubblewrap, path }: RequestInput,
): HostRequest {
  const { filesystem, limits } = spec;
  const { openFiles, fileSizeMb } = limits;
  return {
    settings: createSettings({
      workspace: workspacePath(spec),
      // The library's filter reports to a socket in there.
      runtimes: [guest.directory, runtime.directory, ...(own.observe ? [path] : [])],
      bubblewrap,
      nothing: runtime.nothing,
      filesystem,
      own,
    }),
    // The library adds variables of its own; not even the memory of the first process may show them.
    command: `exec env -i '${bubblewrap}' --args 3 -- ${GUEST_RUNTIME}/skerry-guest`,
    ...(openFiles !== undefined && { openFiles }),
    ...(fileSizeMb !== undefined && { fileSizeMb }),
    ...(own.observe && { writable: [GUEST_WORKSPACE, "/tmp", "/dev", ...filesystem.allowWrite] }),
  };
}

/** Last first, and all of them whatever becomes of one. */
async function undoAll(undo: readonly (() => unknown)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const each of undo.toReversed()) {
    try {
      await each();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

function explainFailure({ status, complaints }: Ending): SandboxError {
  // Of what Node says around an error, only the error itself is for people.
  const said = /^\w*Error.*$|^bwrap:.*$/m.exec(complaints)?.[0] ?? complaints;
  const known = explainStart(said, readHostSigns());
  if (known !== undefined) {
    return new SandboxError("BACKEND_UNAVAILABLE", `sandbox-runtime cannot start: ${known.what}`, {
      cause: new Error(complaints),
      hint: known.remedy,
    });
  }
  const text = (said || `status ${status}`).replaceAll(/[^\x20-\x7e]+/g, " ").slice(0, 500);
  return new SandboxError("SANDBOX_START_FAILED", `sandbox-runtime cannot start: ${text}`, {
    cause: new Error(complaints),
    hint: "skerry doctor says what this host lacks.",
  });
}

function unavailable({ problems }: Probe): SandboxError {
  return new SandboxError("BACKEND_UNAVAILABLE", problems[0]?.what ?? "sandbox-runtime cannot run here", {
    ...(problems[0] !== undefined && { hint: problems[0].remedy }),
  });
}

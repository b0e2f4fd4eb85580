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
import {
  CELL_FILTER,
  commonArguments,
  sandboxArguments,
  sharedDirectories,
} from "../linux/bwrap/arguments.js";
import { endLaunched, type Launched, Launchers, startFailure } from "../linux/bwrap/launcher.js";
import { reapCgroups, SandboxCgroup } from "../linux/cgroup/cgroup.js";
import { findCgroupBase } from "../linux/cgroup/cgroup-base.js";
import { openCgroups } from "../linux/cgroup/open-cgroups.js";
import { GUEST_LAYOUT, GUEST_RUNTIME } from "../linux/guest-layout.js";
import { findHostFacts, type HostFacts } from "../linux/host-facts.js";
import { probeHost } from "../linux/probe-host.js";
import { loadSeccompFilter } from "../linux/seccomp/filter.js";
import { processorVariables } from "../linux/shown-limits.js";
import { forgetStart, startError } from "../linux/start-trial.js";
import { DEFAULT_USER_RANGE } from "../linux/user-range.js";
import { findImageTools } from "../linux/workspace/workspace-image.js";
import { hostWorkspaceOf, prepareWorkspace, workspacePath } from "../linux/workspace/workspace-mount.js";
import { greetGuest } from "../start-guest.js";
import type { BubblewrapConfig } from "./settings.js";

/** Namespaces, seccomp, cgroups and a user of its own around every sandbox; no daemon. */
export function createBubblewrapBackend(context: BackendContext): SandboxBackend {
  return new BubblewrapBackend(context);
}

class BubblewrapBackend implements SandboxBackend {
  readonly name = "bubblewrap";
  readonly #context: BackendContext;
  readonly #launchers = new Launchers();
  #facts: Promise<HostFacts> | undefined;
  #runtime: GuestRuntime | undefined;
  readonly #seccomp = new Map<boolean, Promise<Buffer>>();
  readonly #common = new Map<boolean, { readonly runtime: GuestRuntime; readonly arguments: string[] }>();

  constructor(context: BackendContext) {
    this.#context = context;
  }

  async probe(options: ProbeOptions = {}): Promise<Probe> {
    const { stateDir } = this.#context;
    return probeHost(await this.#host(), {
      ...options,
      stateDir,
      uidRange: this.#options.uidRange ?? DEFAULT_USER_RANGE,
    });
  }

  async create(spec: CreateSpec): Promise<Instance> {
    const facts = await this.#host();
    if (facts.bubblewrap === undefined) throw missingBubblewrap();
    if (facts.isRoot && spec.directory.owner === undefined) {
      throw new SandboxError("INTERNAL", "Root must give every sandbox a user of its own");
    }
    const cells = spec.cells === true;
    if (cells) assertCellsPossible(spec);
    const { stateDir } = this.#context;
    const runtime = installGuestRuntime(stateDir, this.#runtime);
    this.#runtime = runtime;
    const mount = await prepareWorkspace(
      spec,
      findImageTools(facts, stateDir, () => runtime.guest),
    );
    const cgroup =
      facts.cgroups === undefined ? undefined : SandboxCgroup.create(facts.cgroups, spec.id, spec.limits);
    let launched: Launched | undefined;
    const destroy = async () => {
      if (launched !== undefined) await endLaunched(launched);
      await cgroup?.remove();
    };
    let isStarting = true;
    try {
      launched = await this.#launchers.launch(runtime.guest, {
        bubblewrap: facts.bubblewrap,
        arguments: sandboxArguments(runtime, this.#commonArguments(runtime, cells), spec),
        command: `${GUEST_RUNTIME}/skerry-guest`,
        seccomp: await this.#seccompFilter(cells),
        ...(cells && { cellFilter: CELL_FILTER }),
        cgroupFiles: cgroup?.entryFiles ?? [],
        limits: spec.limits,
        ...(spec.directory.owner !== undefined && { identity: spec.directory.owner }),
        mountPoint: workspacePath(spec),
        covers: sharedDirectories(runtime),
        ...(mount !== undefined && { mount }),
      });
      const failed = startFailure(launched, () => isStarting, startError);
      const runner = await greetGuest(launched, { signal: spec.signal, failed });
      isStarting = false;
      const hostWorkspace = hostWorkspaceOf(spec, mount, await launched.pid);
      return createGuestInstance({
        id: spec.id,
        runner,
        ...GUEST_LAYOUT,
        baseEnv: { ...GUEST_LAYOUT.baseEnv, ...processorVariables(spec.limits) },
        hostWorkspace,
        directoryUntouched: mount !== undefined,
        cgroup,
        destroy,
      });
    } catch (error) {
      if (isStarting) forgetStart(stateDir);
      await destroy();
      throw error;
    }
  }

  async reap(): Promise<number> {
    const cgroups = findCgroupBase();
    return cgroups === undefined ? 0 : reapCgroups(cgroups);
  }

  #host(): Promise<HostFacts> {
    this.#facts ??= openCgroups().then((cgroups) => findHostFacts(this.#options.path, cgroups));
    return this.#facts;
  }

  get #options(): Partial<BubblewrapConfig> {
    return (this.#context.options ?? {}) as Partial<BubblewrapConfig>;
  }

  #seccompFilter(cells: boolean): Promise<Buffer> {
    const known = this.#seccomp.get(cells);
    if (known !== undefined) return known;
    const loading = loadSeccompFilter(process.arch, cells ? "cells" : "sandbox");
    this.#seccomp.set(cells, loading);
    return loading;
  }

  #commonArguments(runtime: GuestRuntime, cells: boolean): readonly string[] {
    const known = this.#common.get(cells);
    if (known?.runtime === runtime) return known.arguments;
    const common = { runtime, arguments: commonArguments(runtime, cells) };
    this.#common.set(cells, common);
    return common.arguments;
  }
}

/** What cells share with each other is read-only. */
function assertCellsPossible({ filesystem }: CreateSpec): void {
  if (filesystem.allowWrite.length === 0) return;
  throw new SandboxError(
    "UNSUPPORTED",
    "A sandbox with cells cannot have host paths that can be written to",
    {
      hint: "Leave sandbox.filesystem.allowWrite empty: two cells would see each other's files there.",
    },
  );
}

function missingBubblewrap(): SandboxError {
  return new SandboxError("BACKEND_UNAVAILABLE", "bubblewrap is not installed", {
    hint: "apt-get install bubblewrap, or: skerry doctor --fix",
  });
}

import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { SandboxError } from "../../../kit/errors.js";
import type { GuestConnection } from "../../wire/index.js";
import type {
  BackendContext,
  CreateSpec,
  Instance,
  Probe,
  ProbeOptions,
  ResourceUsage,
  SandboxBackend,
} from "../backend.js";
import { type GuestRuntime, installGuestRuntime } from "../guest-runtime.js";
import { CELL_FILTER, commonArguments, sandboxArguments } from "../linux/bwrap/arguments.js";
import { type Launched, Launchers } from "../linux/bwrap/launcher.js";
import type { Ending } from "../linux/bwrap/launcher-reports.js";
import { reapCgroups, SandboxCgroup } from "../linux/cgroup/cgroup.js";
import { BASE_ENV, GUEST_RUNTIME, GUEST_WORKSPACE } from "../linux/guest-layout.js";
import {
  findHostFacts,
  findMke2fs,
  type HostFacts,
  namespaceProblem,
  OLDEST_VERSION,
  probeHost,
} from "../linux/host-facts.js";
import { loadSeccompFilter } from "../linux/seccomp/filter.js";
import type { ImageTools } from "../linux/workspace/workspace-image.js";
import { prepareWorkspace, workspacePath } from "../linux/workspace/workspace-mount.js";
import { greetGuest } from "../start-guest.js";

const START_TIMEOUT_MS = 20_000;

/** Namespaces, seccomp, cgroups and a user of its own around every sandbox; no daemon. */
export function createBubblewrapBackend(context: BackendContext): SandboxBackend {
  return new BubblewrapBackend(context);
}

class BubblewrapBackend implements SandboxBackend {
  readonly name = "bubblewrap";
  readonly #context: BackendContext;
  readonly #launchers = new Launchers();
  #facts: HostFacts | undefined;
  #runtime: GuestRuntime | undefined;
  readonly #seccomp = new Map<boolean, Promise<Buffer>>();
  readonly #common = new Map<boolean, { readonly runtime: GuestRuntime; readonly arguments: string[] }>();

  constructor(context: BackendContext) {
    this.#context = context;
  }

  probe(options: ProbeOptions = {}): Promise<Probe> {
    return probeHost(this.#host(), options);
  }

  async create(spec: CreateSpec): Promise<Instance> {
    const facts = this.#host();
    if (facts.bubblewrap === undefined) throw missingBubblewrap();
    if (facts.isRoot && spec.directory.owner === undefined) {
      throw new SandboxError("INTERNAL", "Root must give every sandbox a user of its own");
    }
    const cells = spec.cells === true;
    if (cells) assertCellsPossible(spec);
    const runtime = this.#guestRuntime();
    const mount = await prepareWorkspace(spec, this.#imageTools(facts, runtime));
    const cgroup =
      facts.cgroups === undefined ? undefined : SandboxCgroup.create(facts.cgroups, spec.id, spec.limits);
    let launched: Launched | undefined;
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
        ...(mount !== undefined && { mount }),
      });
      const runner = await greetGuest(launched, {
        timeoutMs: START_TIMEOUT_MS,
        signal: spec.signal,
        failed: startFailure(launched, () => isStarting),
      });
      isStarting = false;
      const pid = await launched.pid;
      if (pid === undefined)
        throw new SandboxError("SANDBOX_LOST", "The sandbox ended as soon as it had started");
      // The mount keeps the image; under no name, it cannot be left behind.
      if (mount?.kind === "image" && spec.ephemeral) rmSync(mount.path, { force: true });
      // A mount is in the sandbox's own view only; its outermost process is our way in.
      const hostWorkspace = `${mount === undefined ? "" : `/proc/${pid}/root`}${workspacePath(spec)}`;
      return new BubblewrapInstance(spec.id, launched, runner, cgroup, hostWorkspace, mount !== undefined);
    } catch (error) {
      if (launched !== undefined) await kill(launched);
      await cgroup?.remove();
      throw error;
    }
  }

  async reap(): Promise<number> {
    const { cgroups } = this.#host();
    return cgroups === undefined ? 0 : reapCgroups(cgroups);
  }

  #host(): HostFacts {
    const options = this.#context.options as { path?: string } | undefined;
    this.#facts ??= findHostFacts(options?.path);
    return this.#facts;
  }

  #imageTools(facts: HostFacts, runtime: GuestRuntime): ImageTools | undefined {
    const mke2fs = facts.canMountImages ? findMke2fs() : undefined;
    if (mke2fs === undefined) return undefined;
    return { mke2fs, guest: runtime.guest, cacheDir: join(this.#context.stateDir, "templates") };
  }

  #guestRuntime(): GuestRuntime {
    if (this.#runtime === undefined || !existsSync(this.#runtime.guest)) {
      this.#runtime = installGuestRuntime(this.#context.stateDir);
    }
    return this.#runtime;
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

class BubblewrapInstance implements Instance {
  readonly id: string;
  readonly runner: GuestConnection;
  readonly guestWorkspace = GUEST_WORKSPACE;
  readonly guestRuntime = GUEST_RUNTIME;
  readonly hostWorkspace: string;
  readonly directoryUntouched: boolean;
  readonly baseEnv = BASE_ENV;
  readonly #launched: Launched;
  readonly #cgroup: SandboxCgroup | undefined;
  #destroying: Promise<void> | undefined;

  constructor(
    id: string,
    launched: Launched,
    runner: GuestConnection,
    cgroup: SandboxCgroup | undefined,
    hostWorkspace: string,
    isMounted: boolean,
  ) {
    this.id = id;
    this.runner = runner;
    this.#launched = launched;
    this.#cgroup = cgroup;
    this.hostWorkspace = hostWorkspace;
    this.directoryUntouched = isMounted;
  }

  async memoryKills(): Promise<number | undefined> {
    return this.#cgroup?.memoryKills();
  }

  async usage(): Promise<ResourceUsage | undefined> {
    return this.#cgroup?.usage();
  }

  destroy(): Promise<void> {
    this.#destroying ??= this.#destroy();
    return this.#destroying;
  }

  async #destroy(): Promise<void> {
    this.runner.close();
    await kill(this.#launched);
    await this.#cgroup?.remove();
  }
}

/** Killing the outermost process kills the sandbox's first process, and with it the whole namespace. */
async function kill(launched: Launched): Promise<void> {
  launched.kill();
  await launched.ended;
}

/** Why the sandbox did not start. Later on an end is one like any other, and needs no explanation. */
function startFailure({ ended }: Launched, isStarting: () => boolean): Promise<SandboxError> {
  return new Promise((resolve) => {
    ended.then((ending) => {
      if (isStarting()) resolve(explainFailure(ending.complaints || describe(ending)));
    });
  });
}

function describe({ status }: Ending): string {
  if (status === undefined) return "the launcher ended";
  return status < 0 ? `signal ${-status}` : `status ${status}`;
}

function explainFailure(said: string): SandboxError {
  const namespaces = namespaceProblem();
  if (namespaces !== undefined) {
    return new SandboxError("BACKEND_UNAVAILABLE", `bubblewrap cannot start: ${namespaces.what}`, {
      hint: namespaces.remedy,
      cause: new Error(said),
    });
  }
  if (/unknown option/i.test(said)) {
    return new SandboxError("BACKEND_UNAVAILABLE", "bubblewrap is too old", {
      hint: `Install version ${OLDEST_VERSION} or newer.`,
      cause: new Error(said),
    });
  }
  const message = said.replaceAll(/[^\x20-\x7e]+/g, " ").slice(0, 500);
  return new SandboxError("SANDBOX_START_FAILED", `bubblewrap cannot start: ${message}`, {
    hint: "skerry doctor says what this host lacks.",
  });
}

function missingBubblewrap(): SandboxError {
  return new SandboxError("BACKEND_UNAVAILABLE", "bubblewrap is not installed", {
    hint: "apt-get install bubblewrap, or: skerry doctor --fix",
  });
}

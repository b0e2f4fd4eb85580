import type Docker from "dockerode";
import { SandboxError, toSandboxError } from "../../../kit/errors.js";
import type {
  BackendContext,
  CreateSpec,
  Instance,
  Probe,
  ProbeOptions,
  SandboxBackend,
} from "../backend.js";
import { type GuestRuntime, installGuestRuntime } from "../guest-runtime.js";
import { findHostFacts, type HostFacts } from "../linux/host-facts.js";
import { findImageTools } from "../linux/workspace/workspace-image.js";
import { dropImageName, prepareWorkspace, workspacePath } from "../linux/workspace/workspace-mount.js";
import { checkShare } from "./container/check-share.js";
import { Container } from "./container/container.js";
import type { ContainerPlan, GuestMount } from "./container/container-plan.js";
import { GuestVolumes } from "./container/guest-volume.js";
import { PendingRemovals } from "./container/pending-removals.js";
import { installPodmanFiles } from "./container/podman/podman-files.js";
import { SandboxMounts } from "./container/sandbox-mounts.js";
import { ContainerInstance } from "./container-instance.js";
import { connectDocker, explainDockerFailure, findDocker } from "./daemon/connect.js";
import { type DaemonFacts, readDaemonFacts } from "./daemon/daemon-facts.js";
import { DOCKER_DEFAULTS, type DockerConfig } from "./docker-config.js";
import { findImage, type SandboxImage } from "./images/sandbox-image.js";
import type { KernelRuntime } from "./kernel-runtime.js";
import {
  blockers,
  type ContainerSettings,
  capabilitiesOf,
  isDockerInstalled,
  missingImages,
  ownsUsers,
  sharesFiles,
  weaknesses,
} from "./probe.js";
import { reapContainers } from "./reap/reap.js";

/** Of a container that is elsewhere, or in a user namespace. The image knows it by name. */
const WIRE_USER = { uid: 1000, gid: 1000 };

/** What one backend of containers differs in from the others. */
export interface ContainerBackendKind {
  readonly name: string;
  /** Of the own block, over those of `docker`. */
  readonly defaults?: Partial<DockerConfig>;
  /** Left out: containers share the host's kernel. */
  readonly ownKernel?: KernelRuntime;
}

/** A container around every sandbox, of a daemon that is here or elsewhere. */
export class ContainerBackend implements SandboxBackend {
  readonly name: string;
  readonly #options: ContainerSettings;
  readonly #stateDir: string;
  #client: Promise<Docker> | undefined;
  #facts: DaemonFacts | undefined;
  #host: HostFacts | undefined;
  #runtime: GuestRuntime | undefined;
  #volumes: GuestVolumes | undefined;
  /** The daemon was seen to have the same files under our paths. */
  #isShareChecked = false;
  readonly #pendingRemovals = new PendingRemovals();

  constructor({ stateDir, options }: BackendContext, { name, defaults, ownKernel }: ContainerBackendKind) {
    const given = (options ?? {}) as Partial<DockerConfig>;
    this.name = name;
    this.#stateDir = stateDir;
    this.#options = { ...DOCKER_DEFAULTS, ...defaults, ...given, ownKernel };
  }

  async probe({ thorough = false }: ProbeOptions = {}): Promise<Probe> {
    const host = this.#hostFacts();
    try {
      this.#facts = undefined;
      const facts = await this.#daemon();
      const problems = blockers(this.#options, facts);
      const installed = thorough && facts.isLocal ? await this.#options.ownKernel?.inspect() : undefined;
      return {
        available: problems.length === 0,
        version: [installed?.version, `${facts.name} ${facts.version}`].filter(Boolean).join(", "),
        problems: [
          ...problems,
          ...weaknesses(this.#options, facts, host),
          ...(installed?.problems ?? []),
          ...(thorough ? await missingImages(await this.#docker(), this.#options, facts) : []),
        ],
        capabilities: capabilitiesOf(this.#options, facts, host),
      };
    } catch (error) {
      const { code, message, hint } = explainDockerFailure(error);
      const isInstalled = this.#options.host !== undefined || process.env.DOCKER_HOST || isDockerInstalled();
      const problem = isInstalled
        ? { what: message, remedy: hint ?? "systemctl status docker" }
        : { what: "Docker is not installed", remedy: "apt-get install docker.io" };
      return {
        available: false,
        ...(code === "CONFIG_INVALID" && { code }),
        problems: [problem],
        capabilities: capabilitiesOf(this.#options, undefined, host),
      };
    }
  }

  async create(spec: CreateSpec): Promise<Instance> {
    // A daemon that was away may be back.
    void this.#pendingRemovals.removeAll();
    const docker = await this.#docker();
    const facts = await this.#daemon();
    const image = await findImage(docker, this.#options.image, facts);
    if (!sharesFiles(this.#options, facts, this.#hostFacts().isRoot)) {
      return this.#createOverWire(docker, facts, image, spec);
    }
    const user = this.#userOf(spec);
    const runtime = this.#guestRuntime();
    const mounts = new SandboxMounts(this.#stateDir, spec.id, runtime.guest);
    let container: Container | undefined;
    try {
      const isMounted = await this.#mountWorkspace(mounts, spec);
      const workspace = isMounted ? mounts.workspace : workspacePath(spec);
      // A daemon that sees the one mount sees the other.
      const guest = isMounted ? await mounts.coverGuest(runtime.directory) : runtime.directory;
      container = await Container.start(
        docker,
        {
          ...(await this.#commonPlan(spec, facts, image)),
          user,
          guest: { kind: "directory", path: guest, program: "skerry-guest" },
          workspace,
          files: mounts.writeFiles(user),
        },
        this.#pendingRemovals,
      );
      this.#isShareChecked ||= await checkShare(container.connection, workspace);
      return this.#instance({ docker, spec, container, mounts, image, workspace, isMounted });
    } catch (error) {
      if (container !== undefined) await this.#pendingRemovals.remove(container).catch(() => undefined);
      await this.#pendingRemovals.remove(mounts).catch(() => undefined);
      throw error;
    }
  }

  async recycle(used: Instance, spec: CreateSpec): Promise<Instance> {
    if (!(used instanceof ContainerInstance))
      throw new SandboxError("INTERNAL", "Not a sandbox of this backend");
    // Over the wire only the daemon could say what changed, and a new container takes it less time than that.
    if (used.hostWorkspace === undefined) {
      await used.destroy();
      return this.create(spec);
    }
    try {
      return await this.#reuse(used, spec);
    } catch (error) {
      await used.destroy();
      if (spec.signal?.aborted) throw toSandboxError(error, "CANCELLED");
      return this.create(spec);
    }
  }

  async reap(): Promise<number> {
    const docker = await this.#docker().catch(() => undefined);
    const own = await this.#pendingRemovals.removeAll();
    return own + (await reapContainers(docker, this.#stateDir, () => this.#guestRuntime().guest));
  }

  async #createOverWire(
    docker: Docker,
    facts: DaemonFacts,
    image: SandboxImage,
    spec: CreateSpec,
  ): Promise<Instance> {
    this.#volumes ??= new GuestVolumes(docker, this.#stateDir);
    const start = async (guest: GuestMount) =>
      Container.start(
        docker,
        {
          ...(await this.#commonPlan(spec, facts, image)),
          user: this.#userOverWire(spec, facts),
          guest,
          workspace: undefined,
          files: {},
        },
        this.#pendingRemovals,
      );
    const guest = await this.#volumes.find(image.architecture, image.id);
    const container = await start(guest).catch(async (error: unknown) => {
      // A volume has no guest when its maker was killed before it was full, or when it was removed.
      if (!/no such file or directory|not found/i.test(String(error))) throw error;
      await this.#volumes!.forget(guest, image.architecture);
      return start(await this.#volumes!.find(image.architecture, image.id));
    });
    return this.#instance({
      docker,
      spec,
      container,
      mounts: undefined,
      image,
      workspace: undefined,
      isMounted: true,
    });
  }

  async #reuse(used: ContainerInstance, spec: CreateSpec): Promise<Instance> {
    const { container, mounts } = used.parts;
    const docker = await this.#docker();
    const facts = await this.#daemon();
    const image = await findImage(docker, this.#options.image, facts);
    const { plan } = container;
    const user = mounts === undefined ? this.#userOverWire(spec, facts) : this.#userOf(spec);
    const isSame =
      plan.image === image.id &&
      plan.user.uid === user.uid &&
      plan.user.gid === user.gid &&
      JSON.stringify(Object.entries(plan.spec.limits).sort()) ===
        JSON.stringify(Object.entries(spec.limits).sort());
    if (!isSame) throw new SandboxError("INTERNAL", "The container was made for something else");
    await Promise.all([used.removeCompanions(), container.reset()]);
    if (mounts !== undefined) {
      await mounts.unmount();
      if (!(await this.#mountWorkspace(mounts, spec)))
        throw new SandboxError("INTERNAL", "The workspace is no mount that could be replaced");
    }
    const again = await container.restart({ ...plan, spec });
    used.release();
    const workspace = mounts?.workspace;
    return this.#instance({ docker, spec, container: again, mounts, image, workspace, isMounted: true });
  }

  /** False: the directory as it is. */
  async #mountWorkspace(mounts: SandboxMounts, spec: CreateSpec): Promise<boolean> {
    const tools = findImageTools(this.#hostFacts(), this.#stateDir, () => this.#guestRuntime().guest);
    const mount = await prepareWorkspace(spec, tools);
    if (mount === undefined) return false;
    await mounts.mount(mount, this.#userOf(spec));
    dropImageName(spec, mount);
    return true;
  }

  async #commonPlan(spec: CreateSpec, facts: DaemonFacts, image: SandboxImage) {
    const { ownKernel } = this.#options;
    return {
      spec,
      stateDir: this.#stateDir,
      facts,
      runtime: this.#options.runtime,
      ownKernel: ownKernel && { ...ownKernel, filter: await ownKernel.loadFilter(image.architecture) },
      networkMode: this.#options.networkMode,
      image: image.id,
      imageVolumes: image.volumes,
      ...this.#podmanPlan(facts),
    };
  }

  /** Checked for every container: nothing may have changed what Podman reads. */
  #podmanPlan(facts: DaemonFacts): Pick<ContainerPlan, "podman"> {
    return facts.name === "Podman" ? { podman: installPodmanFiles(this.#stateDir) } : {};
  }

  #instance(made: {
    readonly docker: Docker;
    readonly spec: CreateSpec;
    readonly container: Container;
    readonly mounts: SandboxMounts | undefined;
    readonly image: SandboxImage;
    readonly workspace: string | undefined;
    readonly isMounted: boolean;
  }): ContainerInstance {
    const { plan } = made.container;
    return new ContainerInstance({
      spec: made.spec,
      container: made.container,
      mounts: made.mounts,
      hostWorkspace: made.workspace,
      directoryUntouched: made.isMounted,
      path: made.image.path,
      image: this.#options.image,
      companionImage: (language) => {
        const own = Object.hasOwn(this.#options.images, language)
          ? this.#options.images[language]
          : undefined;
        return own === this.#options.image ? undefined : own;
      },
      pendingRemovals: this.#pendingRemovals,
      startCompanion: (image) => this.#startCompanion(made.docker, plan, image),
    });
  }

  async #startCompanion(docker: Docker, plan: ContainerPlan, name: string): Promise<Container> {
    if (plan.workspace === undefined) {
      throw new SandboxError("UNSUPPORTED", "Over the wire all languages run in the sandbox's one image", {
        hint: "Use an image with all of them (backends.docker.image), or a local daemon as root.",
      });
    }
    const { signal: _, ...spec } = plan.spec;
    const image = await findImage(docker, name, plan.facts);
    return Container.start(
      docker,
      {
        ...plan,
        spec,
        image: image.id,
        imageVolumes: image.volumes,
        part: name,
        ...this.#podmanPlan(plan.facts),
      },
      this.#pendingRemovals,
    );
  }

  #userOf({ directory }: CreateSpec): { uid: number; gid: number } {
    const user = directory.owner ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    if (user.uid === 0) throw new SandboxError("INTERNAL", "Root must give every sandbox a user of its own");
    return user;
  }

  /** Where containers are processes of this host, uid 1000 may be a user here, who could look into them. */
  #userOverWire(spec: CreateSpec, facts: DaemonFacts): { uid: number; gid: number } {
    return ownsUsers(facts, this.#hostFacts().isRoot) ? (spec.directory.owner ?? WIRE_USER) : WIRE_USER;
  }

  #docker(): Promise<Docker> {
    this.#client ??= connectDocker({ host: this.#options.host });
    this.#client.catch(() => {
      this.#client = undefined;
    });
    return this.#client;
  }

  async #daemon(): Promise<DaemonFacts> {
    this.#facts ??= await readDaemonFacts(
      await this.#docker(),
      findDocker({ host: this.#options.host }).local,
    );
    return this.#facts;
  }

  #hostFacts(): HostFacts {
    this.#host ??= findHostFacts(undefined);
    return this.#host;
  }

  #guestRuntime(): GuestRuntime {
    this.#runtime = installGuestRuntime(this.#stateDir, this.#runtime);
    return this.#runtime;
  }
}

import { SandboxError, toSandboxError } from "../../../kit/errors.js";
import type { Runner } from "../../wire/index.js";
import type { CreateSpec, Instance, ResourceUsage } from "../backend.js";
import { BASE_ENV, GUEST_RUNTIME, GUEST_WORKSPACE } from "../linux/guest-layout.js";
import type { Container } from "./container/container.js";
import type { PendingRemovals } from "./container/pending-removals.js";
import { RoutedRunner } from "./container/routed-runner.js";
import type { SandboxMounts } from "./container/sandbox-mounts.js";

export interface ContainerInstanceParts {
  readonly spec: CreateSpec;
  readonly container: Container;
  /** Undefined: nothing of it is on this host. */
  readonly mounts: SandboxMounts | undefined;
  readonly hostWorkspace: string | undefined;
  /** Nothing inside could write to the session's directory. */
  readonly directoryUntouched: boolean;
  /** As the image has it. */
  readonly path: string | undefined;
  /** The name of the sandbox's own image. */
  readonly image: string;
  /** The image of a language, where that is not the sandbox's own. */
  companionImage(language: string): string | undefined;
  startCompanion(image: string): Promise<Container>;
  /** What cannot be removed is tried again from there. */
  readonly pendingRemovals: PendingRemovals;
}

/** A sandbox in a container, and in one more for each language that has an image of its own. */
export class ContainerInstance implements Instance {
  readonly id: string;
  readonly guestWorkspace = GUEST_WORKSPACE;
  readonly guestRuntime = GUEST_RUNTIME;
  readonly hostWorkspace: string | undefined;
  readonly directoryUntouched: boolean;
  readonly baseEnv: Readonly<Record<string, string>>;
  readonly parts: ContainerInstanceParts;
  readonly #runner: RoutedRunner;
  /** By image. */
  readonly #companions = new Map<string, Promise<Container>>();
  /** By language. */
  readonly #prepared = new Map<string, Promise<void>>();
  #hasEnded = false;
  #ending: Promise<void> | undefined;

  constructor(parts: ContainerInstanceParts) {
    this.id = parts.spec.id;
    this.parts = parts;
    this.hostWorkspace = parts.hostWorkspace;
    this.directoryUntouched = parts.directoryUntouched;
    this.baseEnv = { ...BASE_ENV, ...(parts.path !== undefined && { PATH: parts.path }) };
    this.#runner = new RoutedRunner(parts.container.connection);
  }

  get runner(): Runner {
    return this.#runner;
  }

  prepareLanguage(language: string): Promise<void> {
    const image = this.parts.companionImage(language);
    if (image === undefined) return Promise.resolve();
    let preparing = this.#prepared.get(language);
    if (preparing === undefined) {
      preparing = this.#addCompanion(language, image);
      this.#prepared.set(language, preparing);
      preparing.catch(() => this.#prepared.delete(language));
    }
    return preparing;
  }

  imageOf(language?: string): string {
    const own = language === undefined ? undefined : this.parts.companionImage(language);
    return own ?? this.parts.image;
  }

  async #addCompanion(language: string, image: string): Promise<void> {
    let starting = this.#companions.get(image);
    if (starting === undefined) {
      starting = this.parts.startCompanion(image);
      this.#companions.set(image, starting);
      starting.catch(() => this.#companions.delete(image));
    }
    const companion = await starting;
    // Stopped in the meantime: the stop waits for this container and removes it.
    if (!this.#hasEnded) await this.#runner.add(language, companion.connection);
  }

  async memoryKills(wasKilled = false): Promise<number | undefined> {
    const counts = await Promise.all((await this.#containers()).map((each) => each.memoryKills(wasKilled)));
    return counts.reduce(
      (sum, count) => (sum === undefined || count === undefined ? undefined : sum + count),
      0,
    );
  }

  async usage(): Promise<ResourceUsage | undefined> {
    const [first, ...others] = await Promise.all((await this.#containers()).map((each) => each.usage()));
    return others.reduce(
      (sum, each) => (sum === undefined || each === undefined ? sum : add(sum, each)),
      first,
    );
  }

  /** Rejects when something is left; the next call tries again. */
  destroy(): Promise<void> {
    this.#ending ??= this.#destroy().catch((error: unknown) => {
      this.#ending = undefined;
      throw error;
    });
    return this.#ending;
  }

  /** Its container is another sandbox's from now on. */
  release(): void {
    this.#hasEnded = true;
    this.#ending ??= Promise.resolve();
  }

  async #destroy(): Promise<void> {
    this.#hasEnded = true;
    this.#runner.close();
    const { pendingRemovals, mounts } = this.parts;
    const containers = (await this.#containers()).map((each) => pendingRemovals.remove(each));
    const outcomes = await Promise.allSettled(containers);
    if (mounts !== undefined) outcomes.push(...(await Promise.allSettled([pendingRemovals.remove(mounts)])));
    const failures = outcomes.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    if (failures.length > 0) throw left(failures);
  }

  async removeCompanions(): Promise<void> {
    const [, ...companions] = await this.#containers();
    await Promise.all(companions.map((each) => this.parts.pendingRemovals.remove(each)));
  }

  async #containers(): Promise<Container[]> {
    if (this.#companions.size === 0) return [this.parts.container];
    const companions = await Promise.allSettled(this.#companions.values());
    const running = companions.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    return [this.parts.container, ...running];
  }
}

function left(failures: readonly unknown[]): SandboxError {
  const { message } = toSandboxError(failures[0]);
  return new SandboxError("BACKEND_UNAVAILABLE", `Something of the sandbox is left: ${message}`, {
    hint: "It is tried again with the next sandbox, and by the next process with the same state directory.",
    cause: failures.length === 1 ? failures[0] : new AggregateError(failures),
  });
}

/** Containers have limits of their own, so of several the sum counts. */
function add(one: ResourceUsage, other: ResourceUsage): ResourceUsage {
  const sum = (key: keyof ResourceUsage) => {
    const [a, b] = [one[key], other[key]];
    return a === undefined || b === undefined ? {} : { [key]: a + b };
  };
  return {
    cpuTimeMs: one.cpuTimeMs + other.cpuTimeMs,
    memoryBytes: one.memoryBytes + other.memoryBytes,
    ...sum("memoryLimitBytes"),
    ...sum("pids"),
    ...sum("pidsLimit"),
    ...sum("cpus"),
  };
}

import { EventEmitter } from "node:events";
import { availableParallelism } from "node:os";
import { SandboxError } from "../../kit/errors.js";
import type { ResourceUsage } from "../../runtime/backends/index.js";
import { AlertTrigger } from "./alert-trigger.js";
import type { AlertResource } from "./labels.js";
import type { Metrics } from "./metrics.js";

/** What a monitor needs of a sandbox; `Sandbox` is one. */
export interface Watched {
  readonly id: string;
  usage(): Promise<ResourceUsage | undefined>;
}

/** What a sandbox used when it was last looked at. */
export interface SandboxSample extends ResourceUsage {
  readonly sandboxId: string;
  readonly at: Date;
  /** Of its CPU allowance since the sample before; undefined in the first one. */
  readonly cpuPercent?: number;
  /** Of its limit; undefined without one. */
  readonly memoryPercent?: number;
  /** What it is above the threshold of. */
  readonly alerts: readonly AlertResource[];
}

export interface ResourceAlert {
  readonly sandboxId: string;
  readonly resource: AlertResource;
  readonly percent: number;
  readonly threshold: number;
  readonly at: Date;
  readonly sample: SandboxSample;
}

export interface AlertThresholds {
  /** Of the sandbox's allowance; 80 if left out. */
  readonly cpuPercent?: number;
  /** For so many samples in a row; 3 if left out. */
  readonly cpuSamples?: number;
  /** Of its limit; 90 if left out. */
  readonly memoryPercent?: number;
  /** An alert is over so many points below its threshold; 10 if left out. */
  readonly marginPercent?: number;
}

export interface SandboxMonitorOptions {
  /** Left out: nothing is counted. */
  readonly metrics?: Pick<Metrics, "setSandboxUsage" | "removeSandbox" | "recordAlert">;
  /** 2000 if left out. */
  readonly intervalMs?: number;
  readonly thresholds?: AlertThresholds;
  /** Called for every alert; what it throws becomes a warning of the process. */
  readonly onAlert?: (alert: ResourceAlert) => unknown;
}

interface Entry {
  readonly watched: Watched;
  readonly cpu: AlertTrigger;
  readonly memory: AlertTrigger;
  /** Where the CPU time of the next sample is counted from. */
  base: { readonly atMs: number; readonly cpuTimeMs: number } | undefined;
  last: SandboxSample | undefined;
  sampling: Promise<SandboxSample | undefined> | undefined;
}

/** CPU time is counted in steps of up to 10 ms: over less than this a percentage says nothing. */
const SHORTEST_SPAN_MS = 100;

/** Looks at every watched sandbox at an interval, and tells when one comes near its limits. */
export class SandboxMonitor extends EventEmitter<{ alert: [ResourceAlert]; sample: [SandboxSample] }> {
  readonly #options: SandboxMonitorOptions;
  readonly #intervalMs: number;
  readonly #thresholds: Required<AlertThresholds>;
  readonly #entries = new Map<string, Entry>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SandboxMonitorOptions = {}) {
    super();
    this.#options = options;
    this.#intervalMs = options.intervalMs ?? 2000;
    this.#thresholds = {
      cpuPercent: options.thresholds?.cpuPercent ?? 80,
      cpuSamples: options.thresholds?.cpuSamples ?? 3,
      memoryPercent: options.thresholds?.memoryPercent ?? 90,
      marginPercent: options.thresholds?.marginPercent ?? 10,
    };
    for (const [name, value] of Object.entries({ intervalMs: this.#intervalMs, ...this.#thresholds })) {
      if (value > 0 && value <= 2 ** 31 - 1) continue;
      throw new SandboxError("INVALID_ARGUMENT", `${name} must be a number above zero, not ${value}`, {
        hint: "Leave it out for the default.",
      });
    }
  }

  /** Looks at a sandbox from now on; the function returned ends that, and its series with it. Keeps no process alive. */
  watch(watched: Watched): () => void {
    const { cpuPercent, cpuSamples, memoryPercent, marginPercent: margin } = this.#thresholds;
    const entry: Entry = {
      watched,
      cpu: new AlertTrigger({ threshold: cpuPercent, samples: cpuSamples, margin }),
      memory: new AlertTrigger({ threshold: memoryPercent, samples: 1, margin }),
      base: undefined,
      last: undefined,
      sampling: undefined,
    };
    this.#entries.set(watched.id, entry);
    this.#timer ??= setInterval(() => this.#sampleAll(), this.#intervalMs).unref();
    return () => this.#forget(entry);
  }

  /** Looks at one sandbox now; undefined when nothing can be told of it, or it is not watched. */
  async sample(id: string): Promise<SandboxSample | undefined> {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    // One look at a time: a backend that does not answer is not asked again and again.
    entry.sampling ??= this.#sample(entry).finally(() => {
      entry.sampling = undefined;
    });
    return entry.sampling;
  }

  /** The last sample of every sandbox that has one. */
  snapshot(): readonly SandboxSample[] {
    return [...this.#entries.values()].flatMap(({ last }) => last ?? []);
  }

  /** Ends watching all of them. */
  close(): void {
    for (const entry of this.#entries.values()) this.#forget(entry);
  }

  #forget(entry: Entry): void {
    const { id } = entry.watched;
    if (this.#entries.get(id) !== entry) return;
    this.#entries.delete(id);
    this.#options.metrics?.removeSandbox(id);
    if (this.#entries.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #sampleAll(): void {
    for (const id of this.#entries.keys()) void this.sample(id);
  }

  async #sample(entry: Entry): Promise<SandboxSample | undefined> {
    const usage = await this.#usageOf(entry);
    // It may have ended while we looked.
    if (this.#entries.get(entry.watched.id) !== entry) return undefined;
    if (usage === undefined) {
      entry.last = undefined;
      return undefined;
    }
    const { cpuPercent, isNew } = cpuPercentOf(entry, usage);
    // A limit of nothing is none.
    const memoryPercent = usage.memoryLimitBytes
      ? (100 * usage.memoryBytes) / usage.memoryLimitBytes
      : undefined;
    const begun: [AlertResource, number, number][] = [];
    if (cpuPercent !== undefined && isNew && entry.cpu.add(cpuPercent)) {
      begun.push(["cpu", cpuPercent, this.#thresholds.cpuPercent]);
    }
    if (memoryPercent !== undefined && entry.memory.add(memoryPercent)) {
      begun.push(["memory", memoryPercent, this.#thresholds.memoryPercent]);
    }
    const sample: SandboxSample = {
      ...usage,
      sandboxId: entry.watched.id,
      at: new Date(),
      ...(cpuPercent !== undefined && { cpuPercent }),
      ...(memoryPercent !== undefined && { memoryPercent }),
      alerts: (["cpu", "memory"] as const).filter((resource) => entry[resource].isActive),
    };
    entry.last = sample;
    this.#options.metrics?.setSandboxUsage(sample.sandboxId, usage);
    tell(() => this.emit("sample", sample));
    for (const [resource, percent, threshold] of begun) {
      this.#alert({ sandboxId: sample.sandboxId, resource, percent, threshold, at: sample.at, sample });
    }
    return sample;
  }

  #alert(alert: ResourceAlert): void {
    this.#options.metrics?.recordAlert(alert.resource);
    tell(() => this.#options.onAlert?.(alert));
    tell(() => this.emit("alert", alert));
  }

  /** What a backend says, if it is something that can be counted with. */
  async #usageOf({ watched }: Entry): Promise<ResourceUsage | undefined> {
    try {
      const usage = await watched.usage();
      if (usage === undefined) return undefined;
      const numbers = Object.values(usage).filter((value) => value !== undefined);
      return numbers.every((value) => Number.isFinite(value) && value >= 0) ? usage : undefined;
    } catch {
      return undefined;
    }
  }
}

/** Of the allowance, since the base; the base moves on when that is far enough back. */
function cpuPercentOf(entry: Entry, usage: ResourceUsage): { cpuPercent?: number; isNew: boolean } {
  const now = { atMs: performance.now(), cpuTimeMs: usage.cpuTimeMs };
  const { base, last } = entry;
  if (base !== undefined && now.atMs - base.atMs < SHORTEST_SPAN_MS) {
    return { ...(last?.cpuPercent !== undefined && { cpuPercent: last.cpuPercent }), isNew: false };
  }
  entry.base = now;
  if (base === undefined) return { isNew: false };
  const allowance = usage.cpus || availableParallelism();
  const spentMs = Math.max(0, now.cpuTimeMs - base.cpuTimeMs);
  return { cpuPercent: (100 * spentMs) / ((now.atMs - base.atMs) * allowance), isNew: true };
}

/** A listener's error becomes a warning; it does not end the watch. */
function tell(call: () => unknown): void {
  const warn = (error: unknown) => {
    process.emitWarning(`A listener of the sandbox monitor failed: ${String(error)}`);
  };
  try {
    Promise.resolve(call()).catch(warn);
  } catch (error) {
    warn(error);
  }
}

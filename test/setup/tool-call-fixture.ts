import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { SandboxManager, type SandboxManagerOptions } from "../../src/core/manager/index.js";
import { createMetrics, type Metrics } from "../../src/core/metrics/index.js";
import {
  AuditLogger,
  type AuditLoggerOptions,
  type AuditRecord,
  verifyAudit,
} from "../../src/guard/audit/index.js";
import { parsePolicy } from "../../src/guard/policy/index.js";
import { systemCode } from "../../src/kit/errors.js";
import { processLabel } from "../../src/kit/process-label.js";
import type { BackendFactory } from "../../src/runtime/backends/backend.js";
import { findCgroupBase } from "../../src/runtime/backends/linux/cgroup/cgroup-base.js";
import { registerBackend } from "../../src/runtime/backends/registry.js";
import { createSubprocessBackend } from "../../src/runtime/backends/subprocess/backend.js";
import { cleanUp, temporaryDirectory } from "./clean-up.js";

/** What the backend named "faulty" does wrong. It is the real subprocess one, and says that it isolates. */
export const faults = { create: false, destroy: false };

const createFaulty: BackendFactory = (context) => {
  const real = createSubprocessBackend(context);
  return {
    name: "faulty",
    probe: async () => {
      const probe = await real.probe();
      return { ...probe, capabilities: { ...probe.capabilities, isolates: true, network: "none" } };
    },
    reap: async () => 0,
    async create(spec) {
      if (faults.create) throw new Error("the walls fell down");
      const instance = await real.create(spec);
      const fails = faults.destroy;
      return {
        id: instance.id,
        runner: instance.runner,
        guestWorkspace: instance.guestWorkspace,
        hostWorkspace: instance.hostWorkspace,
        guestRuntime: instance.guestRuntime,
        baseEnv: instance.baseEnv,
        memoryKills: () => instance.memoryKills(),
        async destroy() {
          await instance.destroy();
          if (fails) throw new Error("it does not want to go");
        },
      };
    },
  };
};

registerBackend("faulty", createFaulty);

/** Everything that a tool call touches on a host of its own: state, log, metrics, managers. */
export class ToolCallFixture {
  readonly stateDir: string;
  readonly metrics: Metrics;
  readonly audit: AuditLogger;
  readonly #managers: SandboxManager[] = [];

  private constructor(metrics: Metrics, audit: Partial<AuditLoggerOptions>) {
    this.stateDir = temporaryDirectory();
    this.metrics = metrics;
    this.audit = new AuditLogger({ directory: this.auditDir, ...audit });
    Object.assign(faults, { create: false, destroy: false });
  }

  static async open(audit: Partial<AuditLoggerOptions> = {}): Promise<ToolCallFixture> {
    const fixture = new ToolCallFixture(await createMetrics(), audit);
    cleanUp(() => fixture.close());
    return fixture;
  }

  get auditDir(): string {
    return join(this.stateDir, "audit");
  }

  /** A manager with this log and these metrics; `policy` is YAML. */
  manager({
    policy,
    ...options
  }: Omit<SandboxManagerOptions, "policy"> & { policy?: string } = {}): SandboxManager {
    const { stateDir, audit, metrics } = this;
    const manager = new SandboxManager({
      stateDir,
      audit,
      metrics,
      handleSignals: false,
      ...(policy !== undefined && { policy: parsePolicy(policy, "policy.yaml") }),
      ...options,
    });
    this.#managers.push(manager);
    return manager;
  }

  /** Every record of that kind, oldest first; the chain around them is whole. */
  async records(eventType = "sandbox_execution"): Promise<AuditRecord[]> {
    await this.audit.flush();
    expect((await verifyAudit(this.auditDir)).ok).toBe(true);
    return readdirSync(this.auditDir)
      .filter((name) => name.endsWith(".jsonl"))
      .sort()
      .flatMap((name) => readFileSync(join(this.auditDir, name), "utf8").trim().split("\n"))
      .map((line) => JSON.parse(line) as AuditRecord)
      .filter(({ event_type }) => event_type === eventType);
  }

  /** The one record of the one call that a test made. */
  async onlyRecord(): Promise<AuditRecord> {
    const records = await this.records();
    expect(records).toHaveLength(1);
    return records[0]!;
  }

  /** What was counted of executions and violations, without the common part of the names. */
  async counted(): Promise<string[]> {
    return (await this.metrics.text()).split("\n").flatMap((line) => {
      const match = /^sandbox_(executions|policy_violations)_total(\{.*)$/.exec(line);
      return match === null ? [] : `${match[1]}${match[2]}`;
    });
  }

  /** Closes the manager and finds nothing of the call: no directory, no open attempt, no group. */
  async expectNothingLeft(manager: SandboxManager, sandboxId?: string | null): Promise<void> {
    await manager.close().catch(() => undefined);
    // An attempt is closed once its record is safe on disk.
    await this.audit.flush();
    const ephemeral = join(this.stateDir, "ephemeral");
    expect(existsSync(ephemeral) ? readdirSync(ephemeral) : []).toEqual([]);
    expect(this.openAttempts()).toEqual([]);
    if (sandboxId) expect(groupsOf(sandboxId).filter((path) => existsSync(path))).toEqual([]);
  }

  /** Journals with an attempt that has no record yet. */
  openAttempts(): string[] {
    const pending = join(this.auditDir, "pending");
    if (!existsSync(pending)) return [];
    return readdirSync(pending).filter((name) => statSync(join(pending, name)).size > 0);
  }

  async close(): Promise<void> {
    Object.assign(faults, { create: false, destroy: false });
    await Promise.allSettled(this.#managers.map((manager) => manager.close()));
    await this.audit.close().catch(() => undefined);
  }
}

/** A file of a sandbox's group as the host sees it; where two are named, the second is cgroup version 2's. */
export function readGroupFile(
  controller: "memory" | "cpu",
  sandboxId: string,
  [v1, v2]: readonly [string, string],
): string {
  const base = findCgroupBase()!;
  const directory = join(base.directories.get(controller)!, `skerry-${processLabel(sandboxId)}`);
  return readFileSync(join(directory, base.version === 1 ? v1 : v2), "utf8").trim();
}

/** Kills every process of a sandbox from outside, as the kernel or an administrator might. */
export function killFromHost(sandboxId: string): void {
  const pids =
    readGroupFile("memory", sandboxId, ["cgroup.procs", "cgroup.procs"]).match(/^[1-9]\d*$/gm) ?? [];
  // Stopped first: none of them lives to tell of another's end.
  for (const signal of ["SIGSTOP", "SIGKILL"] as const) {
    for (const pid of pids) {
      try {
        process.kill(Number(pid), signal);
      } catch (error) {
        // The first process of a namespace takes the others with it.
        if (systemCode(error) !== "ESRCH") throw error;
      }
    }
  }
}

function groupsOf(sandboxId: string): string[] {
  const base = findCgroupBase();
  return [...(base?.directories.values() ?? [])].map((parent) =>
    join(parent, `skerry-${processLabel(sandboxId)}`),
  );
}

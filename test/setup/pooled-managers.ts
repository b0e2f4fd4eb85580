import { readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeEach } from "vitest";
import { SandboxManager, type SandboxManagerOptions } from "../../src/core/manager/index.js";
import { waitUntil } from "../../src/kit/wait-until.js";
import type { BackendFactory, CreateSpec, Instance } from "../../src/runtime/backends/backend.js";
import { createBubblewrapBackend } from "../../src/runtime/backends/bubblewrap/backend.js";
import { registerBackend } from "../../src/runtime/backends/registry.js";
import { PoolManager, type PoolOptions } from "../../src/runtime/pool/index.js";
import { cleanUp, temporaryDirectory } from "./clean-up.js";

/** Real bubblewrap; what it started can be seen, and a start can be made to fail. */
export const seen = { instances: [] as Instance[], specs: [] as CreateSpec[], faults: 0 };
const createWatched =
  (name: string, recycles: boolean): BackendFactory =>
  (context) => {
    const real = createBubblewrapBackend(context);
    const create = async (spec: CreateSpec) => {
      if (seen.faults-- > 0) throw new Error("no luck");
      const instance = await real.create(spec);
      seen.instances.push(instance);
      seen.specs.push(spec);
      return instance;
    };
    return {
      name,
      probe: (options) => real.probe(options),
      reap: () => real.reap(),
      create,
      ...(recycles && {
        async recycle(used: Instance, spec: CreateSpec) {
          await used.destroy();
          return create(spec);
        },
      }),
    };
  };
registerBackend("watched", createWatched("watched", false));
registerBackend("recycling", createWatched("recycling", true));

export const PRINT = { language: "python", code: "print(1)" };
export let stateDir: string;

/** Every test of the file has a state directory of its own. */
export function usePools(): void {
  beforeEach(() => {
    stateDir = temporaryDirectory();
    Object.assign(seen, { instances: [], specs: [], faults: 0 });
  });
}

export function open(options: PoolOptions = {}, more: SandboxManagerOptions = {}) {
  const pool = new PoolManager({ backend: "watched", minInstances: 1, maxInstances: 4, ...options });
  return { pool, manager: openManager({ pool, ...more }) };
}

export function openManager(options: SandboxManagerOptions): SandboxManager {
  const manager = new SandboxManager({ stateDir, handleSignals: false, ...options });
  cleanUp(() => manager.close().catch(() => undefined));
  return manager;
}

export async function ready(pool: PoolManager, idle = 1): Promise<void> {
  await waitUntil(() => pool.status().idle >= idle, 20_000);
}

export const left = (folder: string) => readdirSync(join(stateDir, folder));

import { mkdtempSync } from "node:fs";
import { chmod, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BackendFactory, Capabilities, Probe } from "../../runtime/backends/index.js";
import { backendOptions, getBackend, listBackends, registerBackend } from "../../runtime/backends/index.js";
import { type Config, DEFAULT_CONFIG } from "../config/index.js";
import { SandboxManager } from "../manager/index.js";
import { behaviourCases } from "./behaviour-cases.js";
import type { ConformanceCase } from "./conformance-case.js";
import { contextCases } from "./context-cases.js";
import { fileCases } from "./file-cases.js";
import { isolationCases } from "./isolation-cases.js";
import { lifecycleCases } from "./lifecycle-cases.js";
import { limitCases } from "./limit-cases.js";

export interface ConformanceOptions {
  /** A name of the registry, or one for the factory below. */
  readonly name: string;
  readonly factory?: BackendFactory;
  /**
   * A module whose default export is that factory, by URL. Needed only for the test that kills the host process;
   * built-in backends need none.
   */
  readonly module?: string;
  /** What the backend is configured with, from `parseConfig`. Left out: the defaults. */
  readonly config?: Config;
}

/** One promise of the interface. Works with any test runner: `it(test.title, test.run)`. */
export interface ConformanceTest {
  readonly title: string;
  /** Why it does not apply to this backend on this host. */
  readonly skip?: string;
  run(): Promise<void>;
}

const CASES: readonly ConformanceCase[] = [
  ...behaviourCases,
  ...contextCases,
  ...fileCases,
  ...limitCases,
  ...isolationCases,
  ...lifecycleCases,
];

/** The tests that a backend must pass: exactly for what its probe claims on this host. */
export async function loadConformanceSuite(options: ConformanceOptions): Promise<ConformanceTest[]> {
  if (options.factory !== undefined && !listBackends().includes(options.name)) {
    registerBackend(options.name, options.factory);
  }
  const { available, capabilities, problems } = await probe(options);
  return CASES.map((each) => ({
    title: each.title,
    ...(!available && { skip: `${options.name} is not available: ${problems[0]?.what ?? "unknown"}` }),
    ...(available &&
      each.needs?.(capabilities) === false && { skip: `${options.name} does not claim it here` }),
    run: () => runCase(each, options, capabilities),
  }));
}

/** A backend tries itself in its state directory, which no other user may have made. */
async function probe({ name, config = DEFAULT_CONFIG }: ConformanceOptions): Promise<Probe> {
  const stateDir = await createStateDirectory();
  try {
    const backend = await getBackend(name, {
      stateDir,
      options: backendOptions(name, config.sandbox.backends),
    });
    return await backend.probe();
  } finally {
    await rm(stateDir, { recursive: true, force: true });
  }
}

/** Sandboxes have users of their own, who go through it. */
async function createStateDirectory(): Promise<string> {
  const stateDir = mkdtempSync(join(tmpdir(), "skerry-conformance-"));
  await chmod(stateDir, 0o711);
  return stateDir;
}

async function runCase(
  each: ConformanceCase,
  options: ConformanceOptions,
  capabilities: Capabilities,
): Promise<void> {
  const stateDir = await createStateDirectory();
  const config = options.config ?? DEFAULT_CONFIG;
  const manager = new SandboxManager({ config, backend: options.name, stateDir, handleSignals: false });
  let count = 0;
  try {
    await each.run({
      backend: options.name,
      capabilities,
      stateDir,
      module: options.module,
      config,
      manager,
      createSandbox: (limits) =>
        manager.startSandbox(`case-${++count}`, { ephemeral: true, ...(limits !== undefined && { limits }) }),
    });
  } finally {
    await manager.close();
    await rm(stateDir, { recursive: true, force: true });
  }
}

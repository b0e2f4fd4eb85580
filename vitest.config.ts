import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { SlowFirst } from "./test/setup/slow-first.js";

export default defineConfig({
  test: {
    environment: "node",
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "bench/**/*.test.ts"],
    pool: "forks",
    // Tests of sandboxes wait as much as they work.
    maxWorkers: Math.ceil(availableParallelism() * 2),
    sequence: { sequencer: SlowFirst },
    // How long something may take on a machine that is busy with other things, too: none of it is a figure we claim.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    teardownTimeout: 60_000,
    expect: { poll: { timeout: 60_000 } },
    globalSetup: ["test/setup/leak-check.ts", "test/setup/container-daemons.ts"],
    runner: "./test/setup/second-try.ts",
    setupFiles: ["test/setup/property-seed.ts"],
    reporters: ["default", "./test/setup/count-reporter.ts"],
  },
});

import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { SlowFirst } from "./test/setup/slow-first.js";

export default defineConfig({
  test: {
    environment: "node",
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "bench/**/*.test.ts"],
    pool: "forks",
    // Tests of sandboxes wait as much as they work.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    sequence: { sequencer: SlowFirst },
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 30_000,
    globalSetup: ["test/setup/leak-check.ts", "test/setup/container-daemons.ts"],
    setupFiles: ["test/setup/property-seed.ts"],
    reporters: ["default", "./test/setup/count-reporter.ts"],
  },
});

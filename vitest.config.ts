import { availableParallelism } from "node:os";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { findLoners } from "./test/setup/loners.js";
import { SlowFirst } from "./test/setup/slow-first.js";

// Tests of sandboxes wait as much as they work.
const maxWorkers = Math.ceil(availableParallelism() * 2);

const COMMON = {
  environment: "node",
  pool: "forks",
  maxWorkers,
  // How long something may take on a machine that is busy with other things, too: none of it is a figure we claim.
  testTimeout: 180_000,
  hookTimeout: 180_000,
  expect: { poll: { timeout: 60_000 } },
  runner: "./test/setup/second-try.ts",
  setupFiles: ["test/setup/property-seed.ts"],
} satisfies TestProjectInlineConfiguration["test"];

const loners = findLoners("src");

export default defineConfig({
  test: {
    maxWorkers,
    sequence: { sequencer: SlowFirst },
    teardownTimeout: 60_000,
    globalSetup: ["test/setup/leak-check.ts", "test/setup/container-daemons.ts"],
    reporters: ["default", "./test/setup/count-reporter.ts"],
    projects: [
      // Each file in a process of its own.
      { test: { ...COMMON, name: "alone", include: ["test/**/*.test.ts", ...loners] } },
      // File after file in the same processes: to load everything for each of them took a third of all the time.
      {
        test: {
          ...COMMON,
          name: "together",
          isolate: false,
          include: ["src/**/*.test.ts", "bench/**/*.test.ts"],
          exclude: loners,
        },
      },
    ],
  },
});

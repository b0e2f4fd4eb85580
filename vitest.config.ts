import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { SlowestFirst } from "./test/setup/slowest-first.js";
import { readSuite, testFilesOf } from "./test/setup/suites.js";

// Tests of sandboxes wait as much as they work.
const maxWorkers = Math.ceil(availableParallelism() * 2);

/** The sources, so that no test runs a build that is not current. */
const alias = {
  "@skerry/client": fileURLToPath(new URL("packages/client/src/index.ts", import.meta.url)),
  "skerry/tools": fileURLToPath(new URL("src/tools.ts", import.meta.url)),
};

const COMMON = {
  environment: "node",
  pool: "forks",
  maxWorkers,
  // How long something may take on a machine that is busy with other things, too: none of it is a figure we claim.
  testTimeout: 180_000,
  hookTimeout: 600_000,
  expect: { poll: { timeout: 60_000 } },
  runner: "./test/setup/quarantine.ts",
  setupFiles: ["test/setup/property-seed.ts", "test/setup/clean-up-files.ts"],
} satisfies TestProjectInlineConfiguration["test"];

const { alone, together } = testFilesOf(readSuite());

export default defineConfig({
  test: {
    maxWorkers,
    sequence: { sequencer: SlowestFirst },
    teardownTimeout: 60_000,
    globalSetup: ["test/setup/leak-check.ts", "test/setup/container-daemons.ts"],
    reporters: ["default", "./test/setup/count-reporter.ts"],
    projects: [
      // Each file in a process of its own.
      { resolve: { alias }, test: { ...COMMON, name: "alone", include: alone } },
      // File after file in the same processes: to load everything for each of them took a third of all the time.
      { resolve: { alias }, test: { ...COMMON, name: "together", isolate: false, include: together } },
    ],
  },
});

import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "node",
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "bench/**/*.test.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 30_000,
    globalSetup: ["test/setup/leak-check.ts", "test/setup/docker-daemon.ts"],
    setupFiles: ["test/setup/property-seed.ts"],
    reporters: ["default", "./test/setup/count-reporter.ts"],
  },
});

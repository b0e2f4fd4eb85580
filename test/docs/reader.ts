import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll } from "vitest";
import { temporaryDirectory } from "../setup/clean-up.js";
import { DOCKER_START_MS, startDocker } from "../setup/docker.js";
import { ROOT } from "./documents.js";

/** Where the reader tries the examples. */
export let directory: string;
export let environment: Record<string, string>;

/** The examples of the file are run in one place, which is gone at its end. */
export function useReader(): void {
  beforeAll(() => {
    directory = temporaryDirectory();
    // The sandboxes' own users must be able to pass through.
    environment = {
      PATH: process.env.PATH ?? "/usr/bin:/bin",
      HOME: directory,
      SKERRY_STATE_DIR: join(directory, "state"),
    };
    for (const scope of ["@types", "@skerry"])
      mkdirSync(join(directory, "node_modules", scope), { recursive: true });
    for (const [name, target] of [
      ["examples", "examples"],
      ["README.md", "README.md"],
      ["node_modules/skerry", "."],
      ["node_modules/@skerry/client", "packages/client"],
      ["node_modules/vitest", "node_modules/vitest"],
      ["node_modules/zod", "node_modules/zod"],
      ["node_modules/@modelcontextprotocol", "node_modules/@modelcontextprotocol"],
      ["node_modules/@types/node", "node_modules/@types/node"],
    ] as const) {
      symlinkSync(join(ROOT, target), join(directory, name));
    }
    writeFileSync(join(directory, "package.json"), '{ "type": "module" }\n');
    // The launcher would build first; what it does is tested in test/e2e.
    const script = `#!/bin/sh\nexec "${process.execPath}" "${join(ROOT, "dist/bin/skerry.cjs")}" "$@"\n`;
    writeFileSync(join(directory, "skerry"), script, { mode: 0o755 });
  });
}

/** What examples need, and those in containers. */
export const HOST = ["linux", "bubblewrap", "python3"] as const;
export const CONTAINER_HOST = ["linux", "root", "docker", "debootstrap", "gvisor"] as const;
/** What takes a daemon: lines of shell, and programs. */
export const IN_CONTAINERS =
  /--backend (docker|gvisor)|\.\/skerry image|^docker |backend: "(docker|gvisor)"/m;

/** From the tests of this block on the reader has a daemon, with the image in it. */
export function useDocker(): void {
  beforeAll(async () => {
    environment = { ...environment, DOCKER_HOST: (await startDocker()).host };
  }, DOCKER_START_MS);
}

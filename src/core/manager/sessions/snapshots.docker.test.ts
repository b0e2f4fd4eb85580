import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, expect } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { DOCKER_START_MS, startDocker } from "../../../../test/setup/docker.js";
import { openManager } from "../../../../test/setup/open-manager.js";
import { requires } from "../../../../test/setup/requires.js";
import { sessionDirectoryName } from "../../../runtime/workspace/index.js";
import { type Config, parseConfig } from "../../config/index.js";
import type { SandboxManager } from "../sandbox-manager.js";

const { describe, it, missing } = requires("docker");

let daemon: { readonly host: string; readonly image: string };
let stateDir: string;
let manager: SandboxManager;

beforeAll(async () => {
  if (missing.length === 0) daemon = await startDocker();
}, DOCKER_START_MS);

beforeEach(() => {
  stateDir = temporaryDirectory();
});

describe.each(["always", "never"] as const)(
  "in containers that %s share a directory with this host",
  (shareFiles) => {
    it("a snapshot is taken, brought back and forked, and no program sees it", {
      timeout: 180_000,
    }, async () => {
      const config: Config = await parseConfig({
        sandbox: { backends: { docker: { ...daemon, shareFiles } } },
      });
      manager = openManager({ config, stateDir, backend: "docker" });
      const sandbox = await manager.startSandbox("work");
      const look = "find . -mindepth 1 -printf '%p %y %m %l\\n' | sort; cat f d/g";
      await sandbox.exec("mkdir -p d && echo 1 > f && echo 2 > d/g && chmod 750 d/g && ln -s d/g link");
      const before = (await sandbox.exec(look)).stdout;
      const { id } = await sandbox.snapshot();
      await sandbox.exec("rm -r d; echo other > f; mkfifo fifo; mkdir -p deep/er");
      expect(await sandbox.restore(id)).toEqual({ written: 3, removed: 3, unchanged: 1, skipped: [] });
      expect((await sandbox.exec(look)).stdout).toBe(before);
      const names =
        "find / \\( -path /proc -o -path /usr \\) -prune -o -name '*snap-*' -print 2>/dev/null; true";
      expect((await sandbox.exec(names)).stdout).toBe("");
      const forked = await sandbox.fork("other", { snapshotId: id });
      expect((await forked.exec(look)).stdout).toBe(before);
      await manager.cleanupSession("work");
      if (shareFiles === "never") {
        const onHost = join(stateDir, "sessions", sessionDirectoryName("work"), "workspace");
        expect(readdirSync(onHost).sort()).toEqual(["d", "f", "link"]);
        expect(readFileSync(join(onHost, "f"), "utf8")).toBe("1\n");
      }
      expect(await manager.snapshots("work").list()).toMatchObject([{ id, files: 2, bytes: 4 }]);
      expect(readdirSync(join(stateDir, "ephemeral"))).toEqual([]);
    });
  },
);

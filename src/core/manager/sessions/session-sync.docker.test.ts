import { readdirSync, readFileSync, statSync } from "node:fs";
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

let config: Config;
let stateDir: string;
let manager: SandboxManager;

beforeAll(async () => {
  if (missing.length > 0) return;
  const { host, image } = await startDocker();
  config = await parseConfig({ sandbox: { backends: { docker: { host, image, shareFiles: "never" } } } });
}, DOCKER_START_MS);

beforeEach(() => {
  stateDir = temporaryDirectory();
  manager = openManager({ config, stateDir, backend: "docker" });
});

const onHost = (session: string, path = "") =>
  join(stateDir, "sessions", sessionDirectoryName(session), "workspace", path);

describe("a session in containers that share no directory with this host", () => {
  it("has its files again in the next container", async () => {
    const first = await manager.startSandbox("work");
    await first.exec(
      "mkdir -p d && echo 1 > d/f && ln -s d/f l && chmod 700 d && echo x > run && chmod 755 run",
    );
    const python = "open('out.bin', 'wb').write(bytes(range(256)) * 4096)";
    await first.runCode(python, { language: "python" });
    await manager.cleanupSession("work");
    expect(readdirSync(onHost("work")).sort()).toEqual(["d", "l", "out.bin", "run"]);
    expect(statSync(onHost("work", "out.bin")).size).toBe(1024 * 1024);
    const second = await manager.startSandbox("work");
    const { stdout } = await second.exec("cat l; stat -c %a d run; sha256sum < out.bin; rm -r d");
    const [one, ...rest] = stdout.split("\n");
    expect([one, rest[0], rest[1]]).toEqual(["1", "700", "755"]);
    await manager.cleanupSession("work");
    expect(readdirSync(onHost("work")).sort()).toEqual(["l", "out.bin", "run"]);
  });

  it("copies both ways when it is asked to", async () => {
    const sandbox = await manager.startSandbox("work");
    await sandbox.files.write("inside.txt", "1");
    expect(await sandbox.syncToHost()).toMatchObject({ complete: true });
    expect(readFileSync(onHost("work", "inside.txt"), "utf8")).toBe("1");
    expect(await sandbox.syncFromHost()).toMatchObject({ copied: 0, removed: 0, complete: true });
  });
});

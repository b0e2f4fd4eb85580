import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { openManager } from "../../../../test/setup/open-manager.js";
import { waitUntil } from "../../../kit/wait-until.js";
import { registerBackend } from "../../../runtime/backends/registry.js";
import { sessionDirectoryName } from "../../../runtime/workspace/index.js";
import { parseConfig } from "../../config/index.js";
import { withoutSharedWorkspace } from "../../testing/without-shared-workspace.js";
import { SandboxManager, type SandboxManagerOptions } from "../sandbox-manager.js";

for (const name of ["bubblewrap", "subprocess"])
  registerBackend(`${name}-away`, withoutSharedWorkspace(name));

let stateDir: string;
let manager: SandboxManager;

beforeEach(() => {
  stateDir = temporaryDirectory();
});

const start = (options: SandboxManagerOptions = {}) => {
  manager = openManager({ stateDir, backend: "subprocess-away", ...options });
  return manager;
};
const onHost = (session: string, path = "") =>
  join(stateDir, "sessions", sessionDirectoryName(session), "workspace", path);

describe.each(["bubblewrap-away", "subprocess-away"])("a session on %s", (backend) => {
  it("keeps what another process put into the same new session", async () => {
    start({ backend });
    const other = new SandboxManager({ stateDir, backend, handleSignals: false });
    try {
      const [mine, theirs] = [await manager.startSandbox("new"), await other.startSandbox("new")];
      await theirs.exec("echo b > b");
      await other.cleanupSession("new");
      await mine.exec("echo a > a");
      await manager.cleanupSession("new");
      expect(readdirSync(onHost("new")).sort()).toEqual(["a", "b"]);
    } finally {
      await other.close();
    }
  });

  it("has its files again in the next sandbox", async () => {
    start({ backend });
    const first = await manager.startSandbox("work");
    await first.exec("mkdir -p d && echo 1 > d/f && ln -s d/f l && chmod 700 d");
    await first.files.write("of-host.txt", "2");
    await manager.cleanupSession("work");
    expect(readdirSync(onHost("work")).sort()).toEqual(["d", "l", "of-host.txt"]);
    const second = await manager.startSandbox("work");
    expect(second.id).not.toBe(first.id);
    const { stdout } = await second.exec("cat l of-host.txt; stat -c %a d; rm -r d; ls -a");
    expect(stdout).toBe("1\n2700\n.\n..\nl\nof-host.txt\n");
    await manager.cleanupSession("work");
    expect(readdirSync(onHost("work")).sort()).toEqual(["l", "of-host.txt"]);
    // Nothing of the sandbox itself is left.
    expect(readdirSync(join(onHost("work"), "..")).sort()).toEqual(["session.json", "workspace"]);
  });

  it("has its changed files on this host soon after an execution", async () => {
    start({ backend });
    const sandbox = await manager.startSandbox("work");
    await sandbox.runCode("open('out.txt', 'w').write('x' * 100000)", { language: "python" });
    await waitUntil(() => existsSync(onHost("work", "out.txt")));
    expect(statSync(onHost("work", "out.txt")).size).toBe(100_000);
    expect(readdirSync(onHost("work"))).toEqual(["out.txt"]);
    expect(sandbox.isRunning).toBe(true);
  });
});

describe("a session whose backend shares no directory", () => {
  it("copies both ways when it is asked to", async () => {
    start();
    const sandbox = await manager.startSandbox("work");
    await sandbox.files.write("inside.txt", "1");
    expect(await sandbox.syncToHost()).toMatchObject({ copied: 1, bytes: 1, complete: true });
    writeFileSync(onHost("work", "put.txt"), "2");
    expect(await sandbox.syncFromHost()).toMatchObject({ copied: 1, bytes: 1, complete: true });
    const result = await sandbox.exec("cat inside.txt put.txt");
    expect([result.stdout, result.fileChanges]).toEqual(["12", []]);
  });

  it("copies nothing of a sandbox that is thrown away", async () => {
    start();
    const sandbox = await manager.startSandbox("once", { ephemeral: true });
    await sandbox.files.write("f", "1");
    expect(await sandbox.syncToHost()).toBeUndefined();
    await sandbox.stop();
    expect(await manager.listSessions()).toEqual([]);
    expect(readdirSync(join(stateDir, "ephemeral"))).toEqual([]);
  });

  it("says when a sandbox took changes with it, and has whole files", async () => {
    start();
    const sandbox = await manager.startSandbox("work");
    await sandbox.exec("echo kept > kept");
    await sandbox.syncToHost();
    await sandbox.files.write("lost", "1");
    // The guest is the parent of everything inside.
    await expect(sandbox.exec("kill -9 $PPID")).rejects.toThrow();
    await expect(sandbox.stop()).rejects.toThrow(expect.objectContaining({ code: "FILE_FAILED" }));
    expect(readdirSync(onHost("work"))).toEqual(["kept"]);
    expect((await (await manager.startSandbox("work")).exec("cat kept")).stdout).toBe("kept\n");
  });

  it("does not complain of a sandbox that ended when everything was here", async () => {
    start();
    const sandbox = await manager.startSandbox("work");
    await sandbox.exec("echo kept > kept");
    await sandbox.syncToHost();
    const { stdout } = await sandbox.exec("echo $PPID");
    process.kill(Number(stdout), "SIGKILL");
    await waitUntil(() => !sandbox.isRunning);
    await sandbox.stop();
    expect(readdirSync(onHost("work"))).toEqual(["kept"]);
  });

  it("is refused where its files are in a disk image", async () => {
    start();
    await (await manager.startSandbox("work")).files.write("f", "1");
    await manager.cleanupSession("work");
    writeFileSync(join(onHost("work"), "..", "workspace.img"), "");
    await expect(manager.startSandbox("work")).rejects.toThrow(
      expect.objectContaining({
        code: "UNSUPPORTED",
        hint: expect.stringContaining("the backend that made it"),
      }),
    );
    expect(readFileSync(onHost("work", "f"), "utf8")).toBe("1");
  });

  it("starts with its bootstrap files, which stay the host's where they are protected", async () => {
    const source = join(stateDir, "source");
    mkdirSync(join(source, "init/rules"), { recursive: true });
    writeFileSync(join(source, "init/rules/policy.md"), "the host's");
    writeFileSync(join(source, "init/notes.md"), "a note");
    const config = await parseConfig(
      { sandbox: { workspace: { source }, filesystem: { denyWrite: ["rules"] } } },
      "test",
    );
    start({ config });
    const sandbox = await manager.startSandbox("work");
    const command = "cat rules/policy.md; echo forged > rules/policy.md; echo more >> notes.md";
    expect((await sandbox.exec(command)).stdout).toBe("the host's");
    await manager.cleanupSession("work").catch(() => undefined);
    expect(readFileSync(onHost("work", "rules/policy.md"), "utf8")).toBe("the host's");
    expect(readFileSync(onHost("work", "notes.md"), "utf8")).toContain("more");
    const again = await manager.startSandbox("work");
    expect((await again.exec("cat rules/policy.md")).stdout).toBe("the host's");
  });

  it("keeps memory flat for a large file", async () => {
    start();
    const sandbox = await manager.startSandbox("work");
    await sandbox.exec("head -c 300M /dev/zero > big");
    const before = process.memoryUsage().rss;
    let most = before;
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss);
    }, 20);
    await sandbox.syncToHost();
    await manager.cleanupSession("work");
    await manager.startSandbox("work");
    clearInterval(watch);
    expect(statSync(onHost("work", "big")).size).toBe(300 * 1024 * 1024);
    expect((most - before) / 1024 / 1024).toBeLessThan(150);
  });

  it("is used by programs at the same time without losing anything", async () => {
    start();
    const sandbox = await manager.startSandbox("work");
    const marks = Array.from({ length: 12 }, () => randomBytes(4).toString("hex"));
    await Promise.all(
      marks.map((mark) =>
        sandbox.runCode(`mkdir -p d/${mark}; echo ${mark} > d/${mark}/f`, { language: "bash" }),
      ),
    );
    await manager.cleanupSession("work");
    expect(readdirSync(onHost("work"))).toEqual(["d"]);
    for (const mark of marks) expect(readFileSync(onHost("work", `d/${mark}/f`), "utf8")).toBe(`${mark}\n`);
  });
});

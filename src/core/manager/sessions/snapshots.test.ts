import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { failsWith } from "../../../../test/setup/fails-with.js";
import { openManager } from "../../../../test/setup/open-manager.js";
import { waitUntil } from "../../../kit/wait-until.js";
import { registerBackend } from "../../../runtime/backends/registry.js";
import { PoolManager } from "../../../runtime/pool/index.js";
import type { RunningSandbox } from "../../../runtime/sandbox/index.js";
import { sessionDirectoryName } from "../../../runtime/workspace/index.js";
import { parseConfig } from "../../config/index.js";
import { withoutSharedWorkspace } from "../../testing/without-shared-workspace.js";
import type { SandboxManager, SandboxManagerOptions } from "../sandbox-manager.js";

registerBackend("bubblewrap-kept-away", withoutSharedWorkspace("bubblewrap"));
registerBackend("subprocess-kept-away", withoutSharedWorkspace("subprocess"));

let stateDir: string;
let manager: SandboxManager;

beforeEach(() => {
  stateDir = temporaryDirectory();
});

const start = (options: SandboxManagerOptions = {}) => {
  manager = openManager({ stateDir, backend: "bubblewrap", ...options });
  return manager;
};
const directoryOf = (session: string) => join(stateDir, "sessions", sessionDirectoryName(session));
const CHANGE = "rm -r d; echo other > f; echo 3 > new; mkdir f.d; ln -s nowhere l";
/** Everything inside, by its own words. */
const tree = async (sandbox: RunningSandbox) =>
  (await sandbox.exec("find . -mindepth 1 -printf '%p %y %m %l\\n' | sort; cat f d/g")).stdout;

describe.each(["bubblewrap", "bubblewrap-kept-away", "subprocess", "subprocess-kept-away"])(
  "on %s",
  (backend) => {
    it("a snapshot is taken and brought back, in this sandbox and in the session's next one", async () => {
      start({ backend });
      const sandbox = await manager.startSandbox("work");
      await sandbox.exec("mkdir -p d/e && echo 1 > f && echo 2 > d/g && chmod 750 d/g && ln -s d/g link");
      const before = await tree(sandbox);
      const info = await sandbox.snapshot({ name: "clean" });
      expect(info).toMatchObject({
        name: "clean",
        sessionId: "work",
        files: 2,
        bytes: 4,
        storedBytes: 4,
        skipped: 0,
      });
      await sandbox.exec(CHANGE);
      const report = await sandbox.restore(info);
      expect(report).toEqual({ written: 4, removed: 3, unchanged: 1, skipped: [] });
      expect(await tree(sandbox)).toBe(before);
      // What the host did is not reported as a change.
      expect((await sandbox.exec("true")).fileChanges).toEqual([]);

      await sandbox.exec(CHANGE);
      await manager.cleanupSession("work");
      const next = await manager.startSandbox("work");
      expect(await next.listSnapshots()).toEqual([info]);
      await next.restore(info.id);
      await manager.cleanupSession("work");
      expect(await tree(await manager.startSandbox("work"))).toBe(before);
      expect(await (await manager.startSandbox("work")).deleteSnapshot(info.id)).toBe(true);
    });

    it("a fork is a new session with the files of now, or of a snapshot", async () => {
      start({ backend });
      const sandbox = await manager.startSandbox("work");
      await sandbox.exec("mkdir d && echo 1 > f && echo 2 > d/g && echo KEY > .env && chmod 500 d");
      const first = await tree(sandbox);
      const { id } = await sandbox.snapshot();
      await sandbox.exec("echo later > f");
      const [now, then, unnamed] = [
        await sandbox.fork("now"),
        await sandbox.fork("then", { snapshotId: id }),
        await sandbox.fork(),
      ];
      expect([now.sessionId, then.sessionId, now.type]).toEqual(["now", "then", sandbox.type]);
      expect(unnamed.sessionId).toMatch(/^fork-[0-9a-f]{12}$/);
      expect(await tree(then)).toBe(first);
      expect((await now.exec("cat f .env")).stdout).toBe("later\nKEY\n");
      await now.exec("echo mine > f");
      expect((await sandbox.exec("cat f")).stdout).toBe("later\n");
      // What was taken for it is gone.
      expect((await sandbox.listSnapshots()).map((info) => info.id)).toEqual([id]);
      expect(await now.listSnapshots()).toEqual([]);
      await manager.cleanupSession("then");
      expect(await tree(await manager.startSandbox("then"))).toBe(first);
      expect((await manager.listSessions()).map(({ sessionId }) => sessionId).sort()).toEqual(
        ["now", "then", "work", unnamed.sessionId].sort(),
      );
      expect(readdirSync(join(stateDir, "ephemeral"))).toEqual([]);
    });

    it("programs never see the snapshots, nor a program's own file in one", async () => {
      start({ backend });
      const sandbox = await manager.startSandbox("work");
      await sandbox.exec("echo secret-of-another-time > f");
      const running = sandbox.runCode(
        "import time, os\nopen('up', 'w')\nwhile not os.path.exists('go'): time.sleep(0.01)",
        { language: "python" },
      );
      await waitUntil(() => sandbox.files.exists("up"));
      const { files } = await sandbox.snapshot();
      await sandbox.files.write("go", "");
      await running;
      expect(files).toBe(2);
      await sandbox.exec("rm -f f up go");
      if (backend.startsWith("bubblewrap")) {
        const look = "find / \\( -path /proc -o -path /usr \\) -prune -o -name '*snap*' -print 2>/dev/null";
        const { stdout } = await sandbox.exec(
          `${look}; ls /workspace/../snapshots /proc/1/root/snapshots; true`,
        );
        expect(stdout).toBe("");
      }
      expect(statSync(join(directoryOf("work"), "snapshots")).mode & 0o777).toBe(0o700);
      expect(statSync(join(directoryOf("work"), "snapshots")).uid).toBe(process.getuid?.());
    });
  },
);

describe("a session's snapshots", () => {
  it("go with the session, and with a sandbox that is thrown away", async () => {
    start();
    const sandbox = await manager.startSandbox("work");
    await sandbox.files.write("f", "1");
    await sandbox.snapshot();
    expect(existsSync(join(directoryOf("work"), "snapshots"))).toBe(true);
    await manager.deleteSession("work");
    expect(existsSync(directoryOf("work"))).toBe(false);

    const once = await manager.startSandbox("once", { ephemeral: true });
    await once.files.write("f", "1");
    const { id } = await once.snapshot();
    await once.files.write("f", "2");
    await once.restore(id);
    expect(await once.files.readText("f")).toBe("1");
    const forked = await once.fork("kept");
    await once.stop();
    expect(readdirSync(join(stateDir, "ephemeral"))).toEqual([]);
    expect(await forked.files.readText("f")).toBe("1");
  });

  it("cannot be used by another session", async () => {
    start();
    const [one, other] = [await manager.startSandbox("one"), await manager.startSandbox("other")];
    await one.files.write("secret", "1");
    const { id } = await one.snapshot();
    const missing = failsWith("SNAPSHOT_NOT_FOUND", `This session has no snapshot "${id}"`);
    await expect(other.restore(id)).rejects.toThrow(missing);
    await expect(other.exportSnapshot(id)).rejects.toThrow(missing);
    await expect(other.fork("third", { snapshotId: id })).rejects.toThrow(missing);
    expect([await other.deleteSnapshot(id), await other.listSnapshots()]).toEqual([false, []]);
    await expect(one.restore("../x")).rejects.toThrow(failsWith("SNAPSHOT_NOT_FOUND"));
    await expect(one.restore(5 as unknown as string)).rejects.toThrow(failsWith("INVALID_ARGUMENT"));
    expect(manager.hasSession("third")).toBe(false);
  });

  it("are exported and imported, by the sandbox or without one", async () => {
    start();
    const sandbox = await manager.startSandbox("work");
    await sandbox.files.write("d/f", "1");
    const info = await sandbox.snapshot({ name: "mine" });
    const archive = await buffer(await sandbox.exportSnapshot(info.id));
    await manager.cleanupSession("work");
    const kept = manager.snapshots("work");
    expect(await kept.list()).toEqual([info]);
    expect(await buffer(await kept.export(info))).toEqual(archive);
    const imported = await kept.import(archive, { name: "again" });
    expect(imported).toMatchObject({ name: "again", sessionId: "work", files: 1, bytes: 1, storedBytes: 0 });
    expect(await kept.delete(info.id)).toBe(true);
    await expect(kept.export(info.id)).rejects.toThrow(failsWith("SNAPSHOT_NOT_FOUND"));
    await expect(kept.import(Buffer.from("no tar"))).rejects.toThrow(failsWith("INVALID_ARGUMENT"));
    await expect(kept.import("text" as unknown as Buffer)).rejects.toThrow(failsWith("INVALID_ARGUMENT"));
    // None of this has started a sandbox.
    expect(await manager.listSessions()).toMatchObject([{ sessionId: "work", running: false }]);
    const next = await manager.startSandbox("work");
    await next.files.remove("d", { recursive: true });
    await next.restore(imported.id);
    expect(await next.files.readText("d/f")).toBe("1");
    expect(await next.importSnapshot(Readable.from([archive]))).toMatchObject({ files: 1 });
  });

  it.each([true, false])(
    "sees what a program changed through a mapping, though no time of the file did",
    async (ephemeral) => {
      start();
      const sandbox = await manager.startSandbox("mapped", { ephemeral });
      const context = await sandbox.createContext();
      await context.run("import mmap, os; f = open('f', 'w+b'); f.write(b'1' * 100); f.flush()");
      await context.run("m = mmap.mmap(f.fileno(), 0); m[0:1] = b'a'");
      const times = async () =>
        (await context.run("s = os.stat('f'); print(s.st_ctime_ns, s.st_mtime_ns)")).stdout;
      const before = await times();
      const first = await sandbox.snapshot();
      await context.run("m[0:1] = b'b'");
      // A disk's page may have been written back in between; memory's never is.
      if (ephemeral) expect(await times()).toBe(before);
      const second = await sandbox.snapshot();
      expect([first.storedBytes, second.storedBytes]).toEqual([100, 100]);
      await sandbox.restore(first);
      expect(await sandbox.files.readText("f")).toBe(`a${"1".repeat(99)}`);
      await sandbox.restore(second);
      expect(await sandbox.files.readText("f")).toBe(`b${"1".repeat(99)}`);
    },
  );

  it("are those of a session that exists", async () => {
    start();
    const missing = failsWith("SESSION_NOT_FOUND", 'There is no session "none"');
    const none = manager.snapshots("none");
    await expect(none.list()).rejects.toThrow(missing);
    await expect(none.import(Buffer.alloc(1024))).rejects.toThrow(missing);
    await expect(none.delete("snap-0000000000000000")).rejects.toThrow(missing);
    expect(() => manager.snapshots("../x")).toThrow(failsWith("SESSION_NAME_INVALID"));
    expect(await manager.listSessions()).toEqual([]);
  });

  it("keep within what the configuration allows", async () => {
    const config = await parseConfig({
      sandbox: { snapshots: { maxBytes: "1kb", maxFiles: 2, maxStored: "1kb" } },
    });
    start({ config });
    const sandbox = await manager.startSandbox("work");
    await sandbox.files.write("f", "x".repeat(1000));
    await sandbox.snapshot();
    await sandbox.files.write("f", "y".repeat(1000));
    await expect(sandbox.snapshot()).rejects.toThrow(
      failsWith("DISK_FULL", "A session's snapshots may have 1024 bytes together"),
    );
    await sandbox.files.write("f", "y".repeat(1025));
    await expect(sandbox.snapshot()).rejects.toThrow(failsWith("FILE_TOO_LARGE"));
    await sandbox.files.write("f", "");
    await sandbox.files.write("d/g", "");
    await expect(sandbox.snapshot()).rejects.toThrow(failsWith("FILE_TOO_LARGE"));
  });

  it("are found by a session that took a prepared sandbox over", async () => {
    const pool = new PoolManager({ backend: "bubblewrap", minInstances: 1, maxInstances: 3 });
    start({ pool });
    const sandbox = await manager.startSandbox("adopted");
    await sandbox.files.write("f", "1");
    const info = await sandbox.snapshot();
    const forked = await sandbox.fork("other");
    expect(await forked.files.readText("f")).toBe("1");
    expect(await manager.snapshots("adopted").list()).toEqual([info]);
    expect(readdirSync(join(directoryOf("adopted"), "snapshots"))).toContain(`${info.id}.json`);
  });
});

describe("bringing a snapshot back", () => {
  it("is refused while something runs, and keeps what would run waiting for another try", async () => {
    start();
    const sandbox = await manager.startSandbox("work");
    for (let index = 0; index < 300; index++) await sandbox.files.write(`f${index}`, String(index));
    const { id } = await sandbox.snapshot();
    const running = sandbox.exec("touch up; until [ -e go ]; do sleep 0.01; done; rm f*");
    await waitUntil(() => sandbox.files.exists("up"));
    await expect(sandbox.restore(id)).rejects.toThrow(
      failsWith("SANDBOX_BUSY", "Something runs in the sandbox, and would see its files change"),
    );
    await sandbox.files.write("go", "");
    await running;
    const [restoring, again] = [sandbox.restore(id), sandbox.restore(id)];
    await waitUntil(async () => (await sandbox.files.list()).length > 10);
    const busy = failsWith("SANDBOX_BUSY", "The sandbox's files are being brought back from a snapshot");
    await expect(sandbox.exec("true")).rejects.toThrow(busy);
    await expect(sandbox.runCode("true", { language: "bash" })).rejects.toThrow(busy);
    await expect(sandbox.terminal({ rows: 24, columns: 80 })).rejects.toThrow(busy);
    expect(await restoring).toMatchObject({ written: 300, removed: 2 });
    expect(await again).toMatchObject({ written: 0, unchanged: 300 });
    expect((await sandbox.exec("ls | wc -l")).stdout.trim()).toBe("300");
  });

  it("goes on beside a terminal and a context that wait", async () => {
    start();
    const sandbox = await manager.startSandbox("work");
    const context = await sandbox.createContext();
    await context.run("open('f', 'w').write('1')");
    const { id } = await sandbox.snapshot();
    const terminal = await sandbox.terminal({ rows: 24, columns: 80 });
    terminal.output.resume();
    await context.run("open('f', 'w').write('2')");
    expect(await sandbox.restore(id)).toMatchObject({ written: 1 });
    expect((await context.run("print(open('f').read())")).stdout).toBe("1\n");
    terminal.input.write("exit 3\n");
    expect((await terminal.exit).exitCode).toBe(3);
  });

  it("is given up when the sandbox is stopped, and leaves nothing of a snapshot that was under way", async () => {
    start();
    const sandbox = await manager.startSandbox("work");
    await sandbox.exec("head -c 300M /dev/zero | tr '\\0' x > large");
    const taking = sandbox.snapshot();
    taking.catch(() => undefined);
    await waitUntil(() => existsSync(join(directoryOf("work"), "snapshots")));
    await sandbox.stop();
    await expect(taking).rejects.toThrow(failsWith("CANCELLED"));
    const left = readdirSync(join(directoryOf("work"), "snapshots"), { recursive: true, encoding: "utf8" });
    expect(left.filter((name) => !name.startsWith("writer") && name !== "blobs")).toEqual([]);
    await expect(sandbox.snapshot()).rejects.toThrow(failsWith("SANDBOX_NOT_RUNNING"));
  });
});

describe("a checkpoint of a context with its files", () => {
  it("brings them back, is no snapshot of its own, and goes with the context", async () => {
    start();
    const sandbox = await manager.startSandbox("work");
    const context = await sandbox.createContext();
    await context.run("x = 1; open('data', 'w').write('one')");
    const checkpoint = await context.checkpoint({ files: true });
    const plain = await context.checkpoint();
    expect([checkpoint.snapshotId, plain.snapshotId]).toEqual([expect.stringMatching(/^snap-/), undefined]);
    await context.run("x = 2; open('data', 'w').write('two'); open('more', 'w')");
    await context.rollback(plain);
    expect((await context.run("print(x, open('data').read())")).stdout).toBe("1 two\n");
    await context.rollback(checkpoint);
    expect((await context.run("import os; print(x, open('data').read(), os.listdir())")).stdout).toBe(
      "1 one ['data']\n",
    );
    expect(await sandbox.listSnapshots()).toEqual([]);
    const kept = () =>
      readdirSync(join(directoryOf("work"), "snapshots")).filter((name) => name.includes("snap-"));
    expect(kept()).toHaveLength(3);
    await context.close();
    expect(kept()).toEqual([]);
    const other = await sandbox.createContext();
    await other.checkpoint({ files: true });
    expect(kept()).toHaveLength(3);
    await manager.cleanupSession("work");
    expect(kept()).toEqual([]);
  });

  it("counts against what the session's snapshots may have", async () => {
    const config = await parseConfig({ sandbox: { snapshots: { maxStored: "1kb" } } });
    start({ config });
    const sandbox = await manager.startSandbox("work");
    await sandbox.files.write("f", "x".repeat(2000));
    const context = await sandbox.createContext();
    await context.run("x = 1");
    await expect(context.checkpoint({ files: true })).rejects.toThrow(failsWith("DISK_FULL"));
    expect(context.checkpoints).toEqual([]);
    expect((await context.run("print(x)")).stdout).toBe("1\n");
  });
});

describe("a fork", () => {
  it("into a session that exists is refused, and so is the second of two at once", async () => {
    start();
    const sandbox = await manager.startSandbox("work");
    await sandbox.files.write("f", "1");
    const exists = failsWith("CONFLICT", 'There already is a session "work"');
    await expect(sandbox.fork("work")).rejects.toThrow(exists);
    await expect(sandbox.fork("../x")).rejects.toThrow(failsWith("SESSION_NAME_INVALID"));
    const outcomes = await Promise.allSettled([sandbox.fork("new"), sandbox.fork("new")]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({
      reason: failsWith("CONFLICT", 'There already is a session "new"'),
    });
    expect(readdirSync(join(stateDir, "ephemeral"))).toEqual([]);
    expect((await manager.listSessions()).map(({ sessionId }) => sessionId).sort()).toEqual(["new", "work"]);
    expect(await sandbox.listSnapshots()).toEqual([]);
  });

  it("that fails leaves no session", async () => {
    start();
    const sandbox = await manager.startSandbox("work", { limits: { workspaceMb: 64 } });
    await sandbox.files.write("f", "1");
    const { id } = await sandbox.snapshot();
    await expect(sandbox.fork("none", { snapshotId: "snap-0000000000000000" })).rejects.toThrow(
      failsWith("SNAPSHOT_NOT_FOUND"),
    );
    await expect(sandbox.fork("none", { signal: AbortSignal.abort() })).rejects.toThrow(
      failsWith("CANCELLED"),
    );
    const blobs = join(directoryOf("work"), "snapshots", "blobs");
    const [blob] = readdirSync(blobs, { recursive: true, encoding: "utf8" }).filter(
      (name) => name.length > 60,
    );
    writeFileSync(join(blobs, blob!), "2");
    await expect(sandbox.fork("none", { snapshotId: id })).rejects.toThrow(
      failsWith("FILE_FAILED", `The snapshot ${id} is damaged`),
    );
    expect(manager.hasSession("none")).toBe(false);
    expect(readdirSync(join(stateDir, "ephemeral"))).toEqual([]);
    expect(readdirSync(join(stateDir, "owners"))).toHaveLength(1);
  });

  it("of a process that is killed leaves no session, and what was taken for it goes", async () => {
    start();
    const sandbox = await manager.startSandbox("work");
    await sandbox.exec("for i in $(seq 400); do echo $i > f$i; done");
    await manager.cleanupSession("work");
    const script = `
      const { SandboxManager } = await import(${JSON.stringify(import.meta.resolve("skerry"))});
      const manager = new SandboxManager({ stateDir: ${JSON.stringify(stateDir)}, backend: "bubblewrap" });
      const sandbox = await manager.startSandbox("work");
      for (let round = 0; ; round++) {
        process.stdout.write("forking");
        await sandbox.fork("new" + round);
      }`;
    for (let round = 0; round < 3; round++) {
      const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const ended = once(child, "exit");
      await once(child.stdout, "data");
      const ephemeral = join(stateDir, "ephemeral");
      const isFilling = () =>
        readdirSync(ephemeral).some((name) => existsSync(join(ephemeral, name, "workspace.img")));
      await waitUntil(() => (round === 0 ? existsSync(join(directoryOf("work"), "snapshots")) : isFilling()));
      child.kill("SIGKILL");
      await ended;
      await waitUntil(async () => {
        await manager.reap();
        return readdirSync(ephemeral).length === 0;
      });
      const left = readdirSync(join(directoryOf("work"), "snapshots"));
      expect(left.filter((name) => name !== "blobs" && name !== "writer")).toEqual([]);
      for (const { sessionId } of await manager.listSessions()) {
        const files = await (await manager.startSandbox(sessionId)).files.list();
        expect(files).toHaveLength(400);
        if (sessionId !== "work") await manager.deleteSession(sessionId);
      }
      await manager.cleanupSession("work");
    }
  });

  it("takes the limits along, and is refused in mode shared", async () => {
    start();
    const sandbox = await manager.startSandbox("work", { limits: { workspaceMb: 64, pids: 40 } });
    await sandbox.files.write("f", "1");
    const forked = await sandbox.fork("small");
    const room = async (from: RunningSandbox) => (await from.exec("df --output=size . | tail -1")).stdout;
    expect(await room(forked)).toBe(await room(sandbox));
    await manager.close();
    start({ mode: "shared" });
    const shared = await manager.startSandbox("anybody");
    await expect(shared.fork("mine")).rejects.toThrow(failsWith("UNSUPPORTED"));
  });
});

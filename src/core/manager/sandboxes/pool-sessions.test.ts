import { mkdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
  left,
  open,
  openManager,
  PRINT,
  ready,
  seen,
  stateDir,
  usePools,
} from "../../../../test/setup/pooled-managers.js";
import { requires } from "../../../../test/setup/requires.js";
import { waitUntil } from "../../../kit/wait-until.js";
import { registerBackend } from "../../../runtime/backends/registry.js";
import { sessionDirectoryName } from "../../../runtime/workspace/index.js";
import { parseConfig } from "../../config/index.js";
import { withoutSharedWorkspace } from "../../testing/without-shared-workspace.js";

registerBackend("watched-elsewhere", withoutSharedWorkspace("watched"));
usePools();
const real = requires("root", "bubblewrap", "cgroups", "python3");

real.describe("sessions of a manager with a pool", () => {
  it("are made of a prepared sandbox, whose files outlive the pool", async () => {
    const { pool, manager } = open({ preload: ["python"] });
    await ready(pool);
    const [prepared] = seen.instances;
    const result = await manager.execute({
      ...PRINT,
      code: "open('kept','w').write('1')",
      sessionId: "chat:1",
    });
    expect(result).toMatchObject({ sandboxId: prepared?.id, sessionId: "chat:1", filesWritten: ["kept"] });
    expect((await manager.startSandbox("chat:1")).id).toBe(prepared?.id);
    expect(await manager.listSessions()).toMatchObject([{ sessionId: "chat:1", running: true }]);
    expect(pool.status()).toMatchObject({ hits: 1, misses: 0 });
    await manager.cleanupSession("chat:1");
    await waitUntil(() => pool.status().busy === 0);
    // An existing session has its own files: made to order.
    expect(await (await manager.startSandbox("chat:1")).files.readText("kept")).toBe("1");
    expect(pool.status()).toMatchObject({ hits: 1, misses: 1 });
    await manager.close();

    const plain = openManager({ backend: "bubblewrap" });
    expect(await (await plain.startSandbox("chat:1")).files.readText("kept")).toBe("1");
    expect(await plain.deleteSession("chat:1")).toBe(true);
    expect([left("sessions"), left("owners")]).toEqual([[], []]);
  });

  it("keep their user when the process that adopted a sandbox is gone", async () => {
    const { pool, manager } = open();
    await ready(pool);
    await manager.startSandbox("s");
    const [session] = left("sessions");
    const { uid } = JSON.parse(readFileSync(join(stateDir, "sessions", session!, "session.json"), "utf8"));
    expect(readlinkSync(join(stateDir, "owners", String(uid))).split("\n")[1]).toBe(`sessions/${session}`);
  });

  it("have the same files in two managers that make the same at once", async () => {
    const [one, two] = [open(), open()];
    await Promise.all([ready(one.pool), ready(two.pool)]);
    const [mine, theirs] = await Promise.all([one.manager.startSandbox("s"), two.manager.startSandbox("s")]);
    await mine.files.write("who", "mine");
    expect(await theirs.files.readText("who")).toBe("mine");
    expect(left("sessions").length).toBe(1);
    // The loser's prepared sandbox had no session, and is gone.
    expect([one, two].map(({ pool }) => pool.status().misses).sort()).toEqual([0, 1]);
    await Promise.all([one.manager.close(), two.manager.close()]);
    expect([left("sessions").length, left("owners").length, left("ephemeral").length]).toEqual([1, 1, 0]);
  });

  it("reach what was changed for them, also in a sandbox that was open before", async () => {
    const config = await parseConfig({ sandbox: { network: { allowedDomains: ["reachable.example"] } } });
    const { pool, manager } = open({ minInstances: 2 }, { config });
    await ready(pool, 2);
    const curl = (host: string) => ["curl", "-sS", "-m", "10", `http://${host}/`];
    const first = await manager.startSandbox("s", { ephemeral: true });
    await first.network.open();
    await manager.startSandbox("s");
    await manager.changeEgress("s", { deny: ["reachable.example"] });
    const second = await manager.startSandbox("s", { ephemeral: true });
    expect((await second.exec(curl("reachable.example"))).stdout).toContain(
      "reachable.example is denied by rule egress deny",
    );
    expect((await first.exec(curl("reachable.example"))).stdout).not.toContain("is denied by rule");
  });

  it("keep their files when an idle sandbox is stopped", async () => {
    const config = await parseConfig({ sandbox: { runtime: { idleTimeout: "300ms" } } });
    const { pool, manager } = open({ minInstances: 0, maxInstances: 1 }, { config });
    await (await manager.startSandbox("a")).files.write("kept", "1");
    // It waits for the only place there is.
    await (await manager.startSandbox("b")).files.write("other", "1");
    expect(await (await manager.startSandbox("a")).files.readText("kept")).toBe("1");
    expect(pool.status().busy).toBe(1);
  });

  it("are made to order where programs see the directory's own name", async () => {
    const { pool, manager } = open({ backend: "subprocess" });
    await ready(pool);
    expect(await manager.execute({ command: "pwd" })).toMatchObject({ success: true });
    await ready(pool);
    const sandbox = await manager.startSandbox("s");
    expect((await sandbox.exec(["pwd"])).stdout).toMatch(/\/sessions\/s-\w+\/workspace\n$/);
    expect(pool.status()).toMatchObject({ hits: 1, misses: 1 });
  });

  it("keep the files of a prepared sandbox that shares no directory with this host", async () => {
    const { pool, manager } = open({ backend: "watched-elsewhere" });
    await ready(pool);
    const first = await manager.startSandbox("s");
    expect([first.id, pool.status().hits]).toEqual([seen.instances[0]?.id, 1]);
    await first.exec("mkdir d && echo 1 > d/kept");
    await first.files.write("of-host", "2");
    await manager.cleanupSession("s");
    const kept = join(stateDir, "sessions", sessionDirectoryName("s"), "workspace");
    expect(readFileSync(join(kept, "d/kept"), "utf8")).toBe("1\n");
    const second = await manager.startSandbox("s");
    expect((await second.exec("cat d/kept of-host")).stdout).toBe("1\n2");
    expect(second.id).not.toBe(first.id);
  });

  it("are refused where a directory without its record has their place, without burning sandboxes", async () => {
    const { pool, manager } = open();
    await ready(pool);
    await manager.startSandbox("other");
    const name = sessionDirectoryName("s");
    mkdirSync(join(stateDir, "sessions", name, "workspace"), { recursive: true });
    await expect(manager.startSandbox("s")).rejects.toMatchObject({
      code: "SANDBOX_START_FAILED",
      message: "The session's directory is there, but its record is not",
      hint: expect.stringMatching(
        new RegExp(`^session\\.json was removed from sessions/${name} in the state directory\\.`),
      ),
    });
    expect(pool.status().created).toBeLessThanOrEqual(4);
    await manager.close();
    expect([left("ephemeral"), left("owners").length]).toEqual([[], 1]);
  });
});

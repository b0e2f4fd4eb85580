import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { PACKAGE_ROOT } from "../../kit/package-root.js";
import { waitUntil } from "../../kit/wait-until.js";
import type { Capabilities } from "../../runtime/backends/index.js";
import type { ConformanceCase } from "./conformance-case.js";
import { uniqueSeconds } from "./unique-seconds.js";

/** From the first sign of life to the last trace. */
export const lifecycleCases: readonly ConformanceCase[] = [
  {
    title: "stops idempotently, ends what runs, and leaves nothing",
    async run({ createSandbox, stateDir, capabilities }) {
      const sandbox = await createSandbox();
      const marker = uniqueSeconds();
      const running = sandbox.exec(["sh", "-c", `(setsid sleep ${marker} &); touch up; sleep ${marker}`]);
      await waitUntil(() => sandbox.files.exists("up"));
      if (showsProcesses(capabilities)) await waitUntil(() => hostProcesses(marker).length >= 1);
      const outcome = rejects(async () => running, { code: "SANDBOX_NOT_RUNNING" });
      await Promise.all([sandbox.stop(), sandbox.stop()]);
      await sandbox.stop();
      await outcome;
      await waitUntil(() => hostProcesses(marker).length === 0);
      await rejects(async () => sandbox.exec(["true"]), { code: "SANDBOX_NOT_RUNNING" });
      deepEqual(readdirSync(join(stateDir, "ephemeral")), []);
    },
  },
  {
    title: "keeps a session's files when its sandbox is stopped and started again",
    async run({ manager }) {
      const first = await manager.startSandbox("keep");
      await first.exec(["sh", "-c", "echo kept > file"]);
      await manager.cleanupSession("keep");
      const second = await manager.startSandbox("keep");
      ok(second.id !== first.id);
      equal((await second.exec(["cat", "file"])).stdout, "kept\n");
      equal(await manager.deleteSession("keep"), true);
      equal((await (await manager.startSandbox("keep")).exec(["ls"])).stdout, "");
    },
  },
  {
    title: "takes everything inside along when the host process is killed, and is reaped afterwards",
    needs: ({ diesWithHost }) => diesWithHost,
    async run({ backend, stateDir, module, manager, config, capabilities }) {
      const marker = uniqueSeconds();
      const library = pathToFileURL(join(PACKAGE_ROOT, "dist/index.js")).href;
      const script =
        `const { SandboxManager, registerBackend } = await import(${JSON.stringify(library)});\n` +
        (module === undefined
          ? ""
          : `registerBackend(${JSON.stringify(backend)}, (await import(${JSON.stringify(module)})).default);\n`) +
        `const manager = new SandboxManager({ config: ${JSON.stringify(config)}, backend: ${JSON.stringify(backend)}, stateDir: ${JSON.stringify(stateDir)} });\n` +
        `const sandbox = await manager.startSandbox("doomed", { ephemeral: true });\n` +
        `const events = sandbox.exec(["sh", "-c", "(setsid sleep ${marker} &); echo up; sleep ${marker}"]);\n` +
        `for await (const event of events) if (event.type === "stdout") console.log("up");\n`;
      const host = spawn(process.execPath, ["--input-type=module", "-e", script], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const exited = once(host, "exit");
      let isUp = false;
      host.stdout.once("data", () => {
        isUp = true;
      });
      try {
        await waitUntil(() => isUp, 120_000);
        if (showsProcesses(capabilities)) await waitUntil(() => hostProcesses(marker).length >= 1);
      } finally {
        host.kill("SIGKILL");
        await exited;
      }
      await waitUntil(() => hostProcesses(marker).length === 0);
      ok(readdirSync(join(stateDir, "ephemeral")).length > 0);
      await waitUntil(async () => {
        await manager.reap();
        return readdirSync(join(stateDir, "ephemeral")).length === 0;
      });
      ok(!existsSync(join(stateDir, "owners")) || readdirSync(join(stateDir, "owners")).length === 0);
    },
  },
];

/** A kernel of its own keeps its processes to itself. */
function showsProcesses({ isolation }: Capabilities): boolean {
  return isolation !== "kernel" && isolation !== "vm";
}

/** Processes of this host, seen from outside, that sleep for that long. */
function hostProcesses(marker: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8") === `sleep\0${marker}\0`;
    } catch {
      return false;
    }
  });
}

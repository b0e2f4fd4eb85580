import { execFileSync, spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { registerBackend } from "../src/backend.js";
import { loadConfig, parseConfig, SandboxManager, type SandboxManagerOptions } from "../src/index.js";
import { greetGuest } from "../src/runtime/backends/start-guest.js";
import { createSubprocessBackend } from "../src/runtime/backends/subprocess/backend.js";
import { temporaryDirectory } from "./setup/clean-up.js";
import { openManager } from "./setup/open-manager.js";

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.log("skipped: a full disk and missing user namespaces: they take root to arrange");

let directory: string;

beforeEach(() => {
  directory = temporaryDirectory();
});

function createManager(options: SandboxManagerOptions = {}): SandboxManager {
  return openManager({ stateDir: join(directory, "state"), ...options });
}

/** Everything a session or a sandbox would leave in the state directory. */
function residue(): string[] {
  return ["sessions", "ephemeral", "owners"].flatMap((name) => {
    const path = join(directory, "state", name);
    return existsSync(path) ? readdirSync(path).map((each) => `${name}/${each}`) : [];
  });
}

/** An error a person can act on. */
const error = (code: string) =>
  expect.objectContaining({ code, message: expect.stringMatching(/\w/), hint: expect.stringMatching(/\w/) });

describe("bad input is an error with a code, a message and a hint, and leaves nothing", () => {
  it.each([
    ["an unknown language", { language: "cobol" }, "LANGUAGE_UNKNOWN"],
    ["a file name with a slash", { language: "python", filename: "../x.py" }, "INVALID_ARGUMENT"],
  ])("%s", async (_, options, code) => {
    await expect(createManager().runCodeOnce("", options)).rejects.toEqual(error(code));
    expect(residue()).toEqual([]);
  });

  it.each([0, -5, Number.NaN, Number.POSITIVE_INFINITY])("a timeout of %s", async (timeoutMs) => {
    await expect(createManager().runCodeOnce("true", { language: "bash", timeoutMs })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    expect(residue()).toEqual([]);
  });

  it("an unknown backend", async () => {
    await expect(createManager({ backend: "bubblewarp" }).startSandbox("s")).rejects.toEqual(
      error("BACKEND_UNKNOWN"),
    );
    expect(residue()).toEqual([]);
  });

  it.each(["a/b", "../a", "a\\b", "a\nb", "a\u0000b", "", "\u202egnp", "x".repeat(300)])(
    "the session name %j",
    async (name) => {
      await expect(createManager().startSandbox(name)).rejects.toEqual(error("SESSION_NAME_INVALID"));
      expect(residue()).toEqual([]);
    },
  );

  it("a configuration with a misspelt key names the right one", async () => {
    await expect(parseConfig({ sandbox: { netwrok: {} } })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining('"network"'),
    });
    writeFileSync(join(directory, "config.yaml"), "sandbox:\n  bakcend: bubblewrap\n");
    await expect(loadConfig({ path: join(directory, "config.yaml"), env: {} })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining('"backend"'),
    });
    await expect(loadConfig({ path: join(directory, "none.yaml"), env: {} })).rejects.toMatchObject({
      code: expect.any(String),
    });
  });

  it("a configuration for a language that does not exist", async () => {
    const config = await parseConfig({ sandbox: { languages: { pyton: { warm: false } } } });
    expect(() => new SandboxManager({ config })).toThrow(error("LANGUAGE_UNKNOWN"));
  });

  it("no bubblewrap", async () => {
    const config = await parseConfig({
      sandbox: { backends: { bubblewrap: { path: "/usr/bin/no-such-bwrap" } } },
    });
    for (const backend of ["auto", "bubblewrap"]) {
      await expect(createManager({ config, backend }).startSandbox("s")).rejects.toEqual(
        error("BACKEND_UNAVAILABLE"),
      );
    }
    expect(residue()).toEqual([]);
  });

  it("a bubblewrap that is something else", async () => {
    const impostor = join(directory, "bwrap");
    writeFileSync(impostor, "#!/bin/sh\ntest \"$1\" = --version && echo 'bubblewrap 0.9.0'\n", {
      mode: 0o755,
    });
    const config = await parseConfig({ sandbox: { backends: { bubblewrap: { path: impostor } } } });
    await expect(createManager({ config }).startSandbox("s")).rejects.toEqual(error("BACKEND_UNAVAILABLE"));
    expect(residue()).toEqual([]);
  });

  it.skipIf(!isRoot)("a kernel without user namespaces", () => {
    const script =
      `const { runCodeOnce } = await import(${JSON.stringify(import.meta.resolve("skerry"))});\n` +
      `await runCodeOnce("true", { language: "bash" }, { stateDir: ${JSON.stringify(join(directory, "state"))} })` +
      ".then(() => console.log('ran'), ({ code, message, hint }) => console.log(JSON.stringify({ code, message, hint })));";
    const command = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$0" --input-type=module -e "$1"';
    const { stdout, stderr } = spawnSync(
      "unshare",
      ["--user", "--map-root-user", "sh", "-c", command, process.execPath, script],
      { encoding: "utf8" },
    );
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual({
      code: "BACKEND_UNAVAILABLE",
      message: expect.stringContaining("user namespaces are switched off"),
      hint: expect.stringContaining("max_user_namespaces"),
    });
    expect(residue()).toEqual([]);
  });

  it.skipIf(!isRoot)("a full disk under the state directory", async () => {
    const state = join(directory, "state");
    mkdirSync(state);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k,mode=0711", "tmpfs", state]);
    try {
      await using manager = createManager();
      await expect(manager.startSandbox("s")).rejects.toEqual(error("DISK_FULL"));
      expect(residue()).toEqual([]);
    } finally {
      execFileSync("umount", [state]);
    }
  });

  it("a state directory that others can change", async () => {
    const state = join(directory, "open");
    mkdirSync(state);
    chmodSync(state, 0o777);
    await expect(createManager({ stateDir: state }).startSandbox("s")).rejects.toEqual(
      error("CONFIG_INVALID"),
    );
    expect(readdirSync(state)).toEqual([]);
  });

  it("code with no interpreter inside", async () => {
    const manager = createManager({ backend: "without-python" });
    await expect(manager.runCodeOnce("print(1)", { language: "python" })).rejects.toEqual(
      error("LANGUAGE_UNAVAILABLE"),
    );
    expect(residue()).toEqual([]);
  });

  it.each(["garbage-at-once", "garbage-later", "silent-exit"])("a guest that sends %s", async (backend) => {
    const manager = createManager({ backend });
    const attempt = manager.startSandbox("s").then((sandbox) => sandbox.exec(["true"]));
    await expect(attempt).rejects.toMatchObject({
      code: expect.stringMatching(/^(WIRE_VIOLATION|SANDBOX_START_FAILED|SANDBOX_LOST)$/),
    });
    await manager.cleanupAll();
    await manager.deleteSession("s");
    expect(residue()).toEqual([]);
  });
});

registerBackend("without-python", (context) => {
  const real = createSubprocessBackend(context);
  return {
    ...hollow(real.probe.bind(real)),
    async create(spec) {
      const instance = await real.create(spec);
      const { id, runner, guestWorkspace, hostWorkspace, guestRuntime } = instance;
      return {
        ...{ id, runner, guestWorkspace, hostWorkspace, guestRuntime },
        baseEnv: { PATH: "/nonexistent" },
        memoryKills: async () => undefined,
        destroy: () => instance.destroy(),
      };
    },
  };
});

const HELLO = "\\014\\0\\0\\0\\0\\0\\0\\0\\201\\0\\0\\0SKRY\\001\\0\\0\\0\\001\\0\\0\\0";
for (const [name, program] of [
  ["garbage-at-once", "head -c 100000 /dev/urandom; cat > /dev/null"],
  ["garbage-later", `printf '${HELLO}'; head -c 1 > /dev/null; head -c 100000 /dev/urandom; cat > /dev/null`],
  ["silent-exit", "exit 3"],
] as const) {
  registerBackend(name, (context) => {
    const real = createSubprocessBackend(context);
    return {
      ...hollow(real.probe.bind(real)),
      async create(spec) {
        const child = spawn("sh", ["-c", program], { stdio: ["pipe", "pipe", "ignore"] });
        child.stdin.on("error", () => undefined);
        const failed = new Promise<never>((_, reject) =>
          child.once("exit", () => reject(new Error("ended"))),
        );
        failed.catch(() => undefined);
        const runner = await greetGuest(
          { toGuest: child.stdin, fromGuest: child.stdout },
          { timeoutMs: 5000, failed },
        );
        const workspace = join(spec.directory.path, "workspace");
        return {
          id: spec.id,
          runner,
          guestWorkspace: workspace,
          hostWorkspace: workspace,
          guestRuntime: "/",
          baseEnv: {},
          memoryKills: async () => undefined,
          destroy: async () => {
            runner.close();
            child.kill("SIGKILL");
          },
        };
      },
    };
  });
}

function hollow(probe: ReturnType<typeof createSubprocessBackend>["probe"]) {
  return { name: "hollow", probe, reap: async () => 0 };
}

import { execFileSync } from "node:child_process";
import { beforeEach, expect } from "vitest";
import { parseConfig } from "../../src/core/config/index.js";
import type { SandboxManager } from "../../src/core/manager/index.js";
import { stateLabels } from "../../src/runtime/backends/containers/container/labels.js";
import { temporaryDirectory } from "../setup/clean-up.js";
import { startDocker } from "../setup/docker.js";
import { openManager } from "../setup/open-manager.js";
import { requires } from "../setup/requires.js";

const { describe, it } = requires("docker", "gvisor", "linux", "debootstrap");

describe.each(["always", "never"] as const)("gVisor, with shareFiles %s", (shareFiles) => {
  let stateDir: string;

  beforeEach(() => {
    stateDir = temporaryDirectory();
  });

  async function open(gvisor: object = {}): Promise<{ manager: SandboxManager; host: string }> {
    const { host } = await startDocker();
    const config = await parseConfig({ sandbox: { backends: { docker: { host, shareFiles }, gvisor } } });
    const manager = openManager({ config, backend: "gvisor", stateDir });
    return { manager, host };
  }

  it("refuses to start where the runtime is another, and leaves nothing", async () => {
    const { manager, host } = await open({ runtime: "runc" });
    await expect(manager.startSandbox("a")).rejects.toMatchObject({
      code: "SANDBOX_START_FAILED",
      message: expect.stringContaining("this runtime is not gVisor"),
    });
    const labels = Object.entries(stateLabels(stateDir)).flatMap(([name, value]) => [
      "--filter",
      `label=${name}=${value}`,
    ]);
    expect(execFileSync("docker", ["-H", host, "ps", "-aq", ...labels], { encoding: "utf8" })).toBe("");
  });

  it("runs programs behind the whole filter, with the errors it names", async () => {
    const { manager } = await open();
    const sandbox = await manager.startSandbox("a");
    const code = `
import ctypes, errno, json, platform
libc = ctypes.CDLL(None, use_errno=True)
def error_of(number, *args):
    ctypes.set_errno(0)
    libc.syscall(number, *args)
    return errno.errorcode.get(ctypes.get_errno())
arm = platform.machine() == "aarch64"
print(json.dumps([error_of(435, 0, 0), error_of(97 if arm else 272, 0), error_of(116 if arm else 103, 10, 0, 0)]))`;
    const { stdout } = await sandbox.runCode(code, { language: "python" });
    // clone3, unshare, syslog.
    expect(JSON.parse(stdout)).toEqual(["ENOSYS", "EPERM", "EPERM"]);
  });

  it("shows no process but the sandbox's own, and passes large output and input on whole", async () => {
    const { manager } = await open();
    const sandbox = await manager.startSandbox("a");
    const list =
      "import os; print(sorted(open(f'/proc/{p}/cmdline').read() for p in os.listdir('/proc') if p.isdigit())[-1])";
    expect((await sandbox.exec(["python3", "-c", list])).stdout).toBe("skerry-guest\0\n");

    const input = Buffer.alloc(3_000_000, "0123456789abcdef\n");
    const result = await sandbox.exec(["cat"], { stdin: input, maxOutputBytes: 10_000_000 });
    expect(result.stdout === input.toString()).toBe(true);
  });
});

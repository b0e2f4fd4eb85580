import { cpus } from "node:os";
import { beforeAll, expect, it } from "vitest";
import { requires } from "../../../../test/setup/requires.js";
import { readGroupFile, ToolCallFixture } from "../../../../test/setup/tool-call-fixture.js";
import type { SandboxManager } from "../index.js";

const real = requires("root", "bubblewrap", "cgroups", "python3");
const MIB = 1024 * 1024;

const POLICY = `
policies:
  default: { max_execution_time: 20s }
  tools:
    run_code:
      risk_level: high
      max_memory: 64MB
      max_cpu: 0.5
      max_pids: 24
      max_file_size: 2MB
      max_workspace: 32MB
      max_output: 4KB
    shell_exec: { risk_level: high, max_execution_time: 300ms }
`;

real.describe("the limits of a policy reach the sandbox", () => {
  let fixture: ToolCallFixture;
  let manager: SandboxManager;

  beforeAll(async () => {
    fixture = await ToolCallFixture.open();
    manager = fixture.manager({ policy: POLICY });
  });

  const python = (code: string) => manager.execute({ sessionId: "s", language: "python", code });

  it("memory: the kernel has the number, and kills what takes more", async () => {
    const { sandboxId } = await python("print(1)");
    const limit = readGroupFile("memory", sandboxId, ["memory.limit_in_bytes", "memory.max"]);
    expect(limit).toBe(String(64 * MIB));
    expect(await python("x = b'x' * 200_000_000")).toMatchObject({ success: false, reason: "memory" });
    expect(await python("x = b'x' * 20_000_000\nprint(len(x))")).toMatchObject({ stdout: "20000000\n" });
  });

  it("CPU: the kernel has the number", async () => {
    const { sandboxId } = await python("print(1)");
    const quota = readGroupFile("cpu", sandboxId, ["cpu.cfs_quota_us", "cpu.max"]);
    expect(quota.split(" ")[0]).toBe("50000");
  });

  it("CPU: without a limit, two sandboxes get the same, however many processes each of them has", async () => {
    const shared = fixture.manager();
    const spin = (count: number) =>
      `import os\nfor _ in range(${count - 1}):\n    if os.fork() == 0: break\nwhile True: pass`;
    const run = (sessionId: string, count: number) =>
      shared.execute({ sessionId, language: "python", code: spin(count), timeoutMs: 6000 });
    const [many, few] = await Promise.all([run("many", 60), run("few", cpus().length)]);
    expect([many.reason, few.reason]).toEqual(["timeout", "timeout"]);
    // Shared out by processes it would be thirty to one on two processors.
    expect(many.cpuTimeMs / few.cpuTimeMs).toBeLessThan(3);
  });

  it("workspace: the file system is so large, and full when it is full", async () => {
    const code = `
import os
at = os.statvfs(".")
print(at.f_blocks * at.f_frsize)
try:
    for n in range(40): open(f"f{n}", "wb").write(b"x" * 1_000_000)
except OSError as error:
    print(error.strerror)
for n in range(40):
    if os.path.exists(f"f{n}"): os.remove(f"f{n}")
`;
    const [size, error] = (await python(code)).stdout.split("\n");
    expect(Number(size)).toBeGreaterThan(16 * MIB);
    expect(Number(size)).toBeLessThanOrEqual(32 * MIB);
    expect(error).toBe("No space left on device");
  });

  it("processes: no more than so many", async () => {
    const code = `
import os, resource, signal
print(resource.getrlimit(resource.RLIMIT_NPROC)[0])
children = []
try:
    for n in range(40):
        pid = os.fork()
        if pid == 0:
            signal.pause()
        children.append(pid)
except OSError as error:
    print(error.strerror, len(children) < 24)
for pid in children: os.kill(pid, signal.SIGKILL)
`;
    expect((await python(code)).stdout).toBe("24\nResource temporarily unavailable True\n");
  });

  it("the size of a file: no more than that", async () => {
    const code = `
import resource
print(resource.getrlimit(resource.RLIMIT_FSIZE)[0])
try:
    open("big", "wb").write(b"x" * 3_000_000)
except OSError as error:
    print(error.strerror)
`;
    expect((await python(code)).stdout).toBe(`${2 * MIB}\nFile too large\n`);
  });

  it("output: what prints more is ended, also when the call asks for more", async () => {
    const call = { sessionId: "s", language: "python", code: "print('x' * 100_000)", maxOutputBytes: MIB };
    const result = await manager.execute(call);
    expect(result).toMatchObject({ reason: "output-limit", truncated: true });
    expect(result.stdout.length).toBeLessThanOrEqual(4096);
  });

  it("time: what takes longer is ended, also when the call asks for more", async () => {
    const call = { sessionId: "s", command: "sleep 60", timeoutMs: 600_000 };
    const result = await manager.execute(call);
    expect(result).toMatchObject({ reason: "timeout", error: expect.stringContaining("0.3") });
  });

  it("but never above what the manager was given", async () => {
    const strict = fixture.manager({ policy: POLICY, limits: { memoryMb: 48, cpus: 0.25 } });
    const { sandboxId } = await strict.execute({ sessionId: "strict", language: "python", code: "1" });
    const limit = readGroupFile("memory", sandboxId, ["memory.limit_in_bytes", "memory.max"]);
    expect(limit).toBe(String(48 * MIB));
    const quota = readGroupFile("cpu", sandboxId, ["cpu.cfs_quota_us", "cpu.max"]);
    expect(quota.split(" ")[0]).toBe("25000");
  });
});

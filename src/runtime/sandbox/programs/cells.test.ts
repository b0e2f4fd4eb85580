import { beforeAll, expect } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { openManager } from "../../../../test/setup/open-manager.js";
import { requires } from "../../../../test/setup/requires.js";
import { parseConfig } from "../../../core/config/index.js";
import { SandboxManager } from "../../../core/manager/index.js";
import type { RunningSandbox } from "../index.js";

const { describe, it } = requires("linux", "bubblewrap", "python3");
const CELLS = { memoryMb: 200, pids: 20, workspaceMb: 8, tmpMb: 4, workers: 2 };

let stateDir: string;
let manager: SandboxManager;
let sandbox: RunningSandbox;

beforeAll(async () => {
  stateDir = temporaryDirectory();
  manager = openManager({ stateDir, backend: "bubblewrap" });
  sandbox = await manager.startSandbox("cells", { cells: CELLS });
  await sandbox.prewarmCells();
});

/** As long as is needed for the program to be started the plain way. */
const COLD = `#${"x".repeat(120 * 1024)}\n`;
const WAYS = [
  ["by an interpreter that forks", ""],
  ["the plain way", COLD],
] as const;

describe("a program in a cell", () => {
  it.each([
    ["python", "import sys; print(sys.argv[1:], sys.stdin.read()); sys.exit(3)"],
    [
      "javascript",
      "console.log(process.argv.slice(2), require('fs').readFileSync(0, 'utf8')); process.exit(3)",
    ],
    [
      "typescript",
      "const said: string = require('fs').readFileSync(0, 'utf8'); console.log(process.argv.slice(2), said); process.exit(3)",
    ],
    ["bash", "echo \"['$1', '$2']\" $(cat); exit 3"],
  ])("of %s has arguments, input, output and an exit code", async (language, code) => {
    const result = await sandbox.runCode(code, {
      language,
      args: ["one", "two words"],
      stdin: "said",
      isolate: true,
    });
    expect(result).toMatchObject({
      reason: "exited",
      exitCode: 3,
      stderr: "",
      filesWritten: [],
      filesDeleted: [],
    });
    expect(result.stdout.replaceAll("[ ", "[").replaceAll(" ]", "]")).toBe("['one', 'two words'] said\n");
    expect(result.warm).toBe(language === "python");
  });

  it.each(WAYS)("started %s is what a program of its own sandbox is", async (_, prefix) => {
    const code = `${prefix}
import os, sys
print(__name__, os.getuid(), os.getcwd(), sys.argv, sys.path[0], os.environ["HOME"], os.path.basename(__file__))
print(sorted(os.listdir("/workspace")), os.listdir("/tmp"), os.listdir("/dev/shm"))`;
    const { stdout, stderr } = await sandbox.runCode(code, { language: "python", isolate: true });
    expect({ stdout, stderr }).toEqual({
      stdout:
        "__main__ 1000 /workspace ['/workspace/main.py'] /workspace /workspace main.py\n['main.py'] [] []\n",
      stderr: "",
    });
  });

  it.each(WAYS)("started %s has limits of its own, as it can read them itself", async (_, prefix) => {
    const code = `${prefix}
import os, resource
MIB = 1 << 20
print(resource.getrlimit(resource.RLIMIT_DATA)[0] // MIB, resource.getrlimit(resource.RLIMIT_NPROC)[0])
for place in ("/workspace", "/tmp", "/dev/shm"):
    size = os.statvfs(place)
    print(place, size.f_blocks * size.f_frsize // MIB, size.f_files)
children = []
try:
    while len(children) < 100:
        pid = os.fork()
        if pid == 0:
            import time; time.sleep(30); os._exit(0)
        children.append(pid)
except OSError: print(len(children), "children", flush=True)
try: held = b"x" * (300 * MIB)
except MemoryError: print("no memory")
try:
    with open("/workspace/large", "wb") as file: file.write(b"x" * (9 * MIB))
except OSError as error: print(error.strerror)`;
    const { stdout, stderr } = await sandbox.runCode(code, { language: "python", isolate: true });
    expect({ stdout: stdout.split("\n"), stderr }).toEqual({
      stdout: [
        "200 22",
        "/workspace 8 2048",
        "/tmp 4 2048",
        "/dev/shm 4 2048",
        "19 children",
        "no memory",
        "No space left on device",
        "",
      ],
      stderr: "",
    });
  });

  it.each(WAYS)("started %s has an error's own lines, and its signal is told", async (_, prefix) => {
    const failed = await sandbox.runCode(`${prefix}1 / 0`, { language: "python", isolate: true });
    expect(failed.stderr).toContain('File "/workspace/main.py", line');
    expect(failed.stderr).toContain("ZeroDivisionError");
    const killed = await sandbox.runCode(`${prefix}import os, signal; os.kill(os.getpid(), signal.SIGSEGV)`, {
      language: "python",
      isolate: true,
    });
    expect(killed).toMatchObject({ reason: "signaled", signal: "SIGSEGV" });
  });

  it.each(WAYS)(
    "started %s is ended by the clock, the caller and the output's limit, with all of it",
    async (_, prefix) => {
      const busy = `${prefix}
import os
for _ in range(3): os.fork()
while True: pass`;
      const late = await sandbox.runCode(busy, { language: "python", isolate: true, timeoutMs: 300 });
      expect(late).toMatchObject({ reason: "timeout", error: "Execution timeout (0.3s)" });
      const signal = AbortSignal.timeout(200);
      const cancelled = await sandbox.runCode(busy, { language: "python", isolate: true, signal });
      expect(cancelled.reason).toBe("cancelled");
      const flood = `${prefix}while True: print("x" * 1000)`;
      const cut = await sandbox.runCode(flood, { language: "python", isolate: true, maxOutputBytes: 5000 });
      expect(cut).toMatchObject({ reason: "output-limit", truncated: true });
      const { stdout } = await sandbox.exec(["sh", "-c", "ls -d /proc/[0-9]* | wc -l"]);
      expect(Number(stdout)).toBeLessThan(30);
    },
  );

  it("cannot reach what the session reaches, and the session's programs are not in cells", async () => {
    const { stdout } = await sandbox.exec(["sh", "-c", "echo kept > kept.txt; ls"]);
    expect(stdout).toBe("kept.txt\n");
    const seen = await sandbox.runCode("ls; echo new > kept.txt", { language: "bash", isolate: true });
    expect(seen.stdout).toBe("main.sh\n");
    expect(await sandbox.files.readText("kept.txt")).toBe("kept\n");
  });

  it("runs beside many others, each with its own output", async () => {
    const numbers = Array.from({ length: 40 }, (_, index) => index);
    const results = await Promise.all(
      numbers.map((number) =>
        sandbox.runCode(
          `import os; open("number", "w").write("${number}"); print(${number} * 2, len(os.listdir(".")))`,
          { language: "python", isolate: true },
        ),
      ),
    );
    expect(results.map(({ stdout }) => stdout)).toEqual(numbers.map((number) => `${number * 2} 2\n`));
  });

  it("that takes all the memory it can is the only one that fails", async () => {
    const bomb = "held = []\nwhile True: held.append(b'x' * (1 << 20))";
    const quiet = "import time\nheld = b'x' * (20 << 20)\ntime.sleep(0.3)\nprint(len(held))";
    const [failed, ...others] = await Promise.all(
      [bomb, quiet, quiet, quiet].map((code) => sandbox.runCode(code, { language: "python", isolate: true })),
    );
    expect(failed).toMatchObject({ reason: "exited", exitCode: 1 });
    expect(failed?.stderr).toContain("MemoryError");
    expect(others.map(({ stdout }) => stdout)).toEqual(Array(3).fill(`${20 << 20}\n`));
  });
});

describe("a tool call in a cell", () => {
  it("has the limits that it asked for, whatever one before it had", async () => {
    const code = "import resource\nprint(resource.getrlimit(resource.RLIMIT_DATA)[0] >> 20)";
    for (const sessionId of [undefined, "limited"]) {
      for (const memoryMb of [100, 64, 100]) {
        const { stdout } = await manager.execute({
          sessionId,
          language: "python",
          code,
          isolate: { memoryMb },
        });
        expect(stdout).toBe(`${memoryMb}\n`);
      }
    }
    await manager.startSandbox("cells of 64", { cells: { memoryMb: 64 } });
    await expect(manager.startSandbox("cells of 64", { cells: { memoryMb: 100 } })).rejects.toMatchObject({
      code: "SANDBOX_BUSY",
      message: expect.stringContaining("other limits"),
    });
  });

  it("leaves the session's sandbox and its contexts as they are", async () => {
    const call = { sessionId: "with a context", language: "python" };
    await manager.execute({ ...call, context: "main", code: "kept = 42" });
    await manager.execute({ ...call, code: "1", isolate: true });
    const { stdout } = await manager.execute({ ...call, context: "main", code: "print(kept)" });
    expect(stdout).toBe("42\n");
  });

  it("is one of a sandbox for cells, in a session or not", async () => {
    const call = { language: "python", code: "import os; print(os.listdir('.'))", isolate: true };
    for (const sessionId of [undefined, "other"]) {
      const { stdout } = await manager.execute({ ...call, sessionId });
      expect(stdout).toBe("['main.py']\n");
    }
  });

  it.each([
    ["a directory", { cwd: "x" }],
    ["a file name", { filename: "x.py" }],
    ["input files", { files: { x: "y" } }],
    ["output files", { outputFiles: ["x"] }],
    ["a context", { context: "x", sessionId: "s" }],
  ])("takes no %s", async (_, more) => {
    const call = { language: "python", code: "print(1)", isolate: true, ...more };
    await expect(manager.execute(call)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  it("is code, not a command", async () => {
    await expect(manager.execute({ command: "ls", isolate: true })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  });
});

describe("cells", () => {
  it("are refused in a sandbox that was not made for them", async () => {
    const plain = await manager.startSandbox("plain");
    await expect(plain.runCode("1", { language: "python", isolate: true })).rejects.toMatchObject({
      code: "UNSUPPORTED",
      hint: expect.stringContaining("bubblewrap has cells"),
    });
    await expect(manager.startSandbox("plain", { cells: true })).rejects.toMatchObject({
      code: "SANDBOX_BUSY",
    });
  });

  it("are refused where the walls are another backend's", async () => {
    const other = new SandboxManager({ stateDir, backend: "subprocess", handleSignals: false });
    await expect(other.startSandbox("x", { cells: true })).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: "The backend subprocess has no cells",
    });
    await other.close();
  });

  it("are refused where programs share a directory of the host that they can write to", async () => {
    const config = await parseConfig({ sandbox: { filesystem: { allowWrite: ["/var/tmp"] } } });
    const other = new SandboxManager({ stateDir, backend: "bubblewrap", config, handleSignals: false });
    await expect(other.startSandbox("y", { cells: true })).rejects.toMatchObject({ code: "UNSUPPORTED" });
    await other.close();
  });

  it.each([
    [{ memoryMb: 1 }],
    [{ pids: 0 }],
    [{ workers: 1.5 }],
    [{ workers: 1000 }],
    [{ preload: [1] }],
    [{ unknown: 1 }],
  ])("refuse the options %j", async (cells) => {
    await expect(manager.startSandbox("z", { cells: cells as never })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  });

  it("take programs of 180 KiB at most", async () => {
    const code = `#${"x".repeat(180 * 1024)}`;
    await expect(sandbox.runCode(code, { language: "python", isolate: true })).rejects.toMatchObject({
      code: "FILE_TOO_LARGE",
    });
  });

  it("load modules ahead, again for every program", async () => {
    const own = await manager.startSandbox("preloaded", { cells: { preload: ["json", "decimal"] } });
    await own.prewarmCells();
    const code = "import json, sys; print(json.loads('[1]'), hasattr(json, 'mark')); json.mark = 1";
    for (let turn = 0; turn < 3; turn++) {
      const { stdout, warm } = await own.runCode(code, { language: "python", isolate: true });
      expect({ stdout, warm }).toEqual({ stdout: "[1] False\n", warm: true });
    }
  });
});

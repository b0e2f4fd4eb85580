import { Readable } from "node:stream";
import { beforeAll, describe, expect, it } from "vitest";
import { openManager } from "../../../test/setup/open-manager.js";
import type { SandboxManager } from "../../core/manager/index.js";
import { withoutSharedWorkspace } from "../../core/testing/without-shared-workspace.js";
import { registerBackend } from "../backends/registry.js";
import type { RunningSandbox } from "./index.js";

registerBackend("bubblewrap-over-wire", withoutSharedWorkspace("bubblewrap"));

/** Both ways to the files: a directory that is shared, and the guest. */
describe.each(["bubblewrap", "bubblewrap-over-wire"])("a sandbox of %s", (backend) => {
  let manager: SandboxManager;
  let sandbox: RunningSandbox;

  beforeAll(async () => {
    manager = openManager({ backend });
    sandbox = await manager.startSandbox("s", { ephemeral: true });
  });

  describe("Execution", () => {
    it("ends the program when its iterator is left early", async () => {
      for await (const event of sandbox.exec(["sh", "-c", "echo up; sleep 60"])) {
        if (event.type === "stdout") break;
      }
      await expect.poll(() => sandbox.activeExecutions).toBe(0);
    });

    it("keeps every event for a slow reader, also when it is awaited as well", async () => {
      const execution = sandbox.exec(["sh", "-c", "echo a; sleep 0.05; echo b"]);
      let text = "";
      for await (const event of execution) {
        if (event.type === "stdout") text += event.data.toString();
        if (event.type === "stdout")
          await Promise.race([execution, new Promise((resolve) => setTimeout(resolve, 150))]);
      }
      expect(text).toBe("a\nb\n");
    });

    it("tells what it printed when it is iterated after it was awaited", async () => {
      const execution = sandbox.exec(["sh", "-c", "echo out; echo err >&2"]);
      const result = await execution;
      const events: unknown[] = [];
      for await (const event of execution) events.push(event);
      expect(events[0]).toEqual({ type: "started", pid: expect.any(Number) });
      expect(events.slice(1, 3)).toEqual(
        expect.arrayContaining([
          { type: "stdout", text: "out\n", data: Buffer.from("out\n") },
          { type: "stderr", text: "err\n", data: Buffer.from("err\n") },
        ]),
      );
      expect(events.slice(3)).toEqual([{ type: "exit", result }]);
    });

    it("cuts no character in two, and tells what is none at the end", async () => {
      const halves = "printf '\\303'; sleep 0.2; printf '\\251\\303'";
      const texts: string[] = [];
      for await (const event of sandbox.exec(["sh", "-c", halves]))
        if (event.type === "stdout") texts.push(event.text);
      expect(texts.join("")).toBe("\u00e9\ufffd");
    });

    it("fails when standard input fails, instead of passing for a whole one", async () => {
      const broken = Readable.from(
        (async function* () {
          yield "part";
          throw new Error("gave up");
        })(),
      );
      await expect(sandbox.exec(["cat"], { stdin: broken })).rejects.toMatchObject({
        code: "EXECUTION_FAILED",
      });
    });

    it("counts both outputs against one limit, streaming or not", async () => {
      const command = ["sh", "-c", "head -c 900 /dev/zero; head -c 900 /dev/zero >&2; sleep 5"];
      const run = () => sandbox.exec(command, { maxOutputBytes: 1000 });
      expect(await run()).toMatchObject({ reason: "output-limit" });
      for await (const event of run())
        if (event.type === "exit") expect(event.result.reason).toBe("output-limit");
    });

    it.each([
      ["a command without a program", () => sandbox.exec([])],
      ["a number among the arguments", () => sandbox.exec(["echo", 5 as unknown as string])],
      ["a number as input", () => sandbox.exec(["cat"], { stdin: 5 as unknown as string })],
      ["no code", () => sandbox.runCode(undefined as unknown as string, { language: "python" })],
      ["no language", () => sandbox.runCode("1", undefined as unknown as { language: string })],
    ])("refuses %s", async (_, run) => {
      await expect(run()).rejects.toMatchObject({ code: "INVALID_ARGUMENT", hint: expect.any(String) });
      expect(sandbox.activeExecutions).toBe(0);
    });
  });

  describe("runCode", () => {
    it("returns the result whatever the program put in its own place", async () => {
      const code =
        "import os\nos.remove('main.py')\nos.makedirs('main.py/x')\nopen('main.py/.env', 'w')\nprint('done')";
      expect(await sandbox.runCode(code, { language: "python" })).toMatchObject({
        success: true,
        stdout: "done\n",
      });
      await sandbox.exec(["rm", "-rf", "main.py"]);
    });

    it("does not name other programs' files among the changes", async () => {
      const code = "import time\ntime.sleep(0.2)\nopen('out.txt', 'a').write('x')";
      const results = await Promise.all([1, 2, 3].map(() => sandbox.runCode(code, { language: "python" })));
      for (const { filesWritten, filesDeleted } of results) {
        expect([filesWritten.filter((path) => path.startsWith("main")), filesDeleted]).toEqual([[], []]);
      }
    });

    it("runs nothing of the session's own between two programs", async () => {
      const session = await manager.startSandbox("zygote");
      await session.runCode(
        "import os, site\nd = site.getusersitepackages()\nos.makedirs(d)\nopen(d + '/usercustomize.py', 'w').write('import os\\nif os.fork() == 0:\\n  import time\\n  while True: open(\"/tmp/beat\", \"a\").write(\".\"); time.sleep(0.05)\\n')",
        { language: "python" },
      );
      await session.prewarm("python").catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect((await session.exec(["ls", "/tmp"])).stdout).toBe("");
    });
  });

  describe("the report of changes", () => {
    it("leaves out what a terminal and the host change between two executions", async () => {
      const terminal = await sandbox.terminal({ rows: 24, columns: 80, argv: ["sh"] });
      terminal.output.resume();
      await sandbox.exec(["true"]);
      terminal.input.write("echo typed > typed.txt\n");
      await expect.poll(() => sandbox.files.exists("typed.txt")).toBe(true);
      expect((await sandbox.exec(["true"])).filesWritten).toEqual([]);
      terminal.input.write("exit\n");
      await terminal.exit;
      await sandbox.files.write("by-host.txt", "x");
      await sandbox.files.writeNew("new-by-host.txt", "x");
      expect((await sandbox.exec(["true"])).filesWritten).toEqual([]);
      expect((await sandbox.exec(["rm", "by-host.txt"])).filesDeleted).toEqual(["by-host.txt"]);
    });

    it("leaves out what an earlier program put in its own place", async () => {
      const code = "import os\nos.remove('main.py')\nos.mkdir('main.py')\nopen('main.py/left', 'w')";
      expect((await sandbox.runCode(code, { language: "python" })).filesWritten).toEqual([]);
      expect((await sandbox.exec(["true"])).filesWritten).toEqual([]);
      expect((await sandbox.exec(["rm", "-r", "main.py"])).filesDeleted).toEqual(["main.py/left"]);
    });

    it("names a program's own work, but no program, however many come and go", async () => {
      const run = (index: number) =>
        sandbox.runCode(`echo ${index} > own-${index}.txt`, { language: "bash" });
      const results = await Promise.all(Array.from({ length: 8 }, (_, index) => run(index)));
      for (const [index, { filesWritten, filesDeleted }] of results.entries()) {
        expect(filesWritten).toContain(`own-${index}.txt`);
        expect([...filesWritten, ...filesDeleted].filter((path) => path.startsWith("main"))).toEqual([]);
      }
    });
  });
});

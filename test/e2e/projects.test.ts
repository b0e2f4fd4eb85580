import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, expect } from "vitest";
import { requires } from "../setup/requires.js";
import { atTerminal } from "./at-terminal.js";
import { startMcp } from "./mcp-client.js";
import { createUser, LAUNCHER, ROOT, type User } from "./run-skerry.js";

const { describe, it } = requires("linux", "bubblewrap", "python3");

/** The command itself: the launcher in front of it would set up the checkout. */
const COMMAND = join(ROOT, "dist/bin/skerry.cjs");

let user: User;
let project: string;
beforeEach(() => {
  user = createUser();
  project = join(user.home, "proj");
  mkdirSync(project);
});

function put(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(project, path)), { recursive: true });
    writeFileSync(join(project, path), text);
  }
}

const skerry = (...args: string[]) => user.skerry(args, { cwd: project });
const at = (steps: Parameters<typeof atTerminal>[1], ...args: string[]) =>
  atTerminal([LAUNCHER, ...args], steps, { env: user.environment, cwd: project });

describe("a project", { timeout: 180_000 }, () => {
  it("is there for make, and what changed comes back when the person has looked at it", () => {
    put({ Makefile: "all:\n\tcp in.txt out.txt\n", "in.txt": "hello\n", ".env": "KEY=1", ".git/HEAD": "x" });
    expect(
      skerry("exec", "--session", "s", "--mount", ".", "--", "sh", "-c", "cat in.txt > out.txt; cat .env"),
    ).toEqual({
      status: 1,
      stdout: "",
      stderr: [
        `skerry: copied ${project} into the workspace: 2 files, 30 B`,
        "skerry: left out: secrets: 1 (.env); git's own files: 1 (.git)",
        "cat: .env: No such file or directory",
        "",
      ].join("\n"),
    });
    const patch = [
      "diff --git a/out.txt b/out.txt",
      "new file mode 100644",
      "--- /dev/null",
      "+++ b/out.txt",
      "@@ -0,0 +1,1 @@",
      "+hello",
      "",
    ].join("\n");
    expect(skerry("diff", "--session", "s")).toEqual({ status: 0, stdout: patch, stderr: "" });
    expect(skerry("diff", "--session", "s", "--stat").stdout).toBe("A  out.txt  +1 -0\n");
    expect(JSON.parse(skerry("diff", "-s", "s", "--json").stdout)).toMatchObject({
      source: project,
      changes: [{ path: "out.txt", change: "created" }],
      conflicts: [],
      patch,
    });
    expect(skerry("apply", "--session", "s")).toMatchObject({ status: 77, stdout: patch });
    expect(existsSync(join(project, "out.txt"))).toBe(false);
    expect(skerry("apply", "--session", "s")).toMatchObject({
      status: 77,
      stderr: expect.stringContaining("looked at: skerry diff --session s\n"),
    });
    expect(skerry("apply", "--session", "s", "--yes")).toEqual({
      status: 0,
      stdout: patch,
      stderr: `skerry: 1 written, 0 removed in ${project}\n`,
    });
    expect(readFileSync(join(project, "out.txt"), "utf8")).toBe("hello\n");
    expect(skerry("diff", "--session", "s")).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  it("is refused where it was changed outside meanwhile, and dropped with discard", () => {
    put({ a: "1\n" });
    skerry("exec", "-s", "s", "--mount", ".", "--", "sh", "-c", "echo 2 > a");
    put({ a: "3\n" });
    const refused = skerry("apply", "-s", "s", "--yes");
    expect(refused).toMatchObject({ status: 73 });
    expect(refused.stderr).toContain("skerry: cannot apply: a was changed outside\n");
    expect(readFileSync(join(project, "a"), "utf8")).toBe("3\n");
    expect(skerry("exec", "-s", "s", "--mount", ".", "--", "cat", "a")).toEqual({
      status: 0,
      stdout: "2\n",
      stderr: `skerry: ${project} is in the session with changes, and was not copied again: skerry diff --session s\n`,
    });
    expect(skerry("discard", "-s", "s", "--yes")).toEqual({
      status: 0,
      stdout: "M  a  +1 -1\n",
      stderr: "skerry: 1 file is as before\n",
    });
    expect(skerry("exec", "-s", "s", "--mount", ".", "--", "cat", "a").stdout).toBe("3\n");
  });

  it("says what is wrong with a mount or a session", () => {
    expect(skerry("exec", "--mount", "/", "--", "true")).toMatchObject({ status: 64 });
    expect(skerry("exec", "--mount", ".:x:rw", "--", "true")).toMatchObject({ status: 69 });
    expect(skerry("exec", "--mount", "..", "--", "true").stderr).toContain(
      "This is the whole home directory",
    );
    expect(skerry("diff", "-s", "none")).toMatchObject({ status: 66 });
    skerry("exec", "-s", "plain", "--", "true");
    expect(skerry("diff", "-s", "plain").stderr).toContain("No directory was copied into this session");
  });

  it("shows a person nothing that acts on the terminal, and asks", async () => {
    put({ a: "1\n" });
    put({
      "../hostile.py": `
open("a", "w").write("\\x1b]0;title\\x07\\u202e\\tx\\n")
open("n\\x1b[2J\\nname", "w").write("x")
`,
    });
    user.skerry(["run", "-s", "s", "--mount", "proj", "hostile.py"]);
    const refused = await at([{ expect: "[y/N] ", send: "n\n" }], "apply", "-s", "s");
    expect(refused.status).toBe(1);
    expect(readFileSync(join(project, "a"), "utf8")).toBe("1\n");
    const { lines, status } = await at([{ expect: "[y/N] ", send: "y\n" }], "apply", "-s", "s");
    expect(status).toBe(0);
    expect(lines).toContain("+\\x1b]0;title\\x07\\u{202e}\tx");
    expect(lines).toContain('+++ "b/n\\033[2J\\nname"');
    expect(readFileSync(join(project, "a"), "utf8")).toBe("\x1b]0;title\x07\u202e\tx\n");
    expect(existsSync(join(project, "n\x1b[2J\nname"))).toBe(true);
  });
});

describe("skerry run", { timeout: 180_000 }, () => {
  it("imports what is beside the program, without its secrets, unless it is to be alone", () => {
    put({ "main.py": "import helper, pkg.part\nprint(open('.env').read())", "helper.py": "print('helped')" });
    put({ "pkg/part.py": "print('part')", ".env": "KEY=1" });
    const ran = skerry("run", "main.py");
    expect(ran).toMatchObject({ status: 1, stdout: "helped\npart\n" });
    expect(ran.stderr).toContain("FileNotFoundError");
    expect(skerry("run", "--alone", "main.py").stderr).toContain("No module named 'helper'");
    expect(user.skerry(["run", "proj/helper.py"]).stdout).toBe("helped\n");
  });

  it("says so on a terminal in one line, and runs alone in a home directory", async () => {
    put({ "main.py": "import helper", "helper.py": "print('helped')", ".env": "x" });
    expect((await at([], "run", "main.py")).lines).toEqual([
      "skerry: main.py runs with the file beside it, without 1 secret; --alone leaves them out",
      "helped",
      "",
    ]);
    put({ "policy.yaml": "policies:\n  tools:\n    run_code: {}\n", "main.py": "print(1)" });
    expect((await at([], "run", "--policy", "policy.yaml", "main.py")).lines).toEqual([
      "skerry: main.py runs alone, since its calls are decided about (policy, --security-mode, --confirm); --mount . copies the directory in",
      "1",
      "",
    ]);
    put({ "../main.py": "print(1)" });
    const home = await atTerminal([LAUNCHER, "run", "main.py"], [], {
      env: user.environment,
      cwd: user.home,
    });
    expect(home.lines).toEqual([
      "skerry: main.py runs alone, its directory is no project; --mount DIR copies a directory in",
      "1",
      "",
    ]);
  });

  it("runs alone where the directory has too much", () => {
    put({ "main.py": "import os; print(len(os.listdir('.')))" });
    for (let index = 0; index < 501; index++) put({ [`f${index}`]: "" });
    expect(skerry("run", "main.py")).toEqual({ status: 0, stdout: "1\n", stderr: "" });
  });
});

describe("skerry mcp --project", { timeout: 180_000 }, () => {
  it("leaves no session behind where there is no such project", () => {
    const before = user.skerry(["sessions", "ls", "--json"]).stdout;
    expect(user.skerry(["mcp", "--project", "nowhere"])).toMatchObject({
      status: 66,
      stderr: expect.stringContaining("nowhere"),
    });
    expect(user.skerry(["sessions", "ls", "--json"]).stdout).toBe(before);
  });

  it("has the model work on a copy, with a checkpoint before each change, until the person applies it", async () => {
    put({ "a.txt": "one\n", ".env": "KEY" });
    const { client, call, stderr } = await startMcp(user, ["--project", "proj"]);
    expect(await call("shell_exec", { command: "ls -A; cat a.txt" })).toMatchObject({ isError: false });
    await call("file_write", { path: "a.txt", content: "two\n" });
    await call("file_read", { path: "a.txt" });
    await client.close();
    const [, session] = /skerry diff --session (proj-[0-9a-f]{6}),/.exec(stderr()) ?? [];
    expect(stderr()).toContain("left out: secrets: 1 (.env)");
    expect(readFileSync(join(project, "a.txt"), "utf8")).toBe("one\n");
    const names = JSON.parse(skerry("snapshots", "ls", "-s", session!, "--json").stdout);
    expect(names.map(({ name }: { name: string }) => name)).toEqual([
      expect.stringMatching(/^before file_write \(checkpoint /),
      expect.stringMatching(/^before shell_exec \(checkpoint /),
    ]);
    expect(skerry("diff", "-s", session!, "--stat").stdout).toBe("M  a.txt  +1 -1\n");
    expect(skerry("apply", "-s", session!, "--yes")).toMatchObject({ status: 0 });
    expect(readFileSync(join(project, "a.txt"), "utf8")).toBe("two\n");
  });
});

describe("skerry files", { timeout: 180_000 }, () => {
  it("put and get take directories", () => {
    put({ "d/a": "1", "d/e/b": "2", "d/.env": "KEY" });
    expect(skerry("files", "put", "-s", "s", "d")).toEqual({
      status: 0,
      stdout: "",
      stderr: "skerry: left out: secrets: 1 (.env)\n",
    });
    expect(skerry("files", "ls", "-s", "s", "-r").stdout).toBe("d\nd/a\nd/e\nd/e/b\n");
    expect(skerry("files", "get", "-s", "s", "d", "out")).toEqual({ status: 0, stdout: "", stderr: "" });
    expect(readFileSync(join(project, "out/e/b"), "utf8")).toBe("2");
    expect(skerry("files", "get", "-s", "s", "d", "out")).toMatchObject({ status: 73 });
  });
});

describe("an ordinary user", { timeout: 180_000 }, () => {
  const asNobody = requires("linux", "root", "bubblewrap", "python3");

  asNobody.it("has a project copied in and brought back, without what only others may read", () => {
    put({ "main.py": "import helper", "helper.py": "print('helped')", "closed/x": "x", "closed.txt": "x" });
    for (const path of ["closed", "closed.txt"]) chmodSync(join(project, path), 0o600);
    for (const path of [".", "main.py", "helper.py"]) chownSync(join(project, path), 65534, 65534);
    chownSync(user.home, 65534, 65534);
    const env = { ...user.environment, HOME: join(user.home, "none"), PATH: process.env.PATH ?? "" };
    const nobody = (...args: string[]) => {
      const command = [
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        process.execPath,
        COMMAND,
        ...args,
      ];
      const { status, stdout, stderr } = spawnSync("setpriv", command, {
        cwd: project,
        env,
        encoding: "utf8",
      });
      return { status, stdout, stderr };
    };
    expect(nobody("run", "main.py")).toMatchObject({ status: 0, stdout: "helped\n" });
    const ran = nobody(
      "exec",
      "-s",
      "s",
      "--mount",
      ".",
      "--",
      "sh",
      "-c",
      "ls; echo 1 > new; chmod 0 main.py",
    );
    expect(ran).toMatchObject({ status: 0, stdout: "closed\nhelper.py\nmain.py\n" });
    expect(ran.stderr).toContain("left out: unreadable: 2 (closed, closed.txt)\n");
    expect(nobody("apply", "-s", "s", "--yes")).toMatchObject({
      status: 0,
      stderr: expect.stringContaining("skerry: left out: unreadable: 1 (main.py)\n"),
    });
    expect(statSync(join(project, "new")).uid).toBe(65534);
    expect(readFileSync(join(project, "main.py"), "utf8")).toBe("import helper");
  });
});

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect } from "vitest";
import { requires } from "../setup/requires.js";
import { atTerminal } from "./at-terminal.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const launcher = join(root, "skerry");
const { describe, it } = requires("linux", "bubblewrap", "python3");

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "skerry-e2e-"));
  // The sandbox's own user must be able to pass through.
  chmodSync(home, 0o711);
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const environment = (extra: Record<string, string> = {}) => ({
  PATH: process.env.PATH ?? "/usr/bin:/bin",
  HOME: home,
  SKERRY_STATE_DIR: join(home, "state"),
  ...extra,
});

/** Runs the launcher to its end. */
function skerry(
  args: string[],
  options: { input?: string | Uint8Array; env?: Record<string, string>; cwd?: string } = {},
) {
  const { status, stdout, stderr } = spawnSync(launcher, args, {
    input: options.input ?? "",
    cwd: options.cwd ?? root,
    env: environment(options.env),
    encoding: "utf8",
    maxBuffer: 256 * 1024 * 1024,
  });
  return { status, stdout, stderr };
}

function start(args: string[], options: { detached?: boolean } = {}): ChildProcess {
  return spawn(launcher, args, { ...options, env: environment(), stdio: ["ignore", "pipe", "pipe"] });
}

/** Starts a command and waits until it has printed something. */
async function startAndWait(args: string[], options: { detached?: boolean } = {}): Promise<ChildProcess> {
  const child = start(args, options);
  let complaints = "";
  child.stderr!.on("data", (chunk) => {
    complaints += chunk;
  });
  const ended = once(child, "exit").then(([status]) => {
    throw new Error(`ended with ${status} before it printed anything: ${complaints}`);
  });
  await Promise.race([once(child.stdout!, "data"), ended]);
  ended.catch(() => undefined);
  return child;
}

describe("skerry run", () => {
  it.each(["py", "js", "ts", "sh"])("runs examples/hello.%s", (extension) => {
    const { status, stdout, stderr } = skerry(["run", `examples/hello.${extension}`]);
    expect(stderr).toBe("");
    expect(stdout).toMatch(/^Hello from /);
    expect(status).toBe(0);
  });

  it("blocks every attempt of examples/blocked.py", () => {
    const { status, stdout } = skerry(["run", "examples/blocked.py"]);
    expect(stdout).not.toContain("REACHED");
    expect(stdout.match(/: blocked \(/g)).toHaveLength(5);
    expect(status).toBe(0);
  });

  it("prints one object with exactly the promised keys", () => {
    const { status, stdout, stderr } = skerry([
      "run",
      "--language",
      "python",
      "--code",
      "print(40+2)",
      "--json",
    ]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    // What was read is told where the host could look in time.
    const { filesRead = [], ...result } = JSON.parse(stdout);
    expect(filesRead).toEqual([]);
    expect(result).toEqual({
      version: 1,
      success: true,
      reason: "exited",
      exitCode: 0,
      signal: null,
      stdout: "42\n",
      stderr: "",
      truncated: false,
      executionTimeMs: expect.any(Number),
      cpuTimeMs: expect.any(Number),
      memoryUsedMb: expect.any(Number),
      sandboxType: "bubblewrap",
      sandboxId: expect.any(String),
      sessionId: expect.any(String),
      filesWritten: [],
      filesDeleted: [],
      fileChanges: [],
      warm: expect.any(Boolean),
      auditId: expect.any(String),
    });
  });

  it("reads the program from standard input", () => {
    const input = "console.log(process.argv.slice(2).join())";
    expect(skerry(["run", "--language", "javascript", "-", "--", "a", "--b"], { input })).toEqual({
      status: 0,
      stdout: "a,--b\n",
      stderr: "",
    });
  });

  it("passes standard input, the environment and the two outputs", () => {
    const code = "import os,sys; print(input(), os.environ['X']); print('err', file=sys.stderr); sys.exit(7)";
    expect(skerry(["run", "-l", "python", "-c", code, "-e", "X=y"], { input: "line\n" })).toEqual({
      status: 7,
      stdout: "line y\n",
      stderr: "err\n",
    });
  });

  it("puts files in and fetches files, also when the program failed", () => {
    const input = join(home, "in.txt");
    const output = join(home, "out.txt");
    writeFileSync(input, "hello");
    const code = "open('out.txt','w').write(open('data/in.txt').read().upper()); raise SystemExit(3)";
    const files = ["--input", `${input}:data/in.txt`, "--output", `out.txt:${output}`];
    expect(skerry(["run", "-l", "python", "-c", code, ...files])).toEqual({
      status: 3,
      stdout: "",
      stderr: "",
    });
    expect(readFileSync(output, "utf8")).toBe("HELLO");
  });

  it("ends with 124 and the reason after a timeout", () => {
    const args = ["run", "-l", "python", "-c", "while True: pass", "--timeout", "500ms"];
    expect(skerry(args)).toEqual({ status: 124, stdout: "", stderr: "skerry: Execution timeout (0.5s)\n" });
  });

  it("ends with 137 and the reason when memory runs out", () => {
    const args = ["run", "-l", "python", "-c", "bytearray(10**9)", "--memory", "64mb"];
    const { status, stdout, stderr } = skerry(args);
    expect({ status, stdout }).toEqual({ status: 137, stdout: "" });
    expect(stderr).toMatch(/^skerry: .*memory/im);
  });

  it("ends quietly when its reader has seen enough", async () => {
    const child = await startAndWait(["exec", "--", "yes"]);
    let complaints = "";
    child.stderr!.on("data", (chunk) => {
      complaints += chunk;
    });
    child.stdout!.destroy();
    const [status] = await once(child, "close");
    expect({ status, complaints }).toEqual({ status: 141, complaints: "" });
  });

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("cancels on %s with status %d", async (signal, expected) => {
    const child = await startAndWait(["exec", "--", "sh", "-c", "echo on; sleep 1000"]);
    child.kill(signal);
    const [status] = await once(child, "exit");
    expect(status).toBe(expected);
  });

  it.each([
    [
      "python",
      "import sys, time\ntry:\n  print('on', flush=True)\n  time.sleep(1000)\nexcept KeyboardInterrupt:\n  print('bye')\n  sys.exit(3)",
    ],
    [
      "javascript",
      "process.on('SIGINT', () => { console.log('bye'); process.exit(3) }); setInterval(() => {}, 1e6); console.log('on')",
    ],
    ["bash", "trap 'echo bye; exit 3' INT; echo on; sleep 1000"],
  ])("passes a Ctrl-C on to a program of %s, which ends by itself", async (language, code) => {
    const child = await startAndWait(["run", "-l", language, "-c", code]);
    let printed = "";
    child.stdout!.on("data", (chunk) => {
      printed += chunk;
    });
    child.kill("SIGINT");
    const [status] = await once(child, "close");
    expect({ status, printed }).toEqual({ status: 3, printed: "bye\n" });
  });

  it("gives a program that takes no notice of a Ctrl-C two seconds", async () => {
    const child = await startAndWait(["exec", "--", "sh", "-c", "trap '' INT; echo on; sleep 1000"]);
    const signalledAt = performance.now();
    child.kill("SIGINT");
    const [status] = await once(child, "exit");
    expect(status).toBe(130);
    expect(performance.now() - signalledAt).toBeGreaterThan(1900);
  });

  it("ends with the second Ctrl-C what took no notice of the first", async () => {
    const script = "trap 'echo got' INT; echo on; while :; do sleep 0.1; done";
    const child = await startAndWait(["exec", "--", "bash", "-c", script]);
    const heard = once(child.stdout!, "data");
    child.kill("SIGINT");
    expect(String(await heard)).toBe("got\n");
    child.kill("SIGINT");
    expect(await once(child, "exit")).toEqual([130, null]);
  });

  it("cancels on a Ctrl-C, which reaches everything in the terminal's group", async () => {
    const child = await startAndWait(["exec", "--", "sh", "-c", "echo on; sleep 1000"], { detached: true });
    process.kill(-child.pid!, "SIGINT");
    expect(await once(child, "exit")).toEqual([130, null]);
  });

  it.each<[string, string[], number, string]>([
    ["a missing file", ["run", "nowhere.py"], 66, "skerry: nowhere.py: there is no such file\n"],
    ["an unknown language", ["run", "-l", "cobol", "-c", "x"], 64, 'skerry: Unknown language "cobol"\n'],
    ["a timeout of zero", ["run", "-l", "python", "-c", "1", "--timeout", "0"], 64, "skerry: --timeout: "],
    ["an unknown backend", ["exec", "--backend", "nope", "--", "true"], 64, "skerry: "],
    ["a session name with a slash", ["exec", "--session", "../a", "--", "true"], 64, "skerry: "],
    ["a command that is not there", ["exec", "--", "no-such-command"], 127, "skerry: "],
  ])("refuses %s", (_, args, status, message) => {
    const result = skerry(args);
    expect(result).toEqual({ status, stdout: "", stderr: expect.stringContaining(message) });
    const json = skerry([args[0]!, "--json", ...args.slice(1)]);
    expect(JSON.parse(json.stdout)).toEqual({
      error: expect.objectContaining({ message: expect.any(String) }),
    });
    expect(json).toMatchObject({ status, stderr: "" });
  });

  it.each([
    [["run", "-l", "pyton", "-c", "1"], "Did you mean python? Known languages: "],
    [["exec", "--backend", "bubblewarp", "--", "true"], "Did you mean bubblewrap? Known backends: auto, "],
    [["exec", "ls -la"], "For a shell's command line: skerry exec -- sh -c 'ls -la'"],
    [["exec", "echo 'a'; id"], "For a shell's command line: skerry exec -- sh -c 'echo '\\''a'\\''; id'"],
  ])("says what was probably meant by %j", (args, hint) => {
    expect(skerry(args).stderr).toContain(`\nhint: ${hint}`);
  });

  it("refuses a configuration with a misspelt key", () => {
    const config = join(home, "bad.yaml");
    writeFileSync(config, "sandbox:\n  netwrok: {}\n");
    expect(skerry(["run", "examples/hello.py", "--config", config])).toMatchObject({
      status: 78,
      stdout: "",
      stderr: expect.stringContaining(`${config}: sandbox.netwrok: unknown key, did you mean "network"?`),
    });
  });
});

describe("skerry files and sessions", () => {
  it("keep a session's files until it is removed", () => {
    const source = join(home, "data.bin");
    const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => index % 251);
    writeFileSync(source, bytes);
    const session = ["--session", "e2e"];
    expect(skerry(["files", "ls", ...session])).toMatchObject({ status: 66 });
    expect(skerry(["files", "put", ...session, source, "in/data.bin"])).toEqual({
      status: 0,
      stdout: "",
      stderr: "",
    });
    expect(skerry(["exec", ...session, "--", "wc", "-c", "in/data.bin"]).stdout).toBe("300000 in/data.bin\n");
    expect(skerry(["files", "ls", ...session, "in"]).stdout).toBe("in/data.bin\n");
    expect(skerry(["files", "get", ...session, "in/data.bin", "back.bin"], { cwd: home }).status).toBe(0);
    expect(readFileSync(join(home, "back.bin")).equals(bytes)).toBe(true);
    expect(skerry(["sessions"]).stdout).toBe("e2e\n");
    expect(skerry(["files", "rm", ...session, "-r", "in"]).status).toBe(0);
    expect(skerry(["files", "cat", ...session, "in/data.bin"])).toMatchObject({ status: 66, stdout: "" });
    expect(skerry(["sessions", "rm", "e2e"])).toEqual({ status: 0, stdout: "", stderr: "" });
    expect(skerry(["sessions"]).stdout).toBe("");
  });
});

describe("skerry doctor", () => {
  it("says what this host can do", () => {
    const { status, stdout } = skerry(["doctor", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: true,
      backends: expect.any(Array),
      languages: expect.any(Array),
    });
    expect(status).toBe(0);
  });

  it("begins with the verdict, and keeps the details for -v", () => {
    const { stdout } = skerry(["doctor"]);
    expect(stdout).toMatch(/^Ready: bubblewrap\. \d+ suggestions?\.\n/);
    expect(stdout).not.toContain("Backends");
    const verbose = skerry(["doctor", "-v"]).stdout;
    expect(verbose.split("\n")[0]).toBe(stdout.split("\n")[0]);
    expect(verbose).toMatch(/\nBackends\n.*bubblewrap/);
  });
});

describe("the launcher", () => {
  it("finds its directory through links, from anywhere", () => {
    const bin = join(home, "bin");
    mkdirSync(bin);
    symlinkSync(launcher, join(bin, "absolute"));
    symlinkSync("absolute", join(bin, "relative"));
    const { status, stdout } = spawnSync(join(bin, "relative"), ["--version"], {
      cwd: "/",
      encoding: "utf8",
    });
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });
});

describe("skerry shell", () => {
  it("is a terminal inside, and ends with the shell's status", () => {
    const driver = `
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "shell"])
os.write(fd, b"tty && echo $((6*7)); exit 3\\n")
out = b""
try:
    while chunk := os.read(fd, 4096):
        out += chunk
except OSError:
    pass
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(status, b"/dev/pts/" in out, b"\\n42\\r" in out.replace(b"\\r\\r", b"\\r"))
`;
    const { stdout } = spawnSync("/usr/bin/python3", ["-c", driver, launcher], {
      env: environment({ TERM: "xterm" }),
      encoding: "utf8",
    });
    expect(stdout).toBe("3 True True\n");
  });

  it.each([
    [[], "(skerry) "],
    [["--session", "where"], "(skerry where) "],
    [["--session", "$(id)"], "(skerry) "],
    [["--env", "PS1=mine: "], "mine: "],
  ])("says in its prompt where it is: %j", async (options, prompt) => {
    const { lines, status } = await atTerminal(
      [launcher, "shell", ...options],
      [{ expect: prompt, send: "exit 3\r" }],
      { env: environment(), cwd: home },
    );
    expect(lines[0]!.startsWith(prompt)).toBe(true);
    expect(status).toBe(3);
  });
});

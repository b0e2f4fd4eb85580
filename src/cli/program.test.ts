import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ExecuteOptions } from "./definition/options.js";

const calls = vi.hoisted(() => ({ list: [] as unknown[][], status: 0, failure: undefined as unknown }));
const record =
  (name: string) =>
  async (...args: unknown[]) => {
    calls.list.push([name, ...args]);
    if (calls.failure !== undefined) throw calls.failure;
    return calls.status;
  };
vi.mock("./commands/run/run.js", () => ({ run: record("run") }));
vi.mock("./commands/exec/exec.js", () => ({ exec: record("exec") }));
vi.mock("./commands/shell/shell.js", () => ({ shell: record("shell") }));
vi.mock("./commands/test/test.js", () => ({ test: record("test") }));
vi.mock("./commands/files/files.js", () => ({
  list: record("files ls"),
  print: record("files cat"),
  put: record("files put"),
  get: record("files get"),
  remove: record("files rm"),
}));
vi.mock("./commands/sessions/sessions.js", () => ({
  list: record("sessions ls"),
  remove: record("sessions rm"),
}));
vi.mock("./commands/snapshots/snapshots.js", () => ({
  create: record("snapshots create"),
  list: record("snapshots ls"),
  restore: record("snapshots restore"),
  remove: record("snapshots rm"),
  exportArchive: record("snapshots export"),
  importArchive: record("snapshots import"),
  fork: record("snapshots fork"),
}));
vi.mock("./commands/policy/policy.js", () => ({
  init: record("policy init"),
  check: record("policy check"),
}));
vi.mock("./commands/policy/explain.js", () => ({ explainCall: record("policy explain") }));
vi.mock("./commands/risk/risk.js", () => ({ assessProgram: record("risk assess") }));
vi.mock("./commands/audit/audit.js", () => ({
  tail: record("audit tail"),
  query: record("audit query"),
  verify: record("audit verify"),
}));
vi.mock("./commands/doctor/doctor.js", () => ({ doctor: record("doctor") }));
vi.mock("./commands/bench/bench.js", () => ({ bench: record("bench") }));

const { SandboxError } = await import("../kit/errors.js");
const { createProgram, runProgram } = await import("./program.js");
const { stderr, stdout } = await import("./output/output.js");

let printed: { out: string; err: string };
beforeEach(() => {
  calls.list = [];
  calls.status = 0;
  calls.failure = undefined;
  printed = { out: "", err: "" };
  vi.spyOn(stdout, "write").mockImplementation(async (data) => {
    printed.out += String(data);
  });
  vi.spyOn(stderr, "write").mockImplementation(async (data) => {
    printed.err += String(data);
  });
  vi.spyOn(process.stdout, "write").mockImplementation((data) => {
    printed.out += String(data);
    return true;
  });
  vi.spyOn(process.stderr, "write").mockImplementation((data) => {
    printed.err += String(data);
    return true;
  });
});
afterEach(() => vi.restoreAllMocks());

const skerry = (...argv: string[]) => runProgram(createProgram(), argv);

describe("a command line", () => {
  it.each<[string[], unknown[]]>([
    [
      ["run", "a.py"],
      ["run", ["a.py"], { color: true, audit: true }],
    ],
    [
      ["run", "a.py", "--json", "--", "--json", "-x"],
      ["run", ["a.py", "--json", "-x"], { color: true, audit: true, json: true }],
    ],
    [
      ["run", "-l", "python", "-c", "1", "--", "x"],
      ["run", ["x"], { color: true, audit: true, language: "python", code: "1" }],
    ],
    [
      ["run", "--language", "python", "-"],
      ["run", ["-"], { color: true, audit: true, language: "python" }],
    ],
    [
      ["exec", "--", "ls", "-la", "--json"],
      ["exec", ["ls", "-la", "--json"], { color: true, audit: true }],
    ],
    [
      ["exec", "-s", "w", "ls", "-la", "--json"],
      ["exec", ["ls", "-la", "--json"], { color: true, audit: true, session: "w" }],
    ],
    [["shell"], ["shell", [], { color: true, audit: true }]],
    [
      ["shell", "--session", "w", "python3", "-i"],
      ["shell", ["python3", "-i"], { color: true, audit: true, session: "w" }],
    ],
    [
      ["test", "a.py", "--tests", "t.py", "--timeout", "5s", "--together", "--json"],
      [
        "test",
        ["a.py"],
        { color: true, audit: true, tests: "t.py", timeout: 5000, together: true, json: true },
      ],
    ],
    [
      ["files", "ls", "--session", "w"],
      ["files ls", [], { color: true, session: "w" }],
    ],
    [
      ["files", "rm", "-rs", "w", "a", "b"],
      ["files rm", ["a", "b"], { color: true, session: "w", recursive: true }],
    ],
    [
      ["files", "put", "a", "b", "-s", "w"],
      ["files put", ["a", "b"], { color: true, session: "w" }],
    ],
    [["sessions"], ["sessions ls", { color: true }]],
    [
      ["sessions", "--json"],
      ["sessions ls", { color: true, json: true }],
    ],
    [
      ["sessions", "rm", "a", "b"],
      ["sessions rm", ["a", "b"], { color: true }],
    ],
    [
      ["sessions", "rm", "a", "--json"],
      ["sessions rm", ["a"], { color: true, json: true }],
    ],
    [
      ["snapshots", "create", "-s", "w", "--name", "n"],
      ["snapshots create", { color: true, session: "w", name: "n" }],
    ],
    [
      ["snapshots", "ls", "-s", "w", "--json"],
      ["snapshots ls", { color: true, session: "w", json: true }],
    ],
    [
      ["snapshots", "restore", "-s", "w", "id", "--backend", "b"],
      ["snapshots restore", ["id"], { color: true, session: "w", backend: "b" }],
    ],
    [
      ["snapshots", "rm", "-s", "w", "a", "b"],
      ["snapshots rm", ["a", "b"], { color: true, session: "w" }],
    ],
    [
      ["snapshots", "export", "-s", "w", "id", "-"],
      ["snapshots export", ["id", "-"], { color: true, session: "w" }],
    ],
    [
      ["snapshots", "import", "-s", "w", "f", "--name", "n"],
      ["snapshots import", ["f"], { color: true, session: "w", name: "n" }],
    ],
    [
      ["snapshots", "fork", "-s", "w", "new", "--snapshot", "id"],
      ["snapshots fork", ["new"], { color: true, session: "w", snapshot: "id" }],
    ],
    [
      ["policy", "init", "-o", "p.yaml", "--force"],
      ["policy init", { color: true, output: "p.yaml", force: true }],
    ],
    [
      ["policy", "check", "a", "b", "--json"],
      ["policy check", ["a", "b"], { color: true, json: true }],
    ],
    [
      ["policy", "explain", "--policy", "p", "--tool", "t", "--path", "a", "--path", "b", "x.py"],
      ["policy explain", ["x.py"], { color: true, policy: "p", tool: "t", path: ["a", "b"] }],
    ],
    [
      ["risk", "assess", "--fail-on", "high", "x.py"],
      ["risk assess", ["x.py"], { color: true, failOn: "high" }],
    ],
    [
      ["audit", "tail", "-n", "0", "-f"],
      ["audit tail", { color: true, lines: 0, follow: true }],
    ],
    [
      ["audit", "query", "--session", "s", "--since", "2026-02-07T12:00:00Z", "--limit", "5"],
      ["audit query", { color: true, session: "s", since: new Date("2026-02-07T12:00:00Z"), limit: 5 }],
    ],
    [
      ["audit", "verify", "--expect", `7:${"a".repeat(64)}`],
      ["audit verify", { color: true, expect: { seq: 7, hash: "a".repeat(64) } }],
    ],
    [
      ["doctor", "--fix"],
      ["doctor", { color: true, fix: true }],
    ],
    [
      ["bench", "a", "--json"],
      ["bench", ["a"], { color: true, json: true }],
    ],
    [
      ["--config", "c", "--no-color", "sessions", "ls"],
      ["sessions ls", { color: false, config: "c" }],
    ],
    [
      ["doctor", "--config", "c"],
      ["doctor", { color: true, config: "c" }],
    ],
  ])("%j chooses its command", async (argv, expected) => {
    expect(await skerry(...argv)).toBe(0);
    expect(calls.list).toEqual([expected]);
    expect(printed).toEqual({ out: "", err: "" });
  });

  it("has its limits read and its lists collected", async () => {
    const words =
      "run a.py --timeout 5m --memory 1gb --cpus 2 --pids 9 -e A=1 --env B=2 --input x:y --output o --cwd d";
    await skerry(...words.split(" "), "--backend", "bubblewrap");
    expect(calls.list[0]![2] as ExecuteOptions).toEqual({
      color: true,
      audit: true,
      timeout: 300_000,
      memory: 1024,
      cpus: 2,
      pids: 9,
      env: { A: "1", B: "2" },
      input: [{ hostPath: "x", path: "y" }],
      output: [{ hostPath: "o", path: "o" }],
      cwd: "d",
      backend: "bubblewrap",
    });
  });

  it("has its guards read", async () => {
    const words =
      "exec --policy p --role r --security-mode strict --agent a --org o --confirm reject --no-audit ls";
    await skerry(...words.split(" "));
    await skerry("run", "--dangerously-approve-all", "a.py");
    expect(calls.list.map((call) => call[2])).toEqual([
      {
        color: true,
        policy: "p",
        role: "r",
        securityMode: "strict",
        agent: "a",
        org: "o",
        confirm: "reject",
        audit: false,
      },
      { color: true, audit: true, dangerouslyApproveAll: true },
    ]);
  });

  it("does not remember the one before", async () => {
    await skerry("run", "a.py", "-e", "A=1");
    await skerry("run", "a.py", "-e", "B=1");
    expect(calls.list.map((call) => (call[2] as ExecuteOptions).env)).toEqual([{ A: "1" }, { B: "1" }]);
  });

  it("ends with the command's status", async () => {
    calls.status = 124;
    expect(await skerry("run", "a.py")).toBe(124);
  });
});

describe("what goes wrong", () => {
  it("is said in two lines, with the code's status", async () => {
    calls.failure = new SandboxError("BACKEND_UNAVAILABLE", "no \x1b[2Jbwrap", { hint: "Install it." });
    expect(await skerry("run", "a.py")).toBe(69);
    expect(printed).toEqual({ out: "", err: "skerry: no \\x1b[2Jbwrap\nhint: Install it.\n" });
  });

  it("is one JSON object on standard output with --json", async () => {
    calls.failure = new SandboxError("BACKEND_UNAVAILABLE", "no bwrap", { hint: "Install it." });
    expect(await skerry("run", "a.py", "--json")).toBe(69);
    expect(printed.err).toBe("");
    expect(JSON.parse(printed.out)).toEqual({
      error: { code: "BACKEND_UNAVAILABLE", message: "no bwrap", hint: "Install it." },
    });
  });

  it("is not JSON because the command inside has a --json of its own", async () => {
    calls.failure = new SandboxError("COMMAND_NOT_FOUND", "no such command");
    expect(await skerry("exec", "tool", "--json")).toBe(127);
    expect(printed).toEqual({ out: "", err: "skerry: no such command\n" });
  });

  it("is a mistake of ours when it is anything else", async () => {
    calls.failure = new TypeError("x is not a function");
    expect(await skerry("run", "a.py")).toBe(70);
    expect(printed.err).toBe("skerry: x is not a function\n");
  });

  it.each<[string[], string]>([
    [["rnu"], "skerry: unknown command 'rnu'\nhint: Did you mean run?\n"],
    [["run", "--memmory", "1gb"], "skerry: unknown option '--memmory'\nhint: Did you mean --memory?\n"],
    [["exec"], "skerry: missing required argument 'command'\nhint: Run: skerry exec --help\n"],
    [
      ["files", "ls"],
      "skerry: required option '-s, --session <name>' not specified\nhint: Run: skerry files ls --help\n",
    ],
    [
      ["run", "a.py", "--timeout", "0"],
      'skerry: --timeout: "0" is not a duration: it must be longer than zero\n' +
        "hint: Write seconds as a number, or a number with a unit: 250ms, 30s, 5m, 2h, 1d.\n",
    ],
    [
      ["run", "a.py", "--security-mode", "paranoid"],
      'skerry: --security-mode: "paranoid" is none of permissive, strict\nhint: Write one of them.\n',
    ],
    // Saying yes to everything has one name, which says what it is.
    [
      ["run", "a.py", "--confirm", "approve"],
      'skerry: --confirm: "approve" is none of ask, reject\nhint: Write one of them.\n',
    ],
    [
      ["risk", "assess", "a.py", "--fail-on", "hihg"],
      'skerry: --fail-on: "hihg" is none of low, medium, high, critical\nhint: Did you mean high?\n',
    ],
    [
      ["image", "build", "--with", "data", "tols"],
      'skerry: --with: "tols" is none of data, tools\nhint: Did you mean tools?\n',
    ],
    [["audit", "tial"], "skerry: unknown command 'tial'\nhint: Did you mean tail?\n"],
    [["completion", "zhs"], 'skerry: shell: "zhs" is none of bash, zsh, fish\nhint: Did you mean zsh?\n'],
    // A group that lists by default is no reason to take a misspelt command for a name.
    [["sessions", "sl"], "skerry: unknown command 'sl'\nhint: Did you mean ls?\n"],
    [["sessions", "bogus"], "skerry: unknown command 'bogus'\nhint: Run: skerry sessions --help\n"],
    [["help", "rnu"], "skerry: unknown command 'rnu'\nhint: Did you mean run?\n"],
    [["help", "audit", "tial"], "skerry: unknown command 'tial'\nhint: Did you mean tail?\n"],
    ...["-it", "-i", "-t", "--interactive", "--tty"].map((option): [string[], string] => [
      ["exec", option, "bash"],
      `skerry: unknown option '${option}'\nhint: A terminal is opened by: skerry shell, or skerry shell -- COMMAND\n`,
    ]),
  ])("is a usage error for %j", async (argv, message) => {
    expect(await skerry(...argv)).toBe(64);
    expect(printed).toEqual({ out: "", err: message });
    expect(calls.list).toEqual([]);
  });

  it("is JSON too when the command line itself is wrong", async () => {
    expect(await skerry("run", "--json", "--bogus")).toBe(64);
    expect(JSON.parse(printed.out)).toEqual({
      error: {
        code: "INVALID_ARGUMENT",
        message: "unknown option '--bogus'",
        hint: "Run: skerry run --help",
      },
    });
  });
});

const ALL_WITH_HELP = [
  [],
  ...[
    "run",
    "exec",
    "shell",
    "test",
    "files",
    "sessions",
    "policy",
    "risk",
    "audit",
    "doctor",
    "bench",
    "version",
    "completion",
  ].map((name) => [name]),
  ["policy", "init"],
  ["policy", "check"],
  ["policy", "explain"],
  ["risk", "assess"],
  ["audit", "tail"],
  ["audit", "query"],
  ["audit", "verify"],
];

describe("help", () => {
  it.each(ALL_WITH_HELP)("has examples: %j --help", async (...words: string[]) => {
    expect(await skerry(...words, "--help")).toBe(0);
    expect(printed.out).toMatch(/\nExamples:\n {2}\S/);
    expect(printed.err).toBe("");
  });

  it.each([[[]], [["audit"]], [["policy"]]])("stands on standard error for %j alone", async (words) => {
    expect(await skerry(...words)).toBe(64);
    expect(printed.out).toBe("");
    expect(printed.err).toContain(`Usage: ${["skerry", ...words].join(" ")}`);
  });

  it("has the options of a command in groups, those of every command last", async () => {
    expect(await skerry("run", "--help")).toBe(0);
    expect(printed.out.match(/^[A-Z].*:$/gm)).toEqual([
      "Arguments:",
      "Options:",
      "Sandbox:",
      "Network:",
      "Policy and record:",
      "Options of every command:",
      "Examples:",
    ]);
    const everywhere = printed.out.slice(printed.out.indexOf("Options of every command:"));
    expect(everywhere.match(/^ {2}-\S+( --\S+)?/gm)).toEqual(["  --config", "  --no-color", "  -h, --help"]);
  });

  it("of a topic is that of the command", async () => {
    expect(await skerry("help", "audit", "tail")).toBe(0);
    expect(printed.out).toContain("Usage: skerry audit tail");
  });

  it("has the package's version", async () => {
    expect(await skerry("--version")).toBe(0);
    expect(printed.out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it("has what a report of a fault needs", async () => {
    expect(await skerry("version", "--json")).toBe(0);
    const told = JSON.parse(printed.out);
    expect(told).toEqual({
      skerry: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      node: process.versions.node,
      system: process.platform,
      architecture: process.arch,
    });
    printed.out = "";
    expect(await skerry("version")).toBe(0);
    expect(printed.out.split("\n")[0]).toBe(`skerry        ${told.skerry}`);
  });
});

import { execFile, spawn } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { beforeAll, expect } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { requires } from "../../../test/setup/requires.js";

const run = promisify(execFile);
const real = requires("linux", "python3");

/** Asks on a real terminal, prints the answer, and stays until a line is typed. */
const PROGRAM = `
  import { ConfirmationQueue } from "./queue.js";
  import { TerminalConfirmationService } from "./terminal.js";
  const request = JSON.parse(process.env.REQUEST);
  request.createdAt = new Date();
  request.expiresAt = new Date(Date.now() + 60_000);
  const controller = new AbortController();
  process.on("SIGUSR1", () => controller.abort(new Error("aborted")));
  const service = new TerminalConfirmationService();
  const timeoutMs = Number(process.env.QUEUE_TIMEOUT_MS);
  const answer = await (timeoutMs > 0
    ? new ConfirmationQueue({ service, timeoutMs }).request(request, { signal: controller.signal })
    : service.confirm(request, { signal: controller.signal })
  ).catch((error) => ({ failed: error.message, code: error.code }));
  process.stdout.write("RESULT " + JSON.stringify(answer) + "\\n");
  process.stdin.once("data", () => process.exit());
`;

/** A person at a pseudo-terminal: waits for words, then types. Prints all that was to be seen. */
const PERSON = `
import fcntl, json, os, pty, select, signal, struct, sys, termios, time
steps, columns, command = json.loads(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    os.execv(command[0], command)
seen, at, cooked, deadline = b"", 0, None, time.monotonic() + 25
def read():
    global seen
    if not select.select([fd], [], [], max(0, deadline - time.monotonic()))[0]:
        os.kill(pid, 9)
        sys.exit("timed out; seen: " + repr(seen[-2000:]))
    try: data = os.read(fd, 65536)
    except OSError: data = b""
    seen += data
    return data
for step in steps:
    wanted = step.get("expect", "").encode()
    while seen.find(wanted, at) < 0:
        if not read(): sys.exit("ended early; seen: " + repr(seen[-2000:]))
    at = seen.find(wanted, at) + len(wanted)
    if "signal" in step: os.kill(pid, getattr(signal, step["signal"]))
    if wanted == b"RESULT": cooked = bool(termios.tcgetattr(fd)[3] & termios.ICANON)
    if "send" in step: os.write(fd, step["send"].encode())
while read(): pass
os.waitpid(pid, 0)
print(json.dumps({"seen": seen.decode(), "cooked": cooked}))
`;

interface Step {
  readonly expect?: string;
  readonly send?: string;
  readonly signal?: string;
}

const REQUEST = {
  id: "1",
  sessionId: "session",
  agentId: "agent",
  orgId: "org",
  role: "code_assistant",
  tool: "run_code",
  language: "python",
  code: "import os\nos.remove('x')",
  riskLevel: "high",
  findings: [
    {
      rule: "python.remove",
      level: "high",
      line: 2,
      column: 1,
      excerpt: "os.remove('x')",
      why: "deletes files",
    },
  ],
  rule: { path: "tools.run_code", source: "policy.yaml", line: 7, why: "high risk needs a person" },
  limits: { memoryMb: 512, network: "none" },
  backend: "bubblewrap",
};

let directory: string;

beforeAll(async () => {
  directory = temporaryDirectory();
  await build({
    stdin: { contents: PROGRAM, resolveDir: fileURLToPath(new URL(".", import.meta.url)), loader: "ts" },
    bundle: true,
    platform: "node",
    format: "esm",
    outfile: join(directory, "program.mjs"),
    logLevel: "silent",
  });
});

async function converse(
  steps: readonly Step[],
  {
    request = {},
    env = {},
    columns = 100,
  }: { request?: object; env?: Record<string, string>; columns?: number } = {},
): Promise<{ seen: string; cooked: boolean; answer: unknown }> {
  const all = [...steps, { expect: "RESULT", send: "\n" }];
  const command = [process.execPath, join(directory, "program.mjs")];
  const { stdout } = await run(
    "/usr/bin/python3",
    ["-c", PERSON, JSON.stringify(all), String(columns), ...command],
    {
      env: {
        PATH: process.env.PATH,
        TERM: "xterm",
        TMPDIR: directory,
        ...env,
        REQUEST: JSON.stringify({ ...REQUEST, ...request }),
      },
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  const { seen, cooked } = JSON.parse(stdout) as { seen: string; cooked: boolean };
  const result = /RESULT (.*)\r\n/.exec(seen)?.[1] ?? "null";
  return { seen: seen.replaceAll("\r\n", "\n"), cooked, answer: JSON.parse(result) };
}

/** Without the colours and movements that are ours. */
function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replaceAll(/\x1b\[[\d;]*[A-Za-z]/g, "");
}

function writeEditor(script: string): string {
  const path = join(directory, "editor");
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

real.it("shows everything on a real terminal, and takes yes for once", async () => {
  const { seen, cooked, answer } = await converse([{ expect: "[n] no > ", send: "y\r" }]);
  expect(answer).toMatchObject({ decision: "approve", scope: "once", by: expect.any(String) });
  const shown = plain(seen).replace(/\d+ s to answer/, "60 s to answer");
  expect(shown.slice(0, shown.indexOf("Run it?"))).toBe(
    [
      "",
      "An agent wants to run this code:",
      "  1 │ import os",
      "! 2 │ os.remove('x')",
      "That was all of it.",
      "",
      "  HIGH      line 2:1, python.remove: deletes files",
      "            os.remove('x')",
      "  Rule      policy.yaml:7 tools.run_code: high risk needs a person",
      "  Limits    512 MiB of memory, network none",
      "  Runs in   bubblewrap",
      "  For       agent agent, role code_assistant, of org",
      "  Session   session",
      "",
      "  Risk      HIGH, 1 finding",
      "  Code      run_code, python, 2 lines, 24 characters",
      "  Time      60 s to answer, then it is rejected",
      "",
    ].join("\n"),
  );
  expect(seen).toContain("\x1b[31mHIGH, 1 finding");
  expect(cooked).toBe(true);
});

real.it.each([
  ["s for the session", "s\r", { decision: "approve", scope: "session" }],
  ["YES in any case", "YES\r", { decision: "approve", scope: "once" }],
  ["Ctrl-D for no", "\x04", { decision: "reject", reason: "The question was not answered" }],
])("takes %s", async (_, typed, expected) => {
  const { answer, cooked, seen } = await converse([{ expect: "[n] no > ", send: typed }]);
  expect(answer).toMatchObject(expected);
  expect(seen.includes("Rejected.")).toBe(expected.decision === "reject");
  expect(cooked).toBe(true);
});

real.it("takes Ctrl-C for a cancelled call, not for a rejection", async () => {
  const { answer, cooked, seen } = await converse([{ expect: "[n] no > ", send: "\x03" }]);
  expect(answer).toEqual({ failed: "Cancelled with Ctrl-C at the question", code: "CANCELLED" });
  expect(plain(seen)).toContain("\nCancelled.\n");
  expect(cooked).toBe(true);
  const env = { QUEUE_TIMEOUT_MS: "60000" };
  const queued = await converse([{ expect: "[n] no > ", send: "\x03" }], { env });
  expect(queued.answer).toEqual({
    approved: false,
    cause: "cancelled",
    reason: "Cancelled with Ctrl-C at the question",
  });
});

real.it("does not count the time in the editor, and gives as long as before afterwards", async () => {
  const env = { EDITOR: writeEditor("sleep 4"), QUEUE_TIMEOUT_MS: "3000" };
  const { answer, seen } = await converse(
    [
      { expect: "[n] no > ", send: "e\r" },
      { expect: "Nothing was changed." },
      { expect: "[n] no > ", send: "y\r" },
    ],
    { env },
  );
  expect(answer).toMatchObject({ approved: true, edited: false });
  expect(plain(seen).match(/\d s to answer/g)).toEqual(["3 s to answer", "3 s to answer"]);
});

real.it("asks why not, and takes the reason or none", async () => {
  const no = { expect: "[n] no > ", send: "n\r" };
  const answers = [];
  for (const typed of ["not on a Friday\r", "\r", "\x03"]) {
    answers.push((await converse([no, { expect: "Why not?", send: typed }])).answer);
  }
  expect(answers).toEqual([
    { decision: "reject", reason: "not on a Friday", by: expect.any(String) },
    { decision: "reject", by: expect.any(String) },
    { decision: "reject", by: expect.any(String) },
  ]);
});

real.it("asks again after anything else", async () => {
  const { answer } = await converse([
    { expect: "[n] no > ", send: "\r" },
    { expect: "Please type", send: "yep\r" },
    { expect: "Please type", send: "s\r" },
  ]);
  expect(answer).toMatchObject({ decision: "approve", scope: "session" });
});

real.it.each([
  ["a line", "y\r"],
  ["half a line", "y"],
])("takes %s that was typed before the question for no answer", async (_, early) => {
  const { answer } = await converse([
    { send: early },
    { expect: "[n] no > ", send: "\r" },
    { expect: "Please type", send: "n\r" },
    { expect: "Why not?", send: "\r" },
  ]);
  expect(answer).toMatchObject({ decision: "reject" });
});

real.it("opens the editor on a private file, hands back what was written, and removes it", async () => {
  const note = join(directory, "note");
  const editor = writeEditor(
    `{ printf '%s ' "$1"; stat -c %a "$2" "$(dirname "$2")"; basename "$2"; cat "$2"; } > ${note}; printf 'print(1)\\n' > "$2"`,
  );
  const { answer, cooked } = await converse([{ expect: "[n] no > ", send: "e\r" }], {
    env: { VISUAL: `${editor} --wait`, EDITOR: "/bin/false" },
  });
  expect(answer).toEqual({ decision: "edit", code: "print(1)\n", by: expect.any(String) });
  expect(readFileSync(note, "utf8")).toBe("--wait 600\n700\ncode.py\nimport os\nos.remove('x')");
  expect(editedFiles()).toEqual([]);
  expect(cooked).toBe(true);
});

real.it("lets the editor have the terminal to itself", async () => {
  const editor = writeEditor(
    'echo EDITING; read -r line; read -r more; printf "%s\\n%s\\n" "$line" "$more" > "$1"',
  );
  const { answer } = await converse(
    [
      { expect: "[n] no > ", send: "e\r" },
      { expect: "EDITING", send: "print('typed')\rprint('into it')\r" },
    ],
    { env: { EDITOR: editor } },
  );
  expect(answer).toMatchObject({ decision: "edit", code: "print('typed')\nprint('into it')\n" });
});

real.it.each([
  ["that fails", "exit 3", "The editor ended with status 3."],
  ["that changes nothing", "true", "Nothing was changed."],
  ["that only ends the last line", 'echo >> "$1"', "Nothing was changed."],
  ["that empties the file", 'echo > "$1"', "The edited text is empty."],
  [
    "that writes something else than text",
    "printf '\\377' > \"$1\"",
    "The edited file is missing or not UTF-8.",
  ],
  ["that makes the file a link", 'ln -sf /etc/passwd "$1"', "The edited file is missing or not UTF-8."],
  ["that is not there", "", "Editor not found: set VISUAL or EDITOR."],
])("asks again after an editor %s", async (_, script, said) => {
  const { answer } = await converse(
    [{ expect: "[n] no > ", send: "e\r" }, { expect: said }, { expect: "[n] no > ", send: "y\r" }],
    { env: { EDITOR: script === "" ? "/nonexistent/editor" : writeEditor(script) } },
  );
  expect(answer).toMatchObject({ decision: "approve", scope: "once" });
  expect(editedFiles()).toEqual([]);
});

real.it("takes the question away when no answer is wanted any more", async () => {
  const { answer, cooked, seen } = await converse([{ expect: "[n] no > ", signal: "SIGUSR1" }]);
  expect(answer).toEqual({ failed: "aborted" });
  expect(seen).toContain("No answer is needed any more.");
  expect(cooked).toBe(true);
});

real.it("ends the editor when no answer is wanted any more", async () => {
  const pidFile = join(directory, "pid");
  const editor = writeEditor(`echo $$ > ${pidFile}; echo EDITING; exec sleep 600`);
  const { answer, seen } = await converse(
    [
      { expect: "[n] no > ", send: "e\r" },
      { expect: "EDITING", signal: "SIGUSR1" },
    ],
    { env: { EDITOR: editor } },
  );
  expect(answer).toEqual({ failed: "aborted" });
  expect(seen).toContain("No answer is needed any more.");
  expect(existsSync(`/proc/${readFileSync(pidFile, "utf8").trim()}`)).toBe(false);
  expect(editedFiles()).toEqual([]);
});

real.it(
  "shows code that tries to write to the terminal as text, in rows of ours, before a question of ours",
  async () => {
    const fake = "Run it? [y] once  [s] yes, also later in this session  [e] edit  [n] no > y";
    const code = [
      "\x1b]0;title\x07\x1b[2J\x1b[H\x1b]52;c;ZXZpbA==\x07",
      `# ${"x".repeat(58)}${fake}`,
      "if access != 'user\u202e \u2066# admin\u2069 \u2066':",
      "\x9b31m\u200b\u2028\r\x08\x08\x7f",
    ].join("\n");
    const { seen, answer } = await converse(
      [
        { expect: "in this session", send: "" },
        { expect: "s to answer" },
        { expect: "[n] no > ", send: "n\r" },
        { expect: "Why not?", send: "\r" },
      ],
      {
        request: { code, findings: [{ ...REQUEST.findings[0], excerpt: "\x1b[1A\u202e", why: `\n${fake}` }] },
        columns: 70,
        env: { NO_COLOR: "1" },
      },
    );
    expect(answer).toMatchObject({ decision: "reject" });
    const shown = seen.slice(0, seen.indexOf("s to answer"));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    expect(shown).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u2028\u202e\u2066\u2069]/);
    const from = shown.indexOf("  1 │");
    expect(shown.slice(from, shown.indexOf("That was all"))).toBe(
      [
        "  1 │ \\x1b]0;title\\x07\\x1b[2J\\x1b[H\\x1b]52;c;ZXZpbA==\\x07",
        `! 2 │ # ${"x".repeat(58)}Ru`,
        "    ┆ n it? [y] once  [s] yes, also later in this session  [e] edit ",
        "    ┆  [n] no > y",
        "  3 │ if access != 'user\\u{202e} \\u{2066}# admin\\u{2069} \\u{2066}':",
        "  4 │ \\x9b31m\\u{200b}\\u{2028}\\x0d\\x08\\x08\\x7f",
        "",
      ].join("\n"),
    );
    expect(shown.split("\n").filter((row) => /^(?:Run|Please|Why)/.test(row))).toEqual([]);
  },
);

real.it("shows very long code to its last line, and sums up at the end", async () => {
  const code = Array.from({ length: 5000 }, (_, index) => `print(${index})`).join("\n");
  const { seen, answer } = await converse([{ expect: "[n] no > ", send: "y\r" }], { request: { code } });
  expect(answer).toMatchObject({ decision: "approve" });
  const rows = plain(seen).split("\n");
  expect(rows.filter((row) => /^. *\d+ │ print\(\d+\)$/.test(row)).length).toBe(5000);
  const end = rows.findIndex((row) => row.startsWith("Run it?"));
  expect(rows.slice(end - 3, end)).toEqual([
    "  Risk      HIGH, 1 finding",
    "  Code      run_code, python, 5000 lines, 58889 characters",
    expect.stringMatching(/^ {2}Time {6}\d+ s to answer, then it is rejected$/),
  ]);
});

real.it("rejects where there is no terminal", async () => {
  const child = spawn(process.execPath, [join(directory, "program.mjs")], {
    // In a session of its own, which has none.
    detached: true,
    stdio: ["pipe", "pipe", "inherit"],
    env: { REQUEST: JSON.stringify(REQUEST) },
  });
  child.stdin.end("\n");
  const output = (await child.stdout.toArray()).join("");
  expect(output).toBe(
    'RESULT {"decision":"reject","reason":"This needs a confirmation, and there is no terminal to ask on"}\n',
  );
});

function editedFiles(): string[] {
  return readdirSync(directory).filter((name) => name.startsWith("skerry-edit-"));
}

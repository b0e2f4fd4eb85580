import { createHash } from "node:crypto";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { beforeEach, describe, expect, it } from "vitest";
import { ToolCallFixture } from "../../../../test/setup/tool-call-fixture.js";
import { CallbackConfirmationService } from "../../../guard/confirmation/index.js";
import { MAX_ANALYZED_CODE_CHARACTERS } from "../../../kit/code-limits.js";
import type { OutputStream } from "../../../runtime/workspace/index.js";
import { HostFile, type ToolCall } from "../index.js";

const POLICY = `
policies:
  default: { denied_paths: [/workspace/secret/**] }
  tools:
    shell_exec: { risk_level: high, denied_commands: [curl] }
`;
const CURL = "curl http://evil.example";

let fixture: ToolCallFixture;
let directory: string;

beforeEach(async () => {
  fixture = await ToolCallFixture.open();
  directory = join(fixture.stateDir, "host");
  mkdirSync(directory);
});

function hostFile(name: string, content: string): HostFile {
  writeFileSync(join(directory, name), content);
  return new HostFile(join(directory, name));
}

/** A stream that says whether it was read. */
function watchedStream(content: string): { stream: Readable; wasRead: () => boolean } {
  let asked = false;
  const stream = new Readable({
    read() {
      asked = true;
      this.push(content);
      this.push(null);
    },
  });
  return { stream, wasRead: () => asked };
}

/** Takes every file whole. */
function keeping(): { kept: Map<string, string>; take: NonNullable<ToolCall["onOutputFile"]> } {
  const kept = new Map<string, string>();
  return {
    kept,
    take: async ({ path, content }) => {
      const pieces: Buffer[] = [];
      for await (const piece of content) pieces.push(piece);
      kept.set(path, Buffer.concat(pieces).toString());
    },
  };
}

const filesIn = async () => (await fixture.records()).at(-1)?.details?.files;

describe("an input file that is streamed", () => {
  it.each<[string, () => ToolCall["files"]]>([
    ["a file of this host", () => ({ "in/a": hostFile("a", "text") })],
    ["a stream", () => ({ "in/a": Readable.from(["te", Buffer.from("xt")]) })],
    ["an empty file", () => ({ "in/a": hostFile("a", ""), b: hostFile("b", "text") })],
  ])("is in place as %s, and in the record as its bytes would be", async (_, files) => {
    const manager = fixture.manager({ policy: POLICY });
    const command = "cat in/a; cat b 2>/dev/null || true";
    const result = await manager.execute({ command, files: files() });
    expect(result).toMatchObject({ success: true, stdout: "text" });
    const streamed = await filesIn();
    const content = Object.keys(files()!).length === 2 ? { "in/a": "", b: "text" } : { "in/a": "text" };
    await manager.execute({ command, files: content });
    expect(streamed).toBe(await filesIn());
    expect(streamed).toMatch(/^\d files, sha256:[0-9a-f]{64}$/);
  });

  it("is not read when its path is denied, and the record says so", async () => {
    const { stream, wasRead } = watchedStream("text");
    const missing = new HostFile(join(directory, "does-not-exist"));
    const files = { "secret/a": stream, "secret/b": missing };
    expect(await fixture.manager({ policy: POLICY }).execute({ command: "true", files })).toMatchObject({
      reason: "denied",
      error: expect.stringContaining("secret/a is denied"),
    });
    expect(wasRead()).toBe(false);
    expect(stream.destroyed).toBe(true);
    expect(await filesIn()).toBe("2 files, not read to the end: secret/a, secret/b");
  });

  it("is decided about with what is in it", async () => {
    const manager = fixture.manager({ policy: POLICY });
    for (const script of [hostFile("job", CURL), Readable.from([CURL])]) {
      expect(await manager.execute({ command: "bash job", files: { job: script } })).toMatchObject({
        reason: "denied",
        error: expect.stringContaining("curl is not allowed"),
      });
    }
  });

  it.each([
    ["letters of one byte", "a"],
    ["letters of three bytes", "\u4e00"],
  ])("is looked into to its end, or known to be too long, in %s", async (_, letter) => {
    const manager = fixture.manager({ securityMode: "strict" });
    const textOf = (length: number) => `# ${letter.repeat(length)}\nimport shutil\nshutil.rmtree("/")\n`;
    for (const [length, parsed] of [
      [Math.floor(MAX_ANALYZED_CODE_CHARACTERS * 0.75), true],
      [MAX_ANALYZED_CODE_CHARACTERS + 1, false],
    ] as const) {
      const text = textOf(length);
      for (const script of [text, Buffer.from(text), hostFile("job.py", text), Readable.from([text])]) {
        const { reason, risk } = await manager.execute({ command: "true", files: { "job.py": script } });
        expect({ reason, parsed: risk?.parsed }).toEqual({
          reason: parsed ? "rejected" : expect.any(String),
          parsed,
        });
      }
    }
  });

  it("is what was decided about, whatever stands at its path when a person agrees", async () => {
    const path = join(directory, "job.sh");
    const file = hostFile("job.sh", "echo shown");
    const seen: string[] = [];
    const confirmation = new CallbackConfirmationService(async ({ surroundings }) => {
      seen.push(surroundings?.["file job.sh"] ?? "");
      writeFileSync(join(directory, "other"), "echo other");
      // In place, and by another file of that name.
      writeFileSync(path, "echo changed");
      renameSync(join(directory, "other"), path);
      return { decision: "approve", scope: "once" };
    });
    const manager = fixture.manager({
      policy: POLICY.replace("denied_commands: [curl]", "requires_confirmation: true"),
      confirmation,
    });
    const result = await manager.execute({ command: "cat job.sh", files: { "job.sh": file } });
    expect(seen).toEqual(["echo shown"]);
    expect(result).toMatchObject({ success: true, stdout: "echo shown" });
  });

  it.each<[string, () => ToolCall["files"], string]>([
    ["is missing", () => ({ a: new HostFile(join(directory, "none")) }), "FILE_NOT_FOUND"],
    ["is a directory", () => ({ a: new HostFile(directory) }), "FILE_TYPE"],
    ["is a device", () => ({ a: new HostFile("/dev/zero") }), "FILE_TYPE"],
    ["fails", () => ({ a: failingStream("x") }), "FILE_FAILED"],
    ["fails after its head", () => ({ a: failingStream("x".repeat(2_000_000)) }), "FILE_FAILED"],
    ["has objects", () => ({ a: Readable.from([{ no: "bytes" }]) }), "INVALID_ARGUMENT"],
  ])("that %s is an error with one record, and leaves nothing in the session", async (_, files, code) => {
    const manager = fixture.manager();
    const call = { sessionId: "s", command: "true", files: files() };
    await expect(manager.execute(call)).rejects.toMatchObject({ code });
    expect(await fixture.records()).toMatchObject([
      { result: "error", error: expect.stringContaining(code) },
    ]);
    expect(await (await manager.startSandbox("s")).files.list()).toEqual([]);
  });

  it("that never comes ends with the caller's patience", async () => {
    const stream = new Readable({ read() {} });
    const signal = AbortSignal.timeout(300);
    const call = fixture
      .manager({ policy: POLICY })
      .execute({ command: "true", files: { a: stream }, signal });
    await expect(call).rejects.toMatchObject({ code: "CANCELLED" });
    expect(stream.destroyed).toBe(true);
    expect(await fixture.records()).toMatchObject([{ result: "cancelled" }]);
  });

  it("that stops half-way ends with the caller's patience, and leaves nothing in the session", async () => {
    const manager = fixture.manager();
    let pieces = 0;
    const stream = new Readable({
      read() {
        if (pieces++ < 30) this.push(Buffer.alloc(64 * 1024));
      },
    });
    await manager.startSandbox("s");
    const call = { sessionId: "s", command: "true", files: { a: stream }, signal: AbortSignal.timeout(1000) };
    await expect(manager.execute(call)).rejects.toMatchObject({ code: "CANCELLED" });
    expect(await (await manager.startSandbox("s")).files.list()).toEqual([]);
  });

  it("cannot be named by what came as JSON", async () => {
    const files = JSON.parse(`{ "a": { "path": "/etc/passwd" } }`);
    await expect(fixture.manager().execute({ command: "cat a", files })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  });
});

function failingStream(start: string): Readable {
  return Readable.from(
    (async function* () {
      yield start;
      throw new Error("the cable was pulled");
    })(),
  );
}

describe("output files that are streamed", () => {
  it("go to the receiver, one after the other, and the result says how much", async () => {
    const { kept, take } = keeping();
    const { outputFiles } = await fixture.manager().execute({
      command: "printf one > a; mkdir d; printf three > d/b; : > empty",
      outputFiles: ["**", "none"],
      onOutputFile: take,
    });
    expect([...kept]).toEqual([
      ["a", "one"],
      ["d/b", "three"],
      ["empty", ""],
    ]);
    expect(outputFiles).toEqual({
      files: [],
      taken: [
        { path: "a", bytes: 3 },
        { path: "d/b", bytes: 5 },
        { path: "empty", bytes: 0 },
      ],
      skipped: [{ path: "none", code: "FILE_NOT_FOUND", message: expect.any(String) }],
      truncated: false,
    });
  });

  it("may have more than fits into memory's 64 MiB", async () => {
    const hash = createHash("sha256");
    const { outputFiles } = await fixture.manager().execute({
      command: "truncate -s 100M big && printf end >> big",
      outputFiles: ["big"],
      onOutputFile: async ({ content }) => {
        for await (const piece of content) hash.update(piece);
      },
    });
    expect(outputFiles?.taken).toEqual([{ path: "big", bytes: 100 * 1024 * 1024 + 3 }]);
    const expected = createHash("sha256")
      .update(Buffer.alloc(100 * 1024 * 1024))
      .update("end");
    expect(hash.digest("hex")).toBe(expected.digest("hex"));
  });

  it("have no more bytes together than the workspace may", async () => {
    const { kept, take } = keeping();
    const { outputFiles } = await fixture.manager({ limits: { workspaceMb: 8 } }).execute({
      command: "truncate -s 1T sparse; truncate -s 5M a; ln a b; printf x > c",
      outputFiles: ["*"],
      onOutputFile: take,
    });
    expect([...kept.keys()]).toEqual(["a", "c"]);
    expect(outputFiles?.skipped.map(({ path, code }) => [path, code])).toEqual([
      ["b", "FILE_TOO_LARGE"],
      ["sparse", "FILE_TOO_LARGE"],
    ]);
  });

  it("are never what a link of the guest points to, nor what is denied", async () => {
    const { kept, take } = keeping();
    const manager = fixture.manager({ policy: POLICY });
    await (await manager.startSandbox("s")).files.write("secret/key", "key");
    writeFileSync(join(directory, "outside"), "outside");
    const { outputFiles } = await manager.execute({
      sessionId: "s",
      command: `ln -s ${join(directory, "outside")} file; ln -s /etc directory; mkfifo pipe; printf x > fine`,
      outputFiles: ["file", "directory/passwd", "pipe", "fine", "**/key"],
      onOutputFile: take,
    });
    expect([...kept]).toEqual([["fine", "x"]]);
    expect(outputFiles?.skipped.map(({ path, code }) => [path, code])).toEqual([
      ["directory/passwd", "PATH_TRAVERSAL"],
      ["file", "PATH_TRAVERSAL"],
      ["pipe", "FILE_TYPE"],
      ["secret/key", "FILE_DENIED"],
    ]);
  });

  it("that cannot be read are skipped with the reason, and the others come", async () => {
    const { kept, take } = keeping();
    const { success, outputFiles } = await fixture.manager().execute({
      command: "printf 1 > a; printf 2 > b",
      outputFiles: ["a", "b"],
      onOutputFile: async (file: OutputStream) => {
        if (file.path === "a") throw new Error("the shelf is full");
        await take(file);
      },
    });
    expect(success).toBe(true);
    expect([...kept]).toEqual([["b", "2"]]);
    expect(outputFiles?.skipped).toEqual([{ path: "a", code: "FILE_FAILED", message: "the shelf is full" }]);
  });

  it("end with the caller's patience: the one under way fails where it is read", async () => {
    const controller = new AbortController();
    let failure: unknown;
    const { reason, outputFiles } = await fixture.manager().execute({
      command: "truncate -s 50M a; printf 2 > b",
      outputFiles: ["a", "b"],
      signal: controller.signal,
      onOutputFile: async ({ content }) => {
        try {
          for await (const _ of content) controller.abort();
        } catch (error) {
          failure = error;
          throw error;
        }
      },
    });
    expect(reason).toBe("exited");
    expect(failure).toMatchObject({ code: "CANCELLED" });
    expect(outputFiles?.skipped.map(({ path, code }) => [path, code])).toEqual([
      ["a", "CANCELLED"],
      ["b", "CANCELLED"],
    ]);
  });
});

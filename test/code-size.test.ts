import { beforeAll, expect } from "vitest";
import { parseAnswer } from "../src/guard/confirmation/answer.js";
import { Sandbox } from "../src/index.js";
import { MAX_CODE_BYTES, MAX_COMMAND_ARGUMENT_BYTES } from "../src/kit/code-limits.js";
import { temporaryDirectory } from "./setup/clean-up.js";
import { requires } from "./setup/requires.js";
import { readSources } from "./setup/source-files.js";
import { TestServer } from "./setup/test-server.js";

/** Half of the limit in characters, and more than the limit in bytes. */
const CODE = `#${"é".repeat(MAX_CODE_BYTES / 2)}\n`;
const ERROR = {
  code: "FILE_TOO_LARGE",
  message: "The code has more than 16 MiB",
  hint: "Put its data into files.",
};

const { describe, it } = requires("bubblewrap");

it("has its limits in one table", () => {
  const elsewhere = [...readSources()]
    .filter(([file]) => file !== "kit/code-limits.ts")
    .flatMap(([file, { text }]) =>
      [...text.matchAll(/\bconst (MAX_\w*(?:CODE|COMMAND)_(?:BYTES|CHARACTERS))/g)].map(
        ([, name]) => `${file}: ${name}`,
      ),
    );
  expect(elsewhere).toEqual([]);
});

describe("code that is too long in bytes, and not in characters", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.open({ server: { limits: { body: "64MiB" } } });
  });

  it.each([
    ["code", "sessions/s/execute", { language: "python", code: CODE }],
    ["a command", "sessions/s/execute", { command: CODE }],
    ["an edit by a person", "approvals/a/decide", { decision: "edit", code: CODE }],
  ])("is refused over HTTP: %s", async (_, path, body) => {
    const reply = await server.call(server.admin, "POST", `/v1/${path}`, body);
    expect(reply).toMatchObject({ status: 413, body: ERROR });
  });

  it("is refused in the library, in a context too", async () => {
    await using sandbox = await Sandbox.create({ stateDir: temporaryDirectory() });
    await expect(sandbox.runCode(CODE, { language: "python" })).rejects.toMatchObject(ERROR);
    await expect(sandbox.exec(CODE)).rejects.toMatchObject(ERROR);
    const context = await sandbox.contexts.create();
    await expect(context.run(CODE)).rejects.toMatchObject(ERROR);
    await sandbox.delete();
  });

  it("is no answer of a person", () => {
    expect(parseAnswer({ decision: "edit", code: CODE })).toBeUndefined();
  });
});

describe("code as long as may be", () => {
  /** Of that many bytes; every other one takes an escape in JSON. */
  const line = (bytes: number) => `echo "ok $0" #`.padEnd(bytes - 1, '"#').concat("\n");

  it("runs as a command line of any length", async () => {
    await using sandbox = await Sandbox.create({ stateDir: temporaryDirectory() });
    for (const bytes of [
      MAX_COMMAND_ARGUMENT_BYTES,
      MAX_COMMAND_ARGUMENT_BYTES + 1,
      3_000_000,
      MAX_CODE_BYTES,
    ])
      expect(await sandbox.exec(line(bytes)), String(bytes)).toMatchObject({
        stdout: expect.stringMatching(/^ok /),
        fileChanges: [],
      });
    const long = await sandbox.processes.exec(line(200_000));
    expect(await long.wait()).toMatchObject({ reason: "exited", exitCode: 0 });
    await sandbox.delete();
  });

  it("is refused as an argument of a list, with what to do", async () => {
    await using sandbox = await Sandbox.create({ stateDir: temporaryDirectory() });
    for (const length of [200_000, 3_000_000])
      await expect(sandbox.exec(["echo", "x".repeat(length)])).rejects.toMatchObject({
        code: "INVALID_ARGUMENT",
        message: 'The arguments of "echo" are too long',
        hint: expect.stringContaining("Put long text into a file or into standard input."),
      });
    await sandbox.delete();
  });

  it("fits into a request, by default", async () => {
    const server = await TestServer.open();
    const command = line(MAX_CODE_BYTES);
    const reply = await server.call(server.admin, "POST", "/v1/sessions/s/execute", { command });
    expect(reply).toMatchObject({ status: 200, body: { stdout: expect.stringMatching(/^ok /) } });
  });
});
